import {
  AgentType, Command, ShutdownSequence, TaskDef, TaskPipeline, Team, Teammate, Workflow, defineTask, defineTeam,
  defineWorker,
} from 'react-agentic';

const Security = defineWorker('security', AgentType.Explore);
const Perf = defineWorker('perf', AgentType.Plan);
const ReviewTeam = defineTeam('pr-review', [Security, Perf]);

export default (
  <Command name="feature" description="A whole life cycle">
    <Workflow name="Feature X" team={ReviewTeam}>
      <Team team={ReviewTeam}>
        <Teammate worker={Security} description="Audit" prompt="Audit it" />
        <Teammate worker={Perf} description="Measure" prompt="Measure it" />
      </Team>
      <TaskPipeline title="Steps" autoChain>
        <TaskDef task={defineTask('Audit', 'audit')} prompt="Audit it" />
        <TaskDef task={defineTask('Measure', 'measure')} prompt="Measure it" />
      </TaskPipeline>
      <ShutdownSequence workers={[Security, Perf]} reason="Feature complete" />
    </Workflow>
  </Command>
);
