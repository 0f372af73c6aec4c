from headcount import Command, PluginAgentType, ShutdownSequence, define_worker

security = define_worker("security", PluginAgentType.SecuritySentinel)
perf = define_worker("perf", PluginAgentType.PerformanceOracle)

doc = Command(name="shutdown-minimal", description="Standalone shutdown with placeholder team")[
    ShutdownSequence(workers=[security, perf]),
]
