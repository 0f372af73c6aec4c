import { AgentType, Command, Team, Teammate, defineTeam, defineWorker } from 'react-agentic';

const Scout = defineWorker('scout', AgentType.GeneralPurpose);

export default (
  <Command name="minimal" description="The least that a team needs">
    <Team team={defineTeam('crew')}>
      <Teammate worker={Scout} description="Look around" prompt="Find the entry points" />
    </Team>
  </Command>
);
