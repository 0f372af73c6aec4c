import { AgentType, Command, ShutdownSequence, Team, Teammate, defineTeam, defineWorker } from 'react-agentic';

const Security = defineWorker('security', AgentType.Explore);
const Random = defineWorker('random', AgentType.Explore);

export default (
  <Command name="mismatch" description="Shut down one that was never spawned">
    <Team team={defineTeam('crew')}>
      <Teammate worker={Security} description="Audit" prompt="Audit it" />
    </Team>
    <ShutdownSequence workers={[Security, Random]} />
  </Command>
);
