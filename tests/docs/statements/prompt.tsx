import {
  AgentType, Command, ExecutionContext, List, Prompt, Table, Team, Teammate, XmlBlock, defineTeam, defineWorker,
} from 'react-agentic';

const Security = defineWorker('security', AgentType.Explore);
const Text = defineWorker('text', AgentType.Explore);
const subject = 'the change';

export default (
  <Command name="prompts" description="Prompts as children">
    <Team team={defineTeam('crew')}>
      <Teammate worker={Security} description="Security audit" prompt="The child wins over this">
        <Prompt>
          <h1>Security Review</h1>
          <p>Look at every input.</p>
          <blockquote>Be thorough.</blockquote>
          <XmlBlock name="focus_areas">
            <ul>
              <li>SQL injection</li>
              <li>XSS attacks</li>
            </ul>
          </XmlBlock>
          <Table headers={['Severity', 'Action']} rows={[['Critical', 'Block PR'], ['High', 'Request fix']]} />
          <List items={['One', 'Two']} ordered />
          <ExecutionContext paths={['SECURITY_RULES.md']} />
        </Prompt>
      </Teammate>
      <Teammate worker={Text} description="Plain text">
        <Prompt>
          Review for vulnerabilities.

          Focus on:
          - SQL injection
          - XSS
          {`Report on ${subject}.`}
        </Prompt>
      </Teammate>
    </Team>
  </Command>
);
