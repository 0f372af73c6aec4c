from headcount import AgentType, Command, Team, Teammate, define_team, define_worker, h2

scout = define_worker("scout", AgentType.Explore)
crew = define_team("crew", [scout])

doc = Command(name="names", description="Names in any script")[
    h2["Заголовок"],
    Team(team=crew)[Teammate(worker=scout, description="groß", prompt="なまえ escaped ä")],
]
