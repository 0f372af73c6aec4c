from headcount import AgentType, Command, Team, Teammate, define_team, define_worker, p

scout = define_worker("scout", AgentType.Explore)
crew = define_team("crew", [scout])

doc = Command(name="look", description="Look at auth and billing")[
    Team(team=crew)[
        Teammate(
            worker=scout,
            description="Strict",
            prompt="Read ${dir.path}, ${files[0]} and ${process.env.HOME}; mode plain.",
        ),
    ],
    p["first"],
    p["SECOND"],
    p["object", " of ", "2"],
    p["ab!"],
]
