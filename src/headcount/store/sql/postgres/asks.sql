-- name: insert
with next as (select nextval(pg_get_serial_sequence('asks', 'seq')) as seq)
insert into asks (seq, id, team, key, kind, title, detail, command, directory, asked_at, until, state, decider,
                  reason, answered_at, taken_at)
select seq, 'a' || seq, $1, $2, $3, $4, $5, $6, $7, $8::double precision, $9::double precision, $10, $11, $12,
       $13::double precision, $14::double precision
from next
returning id

-- name: one
select id, team, key, kind, title, detail, command, directory, asked_at, until, state, decider, reason,
       answered_at, taken_at
from asks where id = $1

-- name: list
select id, team, key, kind, title, detail, command, directory, asked_at, until, state, decider, reason,
       answered_at, taken_at
from asks where team = $1 and ($2::text is null or state = $2) order by seq

-- name: again
select id, team, key, kind, title, detail, command, directory, asked_at, until, state, decider, reason,
       answered_at, taken_at
from asks where team = $1 and key = $2 and taken_at is null and state <> 'moot' and until > $3 order by seq

-- name: answer
update asks set state = $1, decider = $2, reason = $3, answered_at = $4
where team = $5 and id = $6 and state = 'open'

-- name: take
update asks set taken_at = $1 where team = $2 and id = $3 and taken_at is null

-- name: forget
-- The newest stays, as on SQLite.
delete from asks
where team = $1 and team in (select id from teams where status = 'shutdown') and seq < (select max(seq) from asks)
