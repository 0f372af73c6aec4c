-- name: insert
insert into tasks (id, team, subject, description, active_form, status, owner, metadata, reason)
values (?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: ids
select id from tasks where team = ? order by seq

-- name: list
select id, team, subject, description, active_form, status, owner, metadata, reason
from tasks where team = ?1 and (?2 is null or status = ?2) and (?3 is null or owner = ?3) order by seq

-- name: one
select id, team, subject, description, active_form, status, owner, metadata, reason
from tasks where team = ? and id = ?

-- name: update
update tasks set subject = ?, description = ?, active_form = ?, status = ?, owner = ?, metadata = ?, reason = ?
where team = ? and id = ?

-- name: clear_needs
delete from needs where team = ? and task = ?

-- name: add_need
insert into needs (team, task, position, needed) values (?, ?, ?, ?)

-- name: needs
select needed from needs where team = ? and task = ? order by position

-- name: all_needs
select task, needed from needs where team = ? order by task, position

-- name: next
select id, team, subject, description, active_form, status, owner, metadata, reason
from tasks t
where team = ?1 and status = 'pending' and (owner is null or owner = ?2) and not exists (
  select 1 from needs n join tasks d on d.team = n.team and d.id = n.needed
  where n.team = t.team and n.task = t.id and d.status not in (select value from json_each(?3)))
order by seq limit 1
