import { AgentType, Command, PluginAgentType, Team, Teammate, defineTeam, defineWorker } from 'react-agentic';

const TYPES = [
  AgentType.Bash, AgentType.Explore, AgentType.Plan, AgentType.GeneralPurpose,
  PluginAgentType.SecuritySentinel, PluginAgentType.PerformanceOracle, 'my-own-agent',
];

export default (
  <Command name="types" description="Types of agents">
    <Team team={defineTeam('crew')}>
      {TYPES.map((type, n) => (
        <Teammate worker={defineWorker(`w${n}`, type)} description="Look" prompt="Look" />
      ))}
    </Team>
  </Command>
);
