import { AgentType, Command, Model, Team, Teammate, defineTeam, defineWorker } from 'react-agentic';

const Explorer = defineWorker('explorer', AgentType.Explore, Model.Haiku);
const Planner = defineWorker('planner', AgentType.Plan, Model.Opus);
const Shell = defineWorker('shell', AgentType.Bash);

export default (
  <Command name="models" description="Which model wins">
    <Team team={defineTeam('crew')}>
      <Teammate worker={Explorer} model={Model.Sonnet} description="Overrides" prompt="Explore" />
      <Teammate worker={Planner} description="Inherits" prompt="Plan" />
      <Teammate worker={Shell} model="claude-next" mode="plan" description="A model by its name" prompt="Run" />
    </Team>
  </Command>
);
