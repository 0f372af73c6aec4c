from headcount import Command, TaskDef, define_task, p

research = define_task("Research options", "research")
plan = define_task("Create plan", "plan")

doc = Command(name="taskdef-standalone", description="TaskDef outside a pipeline")[
    TaskDef(
        task=research,
        prompt="Research OAuth2 providers and compare options",
        active_form="Researching...",
    ),
    p["Then:"],
    TaskDef(task=plan, prompt="Create implementation plan", blocked_by=[research]),
]
