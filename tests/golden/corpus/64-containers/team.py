from headcount import (
    AgentType,
    Command,
    ExecutionContext,
    Prompt,
    Team,
    Teammate,
    XmlBlock,
    define_team,
    define_worker,
    div,
    li,
    p,
    ul,
)

scout = define_worker("scout", AgentType.Explore)
crew = define_team("crew", [scout])

doc = Command(name="containers", description="Containers and attributes")[
    div[
        p["In a div"],
        Team(team=crew)[
            Teammate(worker=scout, description="Look")[
                Prompt[
                    "On the tag's own line",
                    div[p["Inside"], ul[li["one"]]],
                    ExecutionContext(paths=["a.md", "$b.md"], prefix="$")[p["And this"]],
                ],
            ],
        ],
    ],
    XmlBlock(name="rules", priority="high", note='say "no"')[p["Be kind"]],
    div(name="section", id="intro")[p["Named"]],
]
