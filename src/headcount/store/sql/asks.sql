-- name: insert
insert into asks (id, team, key, kind, title, detail, command, directory, asked_at, until, state, decider,
                  reason, answered_at, taken_at)
values ('a' || (select coalesce(max(seq), 0) + 1 from asks), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
returning id

-- name: one
select id, team, key, kind, title, detail, command, directory, asked_at, until, state, decider, reason,
       answered_at, taken_at
from asks where id = ?

-- name: list
select id, team, key, kind, title, detail, command, directory, asked_at, until, state, decider, reason,
       answered_at, taken_at
from asks where team = ?1 and (?2 is null or state = ?2) order by seq

-- name: again
select id, team, key, kind, title, detail, command, directory, asked_at, until, state, decider, reason,
       answered_at, taken_at
from asks where team = ? and key = ? and taken_at is null and state <> 'moot' and until > ? order by seq

-- name: answer
update asks set state = ?, decider = ?, reason = ?, answered_at = ? where team = ? and id = ? and state = 'open'

-- name: take
update asks set taken_at = ? where team = ? and id = ? and taken_at is null
