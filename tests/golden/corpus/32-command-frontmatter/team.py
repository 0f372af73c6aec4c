from headcount import AgentType, Command, ShutdownSequence, define_worker

worker = define_worker("worker", AgentType.Bash)

doc = Command(
    name="ns:command-frontmatter",
    description="Every frontmatter prop",
    argument_hint="<file> [--fast]",
    agent="team-lead",
    allowed_tools=["Bash(git:*)", "Read", "Task"],
    model="opus",
    arguments=[
        {"name": "file", "description": "The file: a path", "required": True},
        {"name": "fast", "description": "Skip checks", "required": False},
    ],
)[ShutdownSequence(workers=[worker])]
