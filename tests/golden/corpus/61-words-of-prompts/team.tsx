#!/usr/bin/env headcount
import { AgentType, Command, Prompt, Team, Teammate, defineTeam, defineWorker } from 'headcount';

export type * from './types';
interface Box<in out T> { value: T }

const areas = ['auth', '', 'billing'].filter(Boolean);
const strict = areas.length > 1;
const scout = defineWorker('scout', AgentType.Explore);
const crew = defineTeam('crew', [scout]);
const settings: { tone?: { word: string } } | null = null;

function Rule({ text, loud }: { text?: string; loud?: boolean }) {
  if (!text) return null;
  return <p>{loud ? text.toUpperCase() : text.trim()}</p>;
}

export default (
  <Command name="look" description={`Look at ${areas.join(' and ')}`}>
    <Team team={crew}>
      <Teammate
        worker={scout}
        description={strict === true ? 'Strict' : 'Loose'}
        prompt={`Read ${dir.path}, ${files[0]} and ${process.env.HOME}; mode ${settings?.tone.word ?? 'plain'}.`}
      />
    </Team>
    <Rule />
    <Rule text="  first  " />
    <Rule text="second" loud />
    {areas.includes('auth') && <p>{typeof areas} of {areas.length}</p>}
    <p>{`${areas.map(each => each.slice(0, 1)).join('')}!`}</p>
  </Command>
);
