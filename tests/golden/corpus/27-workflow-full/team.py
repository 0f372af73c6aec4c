from headcount import (
    Command,
    PluginAgentType,
    ShutdownSequence,
    TaskDef,
    TaskPipeline,
    Team,
    Teammate,
    Workflow,
    define_task,
    define_team,
    define_worker,
)

research = define_task("Research", "research")
plan = define_task("Plan", "plan")
implement = define_task("Implement", "implement")

security = define_worker("security", PluginAgentType.SecuritySentinel)
perf = define_worker("perf", PluginAgentType.PerformanceOracle)
feature = define_team("feature-x", [security, perf])

doc = Command(name="workflow-full", description="Team, pipeline and shutdown in one workflow")[
    Workflow(name="Feature X", team=feature, description="Build feature with review")[
        Team(team=feature, description="Feature X team")[
            Teammate(
                worker=security,
                description="Security review",
                prompt="Review implementation for security vulnerabilities.",
            ),
            Teammate(
                worker=perf,
                description="Performance review",
                prompt="Review implementation for performance issues.",
            ),
        ],
        TaskPipeline(title="Implementation", auto_chain=True)[
            TaskDef(task=research, prompt="Research approach", active_form="Researching..."),
            TaskDef(task=plan, prompt="Create plan", active_form="Planning..."),
            TaskDef(task=implement, prompt="Build feature", active_form="Building..."),
        ],
        ShutdownSequence(workers=[security, perf], reason="Feature complete"),
    ],
]
