from headcount import (
    Command,
    ExecutionContext,
    List,
    PluginAgentType,
    Prompt,
    Table,
    Team,
    Teammate,
    define_team,
    define_worker,
    h2,
)

security = define_worker("security", PluginAgentType.SecuritySentinel)
review = define_team("pr-review")

doc = Command(name="prompt-child-components", description="Table, List and ExecutionContext inside Prompt")[
    Team(team=review)[
        Teammate(worker=security, description="Security audit")[
            Prompt[
                h2["Severity"],
                Table(
                    headers=["Severity", "Action"],
                    rows=[["Critical", "Block PR"], ["High | very", "Request fix"], ["Low", ""]],
                    align=["left", "center"],
                    empty_cell="-",
                ),
                List(items=["first", "second"]),
                List(items=["third", "fourth"], ordered=True, start=3),
                ExecutionContext(paths=["SECURITY_RULES.md", "@docs/threats.md"]),
            ],
        ],
    ],
]
