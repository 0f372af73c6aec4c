-- name: add_token
insert into tokens (selector, digest, team, key, role) values ($1, $2, $3, $4, $5) on conflict do nothing

-- name: candidates
select digest, team, key, role from tokens where selector = $1

-- name: take_lease
insert into leases (name, holder, token, expires_at)
values ($1, $2, 1, extract(epoch from clock_timestamp()) + $3::double precision)
on conflict (name) do update
set holder = excluded.holder, token = leases.token + 1, expires_at = excluded.expires_at
where leases.holder is null or leases.holder = excluded.holder
  or leases.expires_at <= extract(epoch from clock_timestamp())
returning token

-- name: renew_lease
update leases set expires_at = extract(epoch from clock_timestamp()) + $1::double precision
where name = $2 and token = $3 and holder is not null

-- name: release_lease
update leases set holder = null, expires_at = 0 where name = $1 and token = $2

-- name: holds
-- Shared: a process that takes the lease over waits until this transaction has ended.
select 1 from leases where name = $1 and token = $2 and holder is not null for share

-- name: claim
insert into meta (name, value) values ('owner', $1)
on conflict (name) do update set value = meta.value
returning value

-- name: forget_commits
delete from commits where at < extract(epoch from clock_timestamp()) - $1::double precision
