from headcount import Command, PluginAgentType, ShutdownSequence, define_team, define_worker, h2

security = define_worker("security", PluginAgentType.SecuritySentinel)
perf = define_worker("perf", PluginAgentType.PerformanceOracle)
review = define_team("pr-review", [security, perf])

doc = Command(name="shutdown-no-cleanup", description="Partial shutdown, then full")[
    h2["Phase 1"],
    ShutdownSequence(workers=[security], reason="Phase 1 done", cleanup=False),
    h2["Phase 2"],
    ShutdownSequence(workers=[perf], team=review, reason="Phase 2 done", cleanup="false", title="Second"),
    ShutdownSequence(workers=[security, perf], team=review),
]
