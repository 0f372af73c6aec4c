"""The tables in PostgreSQL: created, and upgraded.

Versions of headcount work on one database at the same time: hosts are upgraded one after the other. So a
script must leave the tables usable for the version before it (expand). A later script removes what only that
version needed (contract). A database may be one version ahead of this program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg

from headcount.domain.database_url import hide_password
from headcount.errors import StoreError
from headcount.store.postgres_connection import SCHEMA, explain, roll_back
from headcount.store.statements import one, read_sql

if TYPE_CHECKING:
    from headcount.store.postgres_connection import Connection

MIGRATIONS = ("0001_first.sql",)
VERSION = len(MIGRATIONS)
_AHEAD = 1
_META = (
    "select 1 from pg_catalog.pg_class join pg_catalog.pg_namespace n on n.oid = relnamespace "
    "where nspname = $1 and relname = 'meta'"
)
_PUT_VERSION = (
    "insert into meta (name, value) values ('version', $1) "
    "on conflict (name) do update set value = excluded.value"
)
_LOCK = "select pg_advisory_xact_lock(hashtext('headcount migration'))"


def open_schema(db: Connection, *, make: bool) -> None:
    """Check the version of the tables and upgrade them. Create them if `make`."""
    try:
        version = _version(db)
        if not version and not make:
            raise StoreError(
                f"There is no state in {hide_password(db.url)}",
                f"it has no schema {SCHEMA}",
                ("Start a team first with `headcount up FILE`",),
                code="no-state",
            )
        if version > VERSION + _AHEAD:
            raise StoreError(
                f"{hide_password(db.url)} was made by a newer headcount",
                f"it has schema {version}, this headcount works with schemas up to {VERSION + _AHEAD}",
                ("Upgrade headcount on this machine",),
                code="newer-state",
            )
        if version < VERSION:
            upgrade(db)
    except psycopg.Error as error:
        roll_back(db)
        raise explain(error, db.url) from error
    except BaseException:
        roll_back(db)
        raise


def upgrade(db: Connection) -> None:
    """Run the scripts that are missing, all or none. One process does it, the others wait."""
    db.run(f"begin; {_LOCK}")
    version = _version(db)
    if not version:
        db.run(f"create schema if not exists {SCHEMA}")
        there = "select 1 from pg_class where relnamespace = $1::regnamespace"
        if one(db, there, SCHEMA) is not None:
            raise StoreError(
                f"The schema {SCHEMA} in {hide_password(db.url)} belongs to another program",
                "it has tables that are not headcount's",
                ("Use another database",),
                code="store-corrupt",
            )
    for script in MIGRATIONS[version:]:
        db.run(read_sql(f"postgres/migrations/{script}"))
    db.execute(_PUT_VERSION, (str(max(version, len(MIGRATIONS))),))
    db.run("commit")


def _version(db: Connection) -> int:
    """0 without tables. Reads the catalogue itself: functions on it may not see another's last commit."""
    if one(db, _META, SCHEMA) is None:
        return 0
    return int(db.run("select value from meta where name = 'version'")[0])
