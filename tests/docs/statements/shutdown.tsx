import { Command, PluginAgentType, ShutdownSequence, defineTeam, defineWorker } from 'react-agentic';

const Security = defineWorker('security', PluginAgentType.SecuritySentinel);
const Perf = defineWorker('perf', PluginAgentType.PerformanceOracle);
const ReviewTeam = defineTeam('pr-review', [Security, Perf]);

export default (
  <Command name="end-review" description="End the review">
    <ShutdownSequence workers={[Security, Perf]} team={ReviewTeam} reason="All reviews complete" />
  </Command>
);
