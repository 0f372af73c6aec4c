from headcount import Command, PluginAgentType, ShutdownSequence, define_team, define_worker

security = define_worker("security", PluginAgentType.SecuritySentinel)
perf = define_worker("perf", PluginAgentType.PerformanceOracle)
review = define_team("pr-review", [security, perf])

doc = Command(name="shutdown-full", description="All ShutdownSequence props")[
    ShutdownSequence(
        workers=[security, perf],
        team=review,
        reason="All reviews complete",
        title="Cleanup Reviewers",
        cleanup=True,
    ),
]
