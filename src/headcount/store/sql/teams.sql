-- name: insert_team
insert into teams (id, name, generation, status, description, settings, state, created_at, peer_mail,
                   message_bytes, description_bytes, subject_characters, max_tasks)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: team_by_name
select id, state from teams where name = ? order by generation desc limit 1

-- name: team_by_id
select id, state from teams where id = ?

-- name: update_team
update teams set status = ?, state = ? where id = ?

-- name: open_names
select name from teams where status <> 'shutdown' order by rowid

-- name: all_names
select name from teams group by name order by min(rowid)

-- name: settings
select settings from teams where id = ?

-- name: change_settings
update teams
set settings = ?, peer_mail = ?, message_bytes = ?, description_bytes = ?, subject_characters = ?,
    max_tasks = ?
where id = ?

-- name: members
select body from members where team = ? order by seq

-- name: first_team
select id, created_at from teams order by created_at, id limit 1

-- name: card
select id, name, status, peer_mail, message_bytes, description_bytes, subject_characters, max_tasks
from teams where id = ?

-- name: card_by_name
select id, name, status, peer_mail, message_bytes, description_bytes, subject_characters, max_tasks
from teams where name = ? order by generation desc limit 1

-- name: put_member
insert into members (team, key, name, generation, role, state, ask, answer, body)
values (?, ?, ?, ?, ?, ?, ?, ?, ?)
on conflict (team, key) do update
set role = excluded.role, state = excluded.state, ask = excluded.ask, answer = excluded.answer,
    body = excluded.body

-- name: remove_member
delete from members where team = ? and key = ?

-- name: member_card
select key, name, role, state, ask, answer, body ->> 'task', body ->> 'activity'
from members where team = ? and key = ?

-- name: latest_card
select key, name, role, state, ask, answer, body ->> 'task', body ->> 'activity'
from members where team = ? and name = ? order by generation desc limit 1

-- name: member_cards
select key, name, role, state, ask, answer, body ->> 'task', body ->> 'activity'
from members where team = ? order by seq

-- name: seal
insert into seals (team, key, sealed_at) values (?, ?, ?) on conflict do nothing

-- name: sealed
select 1 from seals where team = ? and key = ?

-- name: put_fact
insert into facts (team, about, name, value) values (?, ?, ?, ?)
on conflict (team, about, name) do update set value = excluded.value

-- name: fact
select value from facts where team = ? and about = ? and name = ?

-- name: facts
select about, value from facts where team = ? and name = ? order by about

-- name: notifies_of
select 1 from teams, json_each(settings, '$.policy.notify_kinds') as kind where teams.id = ? and kind.value = ?

-- name: spent_on
select total(json_extract(value, '$.days."' || ? || '"')) from facts where name = 'usage'
