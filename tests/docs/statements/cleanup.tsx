import { Cleanup, Command, defineTeam } from 'react-agentic';

export default (
  <Command name="clean" description="The cleanup call alone">
    <Cleanup team={defineTeam('crew')} />
  </Command>
);
