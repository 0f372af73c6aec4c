import { AgentType, Command, Team, Teammate, defineTeam, defineWorker } from 'react-agentic';

const Bare = defineWorker('bare', AgentType.Explore);
const Text = defineWorker('text', AgentType.Explore);

export default (
  <Command name="background" description="Ways to write a flag">
    <Team team={defineTeam('crew')}>
      <Teammate worker={Bare} description="Bare" prompt="Look" background />
      <Teammate worker={Text} description="Text" prompt="Look" background="false" />
    </Team>
  </Command>
);
