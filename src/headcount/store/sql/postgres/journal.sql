-- name: note
insert into journal (team, at, kind, about, data) values ($1, $2, $3, $4, $5) returning seq

-- name: after
select seq, team, at, kind, about, data from journal
where team = $1 and seq > $2 and ($3::text is null or kind in (select json_array_elements_text(as_json($3))))
order by seq limit nullif($4::bigint, -1)

-- name: recent
select seq, team, at, kind, about, data from journal where team = $1 order by seq desc limit $2

-- name: last_seq
select coalesce(max(seq), 0) from journal where team = $1

-- name: add_input
insert into inputs (team, kind, data) values ($1, $2, $3)

-- name: has_inputs
select 1 from inputs where team = $1 limit 1

-- name: inputs
select kind, data from inputs where team = $1 order by seq

-- name: clear_inputs
delete from inputs where team = $1

-- name: add_act
insert into acts (team, id, data) values ($1, $2, $3) on conflict do nothing

-- name: pending_acts
select data from acts where team = $1 and ended_at is null order by seq

-- name: end_act
update acts set ended_at = $1 where team = $2 and id = $3 and ended_at is null

-- name: unheard_answer
select (as_json(data) ->> 'approve')::boolean from inputs
where team = $1 and kind = 'Answered' and as_json(data) ->> 'key' = $2 and as_json(data) ->> 'request_id' = $3
order by seq limit 1
