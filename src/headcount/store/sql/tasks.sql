-- name: insert
insert into tasks (id, team, subject, description, active_form, status, owner, metadata, reason)
values (?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: ids
select id from tasks where team = ? order by seq

-- name: list
select id, team, subject, description, active_form, status, owner,
       (select json_group_array(needed order by position) from needs where team = t.team and task = t.id),
       metadata, reason
from tasks t
where team = ?1 and (?2 is null or status = ?2) and (?3 is null or owner = ?3)
order by seq

-- name: one
select id, team, subject, description, active_form, status, owner,
       (select json_group_array(needed order by position) from needs where team = t.team and task = t.id),
       metadata, reason
from tasks t where team = ? and id = ?

-- name: update
update tasks set subject = ?, description = ?, active_form = ?, status = ?, owner = ?, metadata = ?, reason = ?
where team = ? and id = ?

-- name: set_status
update tasks set status = ?, reason = ? where team = ? and id = ?

-- name: clear_needs
delete from needs where team = ? and task = ?

-- name: add_need
insert into needs (team, task, position, needed) values (?, ?, ?, ?)

-- name: all_needs
select task, needed from needs where team = ? order by task, position

-- name: open_needs
select needed from needs n join tasks d on d.team = n.team and d.id = n.needed
where n.team = ? and n.task = ? and d.status not in ('complete', 'withdrawn') order by position

-- name: next_available
select id from tasks t
where team = ?1 and status = 'pending' and (owner is null or owner = ?2) and not exists (
  select 1 from needs n join tasks d on d.team = n.team and d.id = n.needed
  where n.team = t.team and n.task = t.id and d.status not in ('complete', 'withdrawn'))
order by seq limit 1

-- name: claim
update tasks set status = 'in_progress', owner = ? where team = ? and id = ?

-- name: give_back
update tasks set status = 'pending', owner = null
where team = ?1 and owner = ?2 and (status = 'in_progress' or (?3 and status = 'in_review')) returning id, seq

-- name: owned
select id from tasks where team = ? and owner = ? and status = 'in_progress' order by seq
