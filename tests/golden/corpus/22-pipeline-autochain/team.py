from headcount import Command, TaskDef, TaskPipeline, define_task

research = define_task("Research best practices", "research")
plan = define_task("Create implementation plan", "plan")
implement = define_task("Build the feature", "implement")
test = define_task("Write tests", "test")


def doc():
    return Command(name="pipeline-autochain", description="Sequential pipeline")[
        TaskPipeline(title="OAuth Implementation", auto_chain=True)[
            TaskDef(task=research, prompt="Research OAuth2 providers", active_form="Researching..."),
            TaskDef(task=plan, prompt="Design implementation approach", active_form="Planning..."),
            TaskDef(task=implement, prompt="Build OAuth2 integration", active_form="Implementing..."),
            TaskDef(task=test, prompt="Write and run tests", active_form="Testing..."),
        ],
    ]
