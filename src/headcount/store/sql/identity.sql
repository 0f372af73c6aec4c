-- name: add_token
insert into tokens (selector, digest, team, key, role) values (?, ?, ?, ?, ?) on conflict do nothing

-- name: candidates
select digest, team, key, role from tokens where selector = ?

-- name: lease
select holder, token, expires_at from leases where name = ?

-- name: put_lease
insert into leases (name, holder, token, expires_at) values (?, ?, ?, ?)
on conflict (name) do update
set holder = excluded.holder, token = excluded.token, expires_at = excluded.expires_at

-- name: renew_lease
update leases set expires_at = ? where name = ? and token = ? and holder is not null

-- name: release_lease
update leases set holder = null, expires_at = 0 where name = ? and token = ?

-- name: holds
select 1 from leases where name = ? and token = ? and holder is not null
