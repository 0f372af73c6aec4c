from headcount import Command, Prompt, TaskDef, TaskPipeline, define_task, h2, li, ul

research = define_task('Research "OAuth" providers', "research")
deep = define_task("Deep dive", "deep")
long = define_task("Long one", "long")

LONG = (
    "This description is deliberately longer than eighty characters so that the summary table has to "
    "cut it short."
)

doc = Command(
    name="pipeline-prompt-child", description="Prompt child in TaskDef and truncation of long prompts"
)[
    TaskPipeline(title="Tasks")[
        TaskDef(task=research, active_form='Researching "it"...')[
            Prompt["Compare Google, GitHub and Auth0."]
        ],
        TaskDef(task=long, prompt=LONG),
    ],
    TaskDef(task=deep)[
        Prompt[
            h2["Research"],
            ul[li['Compare "pricing"'], li["Check C:\\temp and `code`"]],
        ],
    ],
]
