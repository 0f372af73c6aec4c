import { AgentType, Command, Prompt, Team, Teammate, defineTeam, defineWorker } from 'react-agentic';

export default (
  <Command name="vars" description="A prompt with variables">
    <Team team={defineTeam('crew')}>
      <Teammate worker={defineWorker('scout', AgentType.Explore)} description="Look">
        <Prompt vars={{ area: 'billing' }}>{'Look at {{area}}'}</Prompt>
      </Teammate>
    </Team>
  </Command>
);
