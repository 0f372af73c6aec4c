from headcount import AgentType, Command, Team, Teammate, define_team, define_worker

builder = define_worker("builder", AgentType.GeneralPurpose)
other = define_worker("other", AgentType.GeneralPurpose)
build = define_team("build")

doc = Command(name="prompt-escapes", description="Characters that need escaping in a template literal")[
    Team(team=build)[
        Teammate(
            worker=builder,
            description='say "hi" and \\ back',
            prompt="Use `code`, ${HOME}, $PATH, \\n stays, \"quotes\" and 'single'.\nSecond line\twith tab.",
        ),
        Teammate(worker=other, description='single "double" inside', prompt='He said "go".'),
    ],
]
