"""Two reviewers look at a pull request at once. Build it: headcount build examples/python/review_pr.py"""

from headcount import (
    Command,
    Model,
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

security = define_worker("security", PluginAgentType.SecuritySentinel, Model.Haiku)
perf = define_worker("perf", PluginAgentType.PerformanceOracle)
review = define_team("pr-review", [security, perf])

audit = define_task("Audit the change", "audit")
report = define_task("Write the report", "report")

doc = Command(name="review-pr", description="Review a pull request")[
    Workflow(name="Review", team=review)[
        Team(team=review, description="Code review specialists")[
            Teammate(worker=security, description="Security audit", prompt="Review for vulnerabilities."),
            Teammate(worker=perf, description="Performance audit", prompt="Review for slow paths."),
        ],
        TaskPipeline(title="Steps", auto_chain=True)[
            TaskDef(task=audit, prompt="Audit every changed file."),
            TaskDef(task=report, prompt="Merge the findings into one report."),
        ],
        ShutdownSequence(workers=[security, perf], reason="All reviews complete"),
    ],
]
