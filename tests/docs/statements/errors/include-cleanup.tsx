import { AgentType, Command, Prompt, ShutdownSequence, Team, Teammate, defineTeam, defineWorker } from 'react-agentic';

const A = defineWorker('a', AgentType.Explore);
const C = defineTeam('crew', [A]);

export default (
  <Command name="mistake" description="One mistake">
    <ShutdownSequence workers={[A]} includeCleanup={false} />
  </Command>
);
