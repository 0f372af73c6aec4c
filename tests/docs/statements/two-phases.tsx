import { AgentType, Command, ShutdownSequence, defineTeam, defineWorker } from 'react-agentic';

const First = defineWorker('first', AgentType.Explore);
const Second = defineWorker('second', AgentType.Explore);
const Crew = defineTeam('crew', [First, Second]);

export default (
  <Command name="phases" description="Two phases of one team">
    <ShutdownSequence workers={[First]} team={Crew} title="After phase 1" reason="Phase 1 done" cleanup={false} />
    <ShutdownSequence workers={[Second]} team={Crew} title="After phase 2" reason="Phase 2 done" />
  </Command>
);
