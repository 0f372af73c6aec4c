import { AgentType, Command, ShutdownSequence, defineTeam, defineWorker } from 'react-agentic';

const First = defineWorker('first', AgentType.Explore);
const Second = defineWorker('second', AgentType.Explore);
const Crew = defineTeam('crew', [First, Second]);

export default (
  <Command name="partial" description="End one worker, keep the team">
    <ShutdownSequence workers={[First]} team={Crew} reason="Phase 1 done" cleanup={false} />
  </Command>
);
