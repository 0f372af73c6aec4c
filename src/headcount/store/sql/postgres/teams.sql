-- name: insert_team
insert into teams (id, name, generation, status, description, settings, state, created_at, peer_mail,
                   message_bytes, description_bytes, subject_characters, max_tasks)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)

-- name: team_by_name
select id, state from teams where name = $1 order by generation desc limit 1

-- name: team_by_id
select id, state from teams where id = $1

-- name: update_team
update teams set status = $1, state = $2 where id = $3

-- name: open_names
select name from teams where status <> 'shutdown' order by seq

-- name: all_names
select name from teams group by name order by min(seq)

-- name: settings
select settings from teams where id = $1

-- name: change_settings
update teams
set settings = $1, peer_mail = $2, message_bytes = $3, description_bytes = $4, subject_characters = $5,
    max_tasks = $6
where id = $7

-- name: members
select body from members where team = $1 order by seq

-- name: card
select id, name, status, peer_mail, message_bytes, description_bytes, subject_characters, max_tasks
from teams where id = $1

-- name: card_by_name
select id, name, status, peer_mail, message_bytes, description_bytes, subject_characters, max_tasks
from teams where name = $1 order by generation desc limit 1

-- name: put_member
insert into members (team, key, name, generation, role, state, ask, answer, body)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
on conflict (team, key) do update
set role = excluded.role, state = excluded.state, ask = excluded.ask, answer = excluded.answer,
    body = excluded.body

-- name: remove_member
delete from members where team = $1 and key = $2

-- name: member_card
select key, name, role, state, ask, answer, as_json(body) ->> 'task', as_json(body) ->> 'activity'
from members where team = $1 and key = $2

-- name: latest_card
select key, name, role, state, ask, answer, as_json(body) ->> 'task', as_json(body) ->> 'activity'
from members where team = $1 and name = $2 order by generation desc limit 1

-- name: member_cards
select key, name, role, state, ask, answer, as_json(body) ->> 'task', as_json(body) ->> 'activity'
from members where team = $1 order by seq

-- name: seal
insert into seals (team, key, sealed_at) values ($1, $2, $3) on conflict do nothing

-- name: sealed
select 1 from seals where team = $1 and key = $2

-- name: put_fact
insert into facts (team, about, name, value) values ($1, $2, $3, $4)
on conflict (team, about, name) do update set value = excluded.value

-- name: fact
select value from facts where team = $1 and about = $2 and name = $3

-- name: facts
select about, value from facts where team = $1 and name = $2 order by about collate "C"

-- name: notifies_of
select 1 from teams
where id = $1 and (as_json(settings) -> 'policy' -> 'notify_kinds')::jsonb @> jsonb_build_array($2::text)

-- name: spent_on
select coalesce(sum((as_json(value) -> 'days' ->> $1)::double precision), 0) from facts where name = 'usage'
