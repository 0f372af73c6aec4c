-- name: insert
insert into tasks (id, team, subject, description, active_form, status, owner, metadata, reason)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)

-- name: ids
select id from tasks where team = $1 order by seq

-- name: list
select id, team, subject, description, active_form, status, owner, metadata, reason
from tasks
where team = $1 and ($2::text is null or status = $2) and ($3::text is null or owner = $3) order by seq

-- name: one
select id, team, subject, description, active_form, status, owner, metadata, reason
from tasks where team = $1 and id = $2

-- name: update
update tasks
set subject = $1, description = $2, active_form = $3, status = $4, owner = $5, metadata = $6, reason = $7
where team = $8 and id = $9

-- name: clear_needs
delete from needs where team = $1 and task = $2

-- name: add_need
insert into needs (team, task, position, needed) values ($1, $2, $3, $4)

-- name: needs
select needed from needs where team = $1 and task = $2 order by position

-- name: all_needs
select task, needed from needs where team = $1 order by task, position

-- name: next
select id, team, subject, description, active_form, status, owner, metadata, reason
from tasks t
where team = $1 and status = 'pending' and (owner is null or owner = $2) and not exists (
  select 1 from needs n join tasks d on d.team = n.team and d.id = n.needed
  where n.team = t.team and n.task = t.id
    and d.status not in (select json_array_elements_text(as_json($3))))
order by seq limit 1
