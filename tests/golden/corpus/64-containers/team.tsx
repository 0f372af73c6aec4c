import { AgentType, Command, ExecutionContext, Prompt, Team, Teammate, XmlBlock, defineTeam, defineWorker } from 'headcount';

const scout = defineWorker('scout', AgentType.Explore);
const crew = defineTeam('crew', [scout]);

export default (
  <Command name="containers" description="Containers and attributes">
    <div>
      <p>In a div</p>
      <Team team={crew}>
        <Teammate worker={scout} description="Look">
          <Prompt>  On the tag's own line
            <div><p>Inside</p><ul><li>one</li></ul></div>
            <ExecutionContext paths={['a.md', '$b.md']} prefix="$"><p>And this</p></ExecutionContext>
          </Prompt>
        </Teammate>
      </Team>
    </div>
    <XmlBlock name="rules" priority="high" note='say "no"'><p>Be kind</p></XmlBlock>
    <div name="section" id="intro"><p>Named</p></div>
  </Command>
);
