-- name: note
insert into journal (team, at, kind, about, data) values (?, ?, ?, ?, ?) returning seq

-- name: after
select seq, team, at, kind, about, data from journal
where team = ?1 and seq > ?2 and (?3 is null or kind in (select value from json_each(?3)))
order by seq limit ?4

-- name: recent
select seq, team, at, kind, about, data from journal where team = ? order by seq desc limit ?

-- name: last_seq
select coalesce(max(seq), 0) from journal where team = ?

-- name: add_input
insert into inputs (team, kind, data) values (?, ?, ?)

-- name: has_inputs
select 1 from inputs where team = ? limit 1

-- name: inputs
select kind, data from inputs where team = ? order by seq

-- name: clear_inputs
delete from inputs where team = ?

-- name: add_act
insert into acts (team, id, data) values (?, ?, ?) on conflict do nothing

-- name: pending_acts
select data from acts where team = ? and ended_at is null order by seq

-- name: end_act
update acts set ended_at = ? where team = ? and id = ? and ended_at is null

-- name: unheard_answer
select data ->> 'approve' from inputs
where team = ? and kind = 'Answered' and data ->> 'key' = ? and data ->> 'request_id' = ?
order by seq limit 1
