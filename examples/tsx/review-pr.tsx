// Two reviewers look at a pull request at once. Build it: headcount build examples/tsx/review-pr.tsx
import {
  Command, Model, PluginAgentType, ShutdownSequence, TaskDef, TaskPipeline, Team, Teammate, Workflow,
  defineTask, defineTeam, defineWorker,
} from 'headcount';

const Security = defineWorker('security', PluginAgentType.SecuritySentinel, Model.Haiku);
const Perf = defineWorker('perf', PluginAgentType.PerformanceOracle);
const Review = defineTeam('pr-review', [Security, Perf]);

const Audit = defineTask('Audit the change', 'audit');
const Report = defineTask('Write the report', 'report');

export default (
  <Command name="review-pr" description="Review a pull request">
    <Workflow name="Review" team={Review}>
      <Team team={Review} description="Code review specialists">
        <Teammate worker={Security} description="Security audit" prompt="Review for vulnerabilities." />
        <Teammate worker={Perf} description="Performance audit" prompt="Review for slow paths." />
      </Team>
      <TaskPipeline title="Steps" autoChain>
        <TaskDef task={Audit} prompt="Audit every changed file." />
        <TaskDef task={Report} prompt="Merge the findings into one report." />
      </TaskPipeline>
      <ShutdownSequence workers={[Security, Perf]} reason="All reviews complete" />
    </Workflow>
  </Command>
);
