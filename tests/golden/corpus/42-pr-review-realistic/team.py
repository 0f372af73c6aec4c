from headcount import (
    AgentType,
    Command,
    ExecutionContext,
    Model,
    PluginAgentType,
    Prompt,
    ShutdownSequence,
    Table,
    TaskDef,
    TaskMode,
    TaskPipeline,
    Team,
    Teammate,
    Workflow,
    XmlBlock,
    code,
    define_task,
    define_team,
    define_worker,
    h1,
    li,
    p,
    ul,
)

fetch = define_task("Fetch PR details", "fetch")
sec = define_task("Security review", "sec")
slow = define_task("Performance review", "perf")
synth = define_task("Synthesize findings", "synth")

security = define_worker("security", PluginAgentType.SecuritySentinel, Model.Sonnet)
perf = define_worker("perf", PluginAgentType.PerformanceOracle, Model.Sonnet)
architect = define_worker("architect", AgentType.Plan, Model.Opus)
scout = define_worker("scout", AgentType.Explore, Model.Haiku)
review = define_team("pr-review", [security, perf, architect, scout])

doc = Command(
    name="review:pr",
    description="Review a pull request with a team",
    argument_hint="<pr-number>",
    allowed_tools=["Task", "Read", "Bash(gh:*)"],
)[
    h1["PR review"],
    ExecutionContext(paths=["CONTRIBUTING.md", "docs/SECURITY.md"]),
    Workflow(name="PR review", team=review, description="Four specialists, one report")[
        Team(team=review, description="Specialists reviewing one PR")[
            Teammate(
                worker=scout,
                description="Collect context",
                prompt="List every changed file and its owner.",
                background=False,
            ),
            Teammate(worker=security, description="Security audit")[
                Prompt[
                    p["Review the diff for vulnerabilities."],
                    XmlBlock(name="focus")[
                        ul[[li[risk] for risk in ("SQL injection", "XSS", "Auth bypass")]]
                    ],
                    p["Send findings to ", code["team-lead"], "."],
                ],
            ],
            Teammate(worker=perf, description="Performance audit", model=Model.Haiku)[
                Prompt[
                    p["Look for N+1 queries."],
                    Table(headers=["Severity", "Action"], rows=[["High", "Block"], ["Low", "Note"]]),
                ],
            ],
            Teammate(
                worker=architect,
                description="Architecture review",
                mode=TaskMode.Plan,
                prompt="Propose a plan before touching anything.",
            ),
        ],
        TaskPipeline(title="Review tasks")[
            TaskDef(task=fetch, prompt="Fetch PR metadata and the diff.", active_form="Fetching..."),
            TaskDef(
                task=sec, prompt="Security review", active_form="Reviewing security...", blocked_by=[fetch]
            ),
            TaskDef(
                task=slow,
                prompt="Performance review",
                active_form="Reviewing performance...",
                blocked_by=[fetch],
            ),
            TaskDef(
                task=synth,
                prompt="Merge all findings into one report.",
                active_form="Synthesizing...",
                blocked_by=[sec, slow],
            ),
        ],
        ShutdownSequence(workers=[scout, security, perf, architect], reason="Review complete"),
    ],
]
