from headcount import AgentType, ShutdownSequence, Skill, define_team, define_worker, h1, p

worker = define_worker("worker", AgentType.Bash)
crew = define_team("crew", [worker])

doc = Skill(name="end-crew", description="End the crew: ask, wait, clean up")[
    h1["End the crew"],
    p["Use this when the work is done."],
    ShutdownSequence(workers=[worker], team=crew, cleanup=False),
]
