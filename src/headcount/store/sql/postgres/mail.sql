-- name: insert
with next as (select nextval(pg_get_serial_sequence('mail', 'seq')) as seq)
insert into mail (seq, id, team, sender, box, subject, body, type, template, request_id, priority, sent_at,
                  bounced_from, group_id)
select seq, coalesce(nullif($1, ''), 'm' || seq), $2, $3, $4, $5, $6, $7, $8, $9, $10,
       $11::double precision, $12, $13
from next
returning id

-- name: inbox
select id, team, sender, box, subject, body, type, template, request_id, priority, sent_at, read_at,
       bounced_from, group_id
from mail where team = $1 and box in (select json_array_elements_text(as_json($2))) order by seq

-- name: inbox_unread
select id, team, sender, box, subject, body, type, template, request_id, priority, sent_at, read_at,
       bounced_from, group_id
from mail
where team = $1 and box in (select json_array_elements_text(as_json($2))) and read_at is null order by seq

-- name: one
select id, team, sender, box, subject, body, type, template, request_id, priority, sent_at, read_at,
       bounced_from, group_id
from mail where team = $1 and id = $2

-- name: has_unread
select 1 from mail
where team = $1 and box in (select json_array_elements_text(as_json($2))) and read_at is null limit 1

-- name: mark_read
update mail set read_at = $1 where team = $2 and id = $3 and read_at is null

-- name: redirect
update mail set box = $1, bounced_from = box where team = $2 and box = $3 and read_at is null and type = $4

-- name: forget
-- The newest stays, as on SQLite.
delete from mail
where team = $1 and read_at < $2 and team in (select id from teams where status = 'shutdown')
  and seq < (select max(seq) from mail)

-- name: all
select id, team, sender, box, subject, body, type, template, request_id, priority, sent_at, read_at,
       bounced_from, group_id
from mail where team = $1 and (not $2::boolean or read_at is null) order by seq

-- name: count_unread
select box, count(*) from mail where team = $1 and read_at is null group by box
