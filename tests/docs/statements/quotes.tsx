import { AgentType, Command, ShutdownSequence, Team, Teammate, defineTeam, defineWorker } from 'react-agentic';

const Odd = defineWorker('say-"hi"', AgentType.Explore);
const Crew = defineTeam('crew', [Odd]);

export default (
  <Command name="quotes" description="Characters that JavaScript gives a meaning">
    <Team team={Crew} description={'Say "hi"'}>
      <Teammate worker={Odd} description={'A "short" summary'} prompt={'Use `git` and ${HOME}, not C:\\temp'} />
    </Team>
    <ShutdownSequence workers={[Odd]} team={Crew} reason={'All "done"'} />
  </Command>
);
