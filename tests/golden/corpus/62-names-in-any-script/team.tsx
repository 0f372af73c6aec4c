import { AgentType, Command, Team, Teammate, defineTeam, defineWorker } from 'headcount';

const größe = 'groß';
const 名 = { 前: 'なまえ' };
const \u0061b = 'escaped';
enum Ö { Ä = 'ä' }
const späher = defineWorker('scout', AgentType.Explore);
const crew = defineTeam('crew', [späher]);
const Überschrift = ({ текст }: { текст: string }) => <h2>{текст}</h2>;

export default (
  <Command name="names" description="Names in any script">
    <Überschrift текст="Заголовок" />
    <Team team={crew}>
      <Teammate worker={späher} description={größe} prompt={`${名.前} ${ab} ${Ö.Ä}`} />
    </Team>
  </Command>
);
