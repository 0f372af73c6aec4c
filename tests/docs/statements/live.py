from headcount import Command, Team, Teammate, define_team, define_worker

ada = define_worker("ada", command=["sleep", "1000"])
crew = define_team("crew", [ada])
doc = Command(name="crew", description="One member, which never answers")[
    Team(team=crew)[Teammate(worker=ada, description="Sleeps", prompt="Sleep.")],
]
