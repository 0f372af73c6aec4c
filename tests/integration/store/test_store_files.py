"""The database as a file: made, upgraded, refused."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import apsw
import pytest

from headcount.errors import Bug, StoreError
from headcount.protocol import events as ev
from headcount.store import migrate
from headcount.store.database import (
    APPLICATION_ID,
    OLDEST_SAFE,
    VERSION,
    connect,
    sqlite_version,
)
from headcount.store.sqlite import SqliteStore
from headcount.store.statements import read_sql, statements
from tests.support.store_suite import mail, make_team

if TYPE_CHECKING:
    from pathlib import Path


def schema_of(db: apsw.Connection) -> set[tuple[str, str, str]]:
    """Every object with its text, but for spaces and comments."""
    rows = db.execute("select type, name, sql from sqlite_schema where sql is not null")
    return {(kind, name, " ".join(_uncommented(sql).split())) for kind, name, sql in rows}


def _uncommented(sql: str) -> str:
    return "\n".join(line.partition("--")[0] for line in sql.splitlines())


def test_migrations_end_in_the_same_schema_as_a_new_database() -> None:
    new, migrated = apsw.Connection(":memory:"), apsw.Connection(":memory:")
    new.execute(read_sql("schema.sql"))
    for script in migrate.scripts_after(0):
        migrated.execute(script)
    assert schema_of(new) == schema_of(migrated) != set()
    assert len(migrate.scripts_after(0)) == VERSION


def test_every_statement_fits_the_schema() -> None:
    db = apsw.Connection(":memory:")
    db.execute(read_sql("schema.sql"))
    for name in ("teams", "mail", "tasks", "journal", "identity", "asks"):
        for title, sql in statements(name).items():
            count = sql.count("?") if "?1" not in sql else 9
            holes = max((n for n in range(1, 10) if f"?{n}" in sql), default=count)
            assert db.execute(f"explain {sql}", [None] * holes).fetchone(), f"{name}.{title}"


def test_the_sqlite_in_use_is_one_without_the_wal_reset_bug() -> None:
    assert sqlite_version() >= OLDEST_SAFE


def test_a_sqlite_with_the_wal_reset_bug_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SqliteStore(str(tmp_path)).close()
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.51.2")
    with pytest.raises(StoreError, match="may corrupt") as refusal:
        connect(str(tmp_path / "state.db"))
    assert refusal.value.code == "unsafe-sqlite"


def test_only_its_owner_reads_the_state(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        store = SqliteStore(str(tmp_path / "deep" / ".headcount"))
        with store.write() as tx:
            make_team(tx)
        modes = {name: stat.S_IMODE(os.stat(store.path + name).st_mode) for name in ("", "-wal", "-shm")}
        assert stat.S_IMODE(os.stat(os.path.dirname(store.path)).st_mode) == 0o700
        assert modes == {"": 0o600, "-wal": 0o600, "-shm": 0o600}
        store.close()
    finally:
        os.umask(old)


def test_a_commit_that_was_answered_is_synced(tmp_path: Path) -> None:
    SqliteStore(str(tmp_path)).close()
    db = connect(str(tmp_path / "state.db"))
    assert (db.pragma("journal_mode"), db.pragma("synchronous")) == ("wal", 2)
    db.close()


def test_a_state_made_by_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    SqliteStore(str(tmp_path)).close()
    db = apsw.Connection(str(tmp_path / "state.db"))
    db.pragma("user_version", VERSION + 1)
    db.close()
    with pytest.raises(StoreError, match="newer headcount") as refusal:
        SqliteStore(str(tmp_path))
    assert refusal.value.code == "newer-state" and str(VERSION + 1) in refusal.value.why
    db = apsw.Connection(str(tmp_path / "state.db"))
    assert db.pragma("user_version") == VERSION + 1
    db.close()


@pytest.mark.parametrize(
    "content", [b"not a database, but longer than a header " * 50, b"SQLite format 3\0" * 300]
)
def test_a_file_that_is_no_database_is_a_clear_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "state.db").write_bytes(content)
    with pytest.raises(StoreError, match="cannot be read") as refusal:
        SqliteStore(str(tmp_path))
    assert refusal.value.code == "store-corrupt"
    assert (tmp_path / "state.db").read_bytes() == content


def test_another_programs_database_is_not_taken_over(tmp_path: Path) -> None:
    db = apsw.Connection(str(tmp_path / "state.db"))
    db.execute("create table theirs (a)")
    db.close()
    with pytest.raises(StoreError, match="not headcount's state"):
        SqliteStore(str(tmp_path))


def test_a_state_that_is_not_there_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="There is no state") as refusal:
        connect(str(tmp_path / "state.db"))
    assert refusal.value.code == "no-state"


def test_it_is_marked_as_ours(tmp_path: Path) -> None:
    SqliteStore(str(tmp_path)).close()
    db = apsw.Connection(str(tmp_path / "state.db"))
    assert db.pragma("application_id") == APPLICATION_ID
    db.close()


@pytest.mark.parametrize("sql", ["update journal set kind = 'x'", "delete from journal", "delete from mail"])
def test_the_journal_and_unread_mail_cannot_be_removed_by_any_statement(tmp_path: Path, sql: str) -> None:
    store = SqliteStore(str(tmp_path))
    with store.write() as tx:
        team = make_team(tx, "review", "alice")
        tx.post(mail(team, "alice#1"))
    db = connect(store.path)
    with pytest.raises(apsw.ConstraintError):
        db.execute(sql)
    db.close()
    store.close()


def test_B7_an_input_that_cannot_be_read_is_put_aside_and_the_rest_is_heard(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path))
    with store.write() as tx:
        team = make_team(tx, "review", "alice")
        tx.add_input(team.id, ev.IdleReported("alice#1"))
    db = connect(store.path)
    for kind, data in (
        ("IdleReported", '{"key": "ali'),
        ("FromTheFuture", "{}"),
        ("DoneSignalled", '{"task": 1}'),
    ):
        db.execute("insert into inputs (team, kind, data) values (?, ?, ?)", (team.id, kind, data))
    db.close()
    with store.write() as tx:
        tx.add_input(team.id, ev.DoneSignalled("alice#1"))
    with store.write() as tx:
        assert tx.take_inputs(team.id) == [ev.IdleReported("alice#1"), ev.DoneSignalled("alice#1")]
    with store.read() as tx:
        aside = [entry.data["data"] for entry in tx.journal(team.id, kinds=["quarantined"])]
        assert aside == ['{"key": "ali', "{}", '{"task": 1}']
    store.close()


def test_a_token_is_nowhere_in_the_file(tmp_path: Path) -> None:
    from headcount.ports import Identity

    store = SqliteStore(str(tmp_path))
    with store.write() as tx:
        team = make_team(tx, "review", "alice")
        tx.add_token(Identity(team.id, "alice#1", "worker"), "a-very-secret-token")
    store.close()
    files = [path for path in tmp_path.iterdir() if path.is_file()]
    assert files and not any(b"a-very-secret-token" in path.read_bytes() for path in files)


def test_a_thousand_members_cost_a_step_only_the_row_that_changed(tmp_path: Path) -> None:
    from dataclasses import replace

    store = SqliteStore(str(tmp_path))
    with store.write() as tx:
        team = make_team(tx, "review", *(f"m{n}" for n in range(1000)))
    db = connect(store.path)
    with store.write() as tx:
        changed = replace(team.members["m500#1"], epoch=7)
        before = store._connection().total_changes()
        tx.save_team(team, replace(team, members={**team.members, "m500#1": changed}))
        assert store._connection().total_changes() - before == 1
    db.close()
    store.close()


def test_an_error_of_our_own_statements_is_our_bug(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path))
    with pytest.raises(Bug), store.write():
        store._connection().execute("select nothing from nowhere")
    with store.write() as tx:
        make_team(tx)
    store.close()
