import { AgentType, Command, ShutdownSequence, defineWorker } from 'react-agentic';

const Scout = defineWorker('scout', AgentType.Explore);

export default (
  <Command name="cleanup-team" description="Stand alone, with defaults only">
    <ShutdownSequence workers={[Scout]} />
  </Command>
);
