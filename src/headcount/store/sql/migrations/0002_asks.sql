-- Permission requests of clients.

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
