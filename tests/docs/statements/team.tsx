import { Command, Model, PluginAgentType, Team, Teammate, defineTeam, defineWorker } from 'react-agentic';

const Security = defineWorker('security', PluginAgentType.SecuritySentinel, Model.Haiku);
const Perf = defineWorker('perf', PluginAgentType.PerformanceOracle);
const Idle = defineWorker('idle', 'general-purpose');
const ReviewTeam = defineTeam('pr-review', [Security, Idle]);

export default (
  <Command name="review" description="Review a change">
    <Team team={ReviewTeam} description="Code review specialists">
      <Teammate worker={Security} description="Security audit" prompt={`Review for security vulnerabilities.`} />
      <Teammate worker={Perf} description="Quick check" prompt="Look for slow paths" background={false} />
    </Team>
  </Command>
);
