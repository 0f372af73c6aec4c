import {
  Agent, BulletList, CheckpointHandling, CommitRules, DataTable, DeviationRules, DownstreamConsumer, FileContext,
  Methodology, OfferNext, Role, StatusReturn, Step, StepSection, StructuredReturns, SuccessCriteria, UpstreamInput,
  WaveExecution, XmlSection,
} from 'react-agentic';

export default (
  <Agent name="planner" description="Plans a phase">
    <Role>You are a planner. You do planning.</Role>
    <UpstreamInput>A planning_context block.</UpstreamInput>
    <DownstreamConsumer>The executor.</DownstreamConsumer>
    <Methodology>
      1. Read the input
      2. Plan
    </Methodology>
    <DeviationRules><p>Ask first</p></DeviationRules>
    <CommitRules><p>Small commits</p></CommitRules>
    <WaveExecution><p>In waves</p></WaveExecution>
    <CheckpointHandling><p>Save often</p></CheckpointHandling>
    <XmlSection name="limits" level="hard"><p>Two days</p></XmlSection>
    <Step number="1" name="Setup"><p>Install it</p></Step>
    <Step number="1.1" name="Check" variant="bold"><p>Run it</p></Step>
    <Step number={2} name="Build" variant="xml"><p>Build it</p></Step>
    <StepSection number={3} name="Ship" description="Last one." />
    <SuccessCriteria items={['Tests pass', { text: 'Plan read', checked: true }]} />
    <OfferNext routes={[{ name: 'Execute', description: 'Run the plan', path: '/execute' }, { name: 'Stop', path: '/stop' }]} />
    <DataTable caption="Sizes" headers={['Part', 'Lines']} rows={[['core', 12], [null, 3]]} emptyCell="-" />
    <DataTable rows={[]} emptyMessage="Nothing yet" />
    <BulletList title="Rules" items={['One', 2]} />
    <FileContext title="Read" files={['PLAN.md']} prefix="$" />
    <StructuredReturns>
      <StatusReturn status="SUCCESS">All done</StatusReturn>
      <StatusReturn status="BLOCKED" />
    </StructuredReturns>
  </Agent>
);
