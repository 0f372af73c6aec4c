-- The whole schema as it is now. New databases are made from it, older ones by migrations/, and a test
-- proves that both ways end in the same tables.

create table teams (
  id text primary key,                -- name#generation
  name text not null,
  generation integer not null,
  status text not null,
  description text not null,
  settings text not null,             -- JSON, as it was given at creation
  state text not null,                -- JSON, the rules' own value without its members
  created_at real not null,
  -- taken from the settings, so that a member's command need not parse them
  peer_mail integer not null,
  message_bytes integer not null,
  description_bytes integer not null,
  subject_characters integer not null,
  max_tasks integer not null,
  unique (name, generation)
) strict;

-- At most one team of a name is open (B8); closed ones stay as tombstones.
create unique index teams_open on teams (name) where status <> 'shutdown';

create table members (
  seq integer primary key,   -- the order in which they were started
  team text not null,
  key text not null,                  -- name#generation
  name text not null,
  generation integer not null,
  role text not null,
  state text not null,
  ask text,                           -- the request that it has to answer
  answer text,
  body text not null,                 -- JSON, the rules' own value
  unique (team, key)
) strict;

create unique index members_name on members (team, name, generation);

create table seals (
  team text not null,
  key text not null,
  sealed_at real not null,
  primary key (team, key)
) strict, without rowid;

create table tokens (
  selector blob not null,             -- the first bytes of the digest find the row, the rest is compared
  digest blob not null,
  team text not null,
  key text not null,
  role text not null,
  primary key (selector, digest)
) strict, without rowid;

create table journal (
  seq integer primary key,
  team text not null,
  at real not null,
  kind text not null,
  about text not null,
  data text not null
) strict;

create index journal_team on journal (team, seq);

create trigger journal_is_never_rewritten before update on journal
begin
  select raise(abort, 'the journal is append-only');
end;

create trigger journal_is_never_shortened before delete on journal
begin
  select raise(abort, 'the journal is append-only');
end;

create table inputs (
  seq integer primary key,
  team text not null,
  kind text not null,
  data text not null
) strict;

create index inputs_team on inputs (team, seq);

create table acts (
  seq integer primary key,
  team text not null,
  id text not null,
  data text not null,
  ended_at real,
  unique (team, id)
) strict;

create index acts_pending on acts (team, seq) where ended_at is null;

create table mail (
  seq integer primary key,
  id text not null unique,
  team text not null,
  sender text not null,
  box text not null,
  subject text not null,
  body text not null,
  type text not null,
  template text,
  request_id text,
  priority text not null,
  sent_at real not null,
  read_at real,
  bounced_from text,
  group_id text
) strict;

-- One index for all of a mailbox and for what is unread in it: each more is a page more in every commit.
create index mail_box on mail (team, box, read_at);

-- Retention never takes what nobody has read, nor anything of a team that is open (B6, C9).
create trigger mail_is_kept_until_handled before delete on mail
when old.read_at is null or exists (select 1 from teams where id = old.team and status <> 'shutdown')
begin
  select raise(abort, 'unread mail and the mail of an open team are never deleted');
end;

create table tasks (
  seq integer primary key,
  id text not null,
  team text not null,
  subject text not null,
  description text not null,
  active_form text,
  status text not null,
  owner text,
  metadata text not null,
  reason text not null,
  unique (team, id)
) strict;

create table needs (
  team text not null,
  task text not null,
  position integer not null,
  needed text not null,
  primary key (team, task, position)
) strict, without rowid;

create table facts (
  team text not null,
  about text not null,
  name text not null,
  value text not null,
  primary key (team, about, name)
) strict, without rowid;

create index facts_name on facts (team, name);

create table leases (
  name text primary key,
  holder text,                        -- null: released
  token integer not null,             -- only ever grows: a write under an older one is refused
  expires_at real not null
) strict, without rowid;

create table asks (
  seq integer primary key,
  id text not null unique,
  team text not null,
  key text not null,                  -- the incarnation that asks
  kind text not null,
  title text not null,
  detail text not null,
  command text not null,
  directory text not null,
  asked_at real not null,
  until real not null,
  state text not null,                -- open, allowed, denied, moot
  decider text,
  reason text not null,
  answered_at real,
  taken_at real                       -- the process that waited for the answer has read it
) strict;

create index asks_team on asks (team, state);

-- The first answer wins, for every version of the program.
create trigger asks_are_answered_once before update of state, decider, reason, answered_at on asks
when old.state <> 'open'
begin
  select raise(abort, 'an ask is answered once');
end;
