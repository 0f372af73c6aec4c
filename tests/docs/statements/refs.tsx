import { AgentType, Command, Model, defineTask, defineTeam, defineWorker } from 'react-agentic';

const Scout = defineWorker('scout', AgentType.Explore, Model.Haiku);
const Crew = defineTeam('crew', [Scout]);
const Task = defineTask('Look at the entry points', 'look');

export default (
  <Command name="refs" description="What a ref carries">
    <p>{Scout.name} {Scout.type} {Scout.model} {Crew.name} {Crew.members[0].name} {Task.subject} {Task.name}</p>
    <p>{[Scout, Crew, Task].map((each) => typeof each.__id).join(' ')}</p>
  </Command>
);
