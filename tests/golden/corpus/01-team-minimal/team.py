from headcount import AgentType, Command, Team, Teammate, define_team, define_worker

explorer = define_worker("explorer", AgentType.Explore)
crew = define_team("crew")

doc = Command(name="team-minimal", description="Smallest possible team")[
    Team(team=crew)[Teammate(worker=explorer, description="Look around", prompt="Find the entry points.")],
]
