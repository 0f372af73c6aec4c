-- name: insert
insert into mail (id, team, sender, box, subject, body, type, template, request_id, priority, sent_at,
                  bounced_from, group_id)
values (coalesce(nullif(?, ''), 'm' || (select coalesce(max(seq), 0) + 1 from mail)),
        ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
returning id

-- name: inbox
select id, team, sender, box, subject, body, type, template, request_id, priority, sent_at, read_at,
       bounced_from, group_id
from mail where team = ?1 and box in (select value from json_each(?2)) order by seq

-- name: inbox_unread
select id, team, sender, box, subject, body, type, template, request_id, priority, sent_at, read_at,
       bounced_from, group_id
from mail where team = ?1 and box in (select value from json_each(?2)) and read_at is null order by seq

-- name: one
select id, team, sender, box, subject, body, type, template, request_id, priority, sent_at, read_at,
       bounced_from, group_id
from mail where team = ? and id = ?

-- name: has_unread
select 1 from mail where team = ?1 and box in (select value from json_each(?2)) and read_at is null limit 1

-- name: mark_read
update mail set read_at = ? where team = ? and id = ? and read_at is null

-- name: redirect
update mail set box = ?, bounced_from = box where team = ? and box = ? and read_at is null and type = ?

-- name: forget
-- The newest stays, so that no number is given out twice.
delete from mail
where team = ? and read_at < ? and team in (select id from teams where status = 'shutdown')
  and seq < (select max(seq) from mail)

-- name: all
select id, team, sender, box, subject, body, type, template, request_id, priority, sent_at, read_at,
       bounced_from, group_id
from mail where team = ?1 and (?2 = 0 or read_at is null) order by seq

-- name: count_unread
select box, count(*) from mail where team = ? and read_at is null group by box
