import { AgentType, Command, Team, Teammate, defineTeam, defineWorker } from 'react-agentic';

const A = defineWorker('a', AgentType.Explore);
const B = defineWorker('b', AgentType.Explore);

export default (
  <Command name="two-teams" description="Each member is in the team around it">
    <Team team={defineTeam('red')}><Teammate worker={A} description="Look" prompt="Look" /></Team>
    <Team team={defineTeam('blue')}><Teammate worker={B} description="Look" prompt="Look" /></Team>
  </Command>
);
