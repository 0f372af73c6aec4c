"""What only the store on PostgreSQL has: its tables, its locks, its texts, and a server that goes away."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from headcount.errors import Bug, FencedOut, OutcomeUnknown, StoreError
from headcount.ports import Identity, Task
from headcount.protocol import events as ev
from headcount.store import postgres_connection, postgres_migrate
from headcount.store.postgres import PostgresStore
from headcount.store.rows import Rows
from headcount.store.statements import statements
from tests.support.postgres import Cluster, empty
from tests.support.store_suite import mail, make_team

KINDS = ("TEAMS", "MAIL", "TASKS", "JOURNAL", "IDENTITY", "ASKS")


@pytest.fixture
def store(postgres: Cluster) -> Iterator[PostgresStore]:
    store = PostgresStore(postgres.url())
    empty(store.url)
    yield store
    store.close()


@pytest.fixture
def database(postgres: Cluster) -> Iterator[str]:
    """The URL of an empty database."""
    name = f"d{time.monotonic_ns()}"
    postgres.execute(f"create database {name}")
    yield postgres.url(name)
    postgres.execute(f"drop database {name} with (force)")


# --- tables ----------------------------------------------------------------------------------------------


def test_every_statement_fits_the_tables_and_none_is_missing(store: PostgresStore) -> None:
    source = Path(Rows.__module__.replace(".", "/"))
    text = (Path(__file__).parents[3] / "src" / source).with_suffix(".py").read_text()
    for kind in KINDS:
        found = statements(f"postgres/{kind.lower()}")
        used = set(re.findall(rf'\bself\.{kind}\["(\w+)"', text))
        assert used <= set(found), used - set(found)
        with psycopg.connect(store.url, autocommit=True) as db:
            db.execute("set search_path = headcount")
            for name, sql in found.items():
                db.execute(f"prepare {kind}_{name} as {sql}".encode())


def test_an_empty_database_gets_its_tables_once(database: str) -> None:
    with pytest.raises(StoreError) as refusal:
        PostgresStore(database, make=False)
    assert refusal.value.code == "no-state"
    errors: list[BaseException] = []

    def make() -> None:
        try:
            PostgresStore(database).close()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    PostgresStore(database, make=False).close()


def test_a_schema_of_another_program_is_left_alone(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as db:
        db.execute("create schema headcount; create table headcount.staff (name text)")
    with pytest.raises(StoreError) as refusal:
        PostgresStore(database)
    assert refusal.value.code == "store-corrupt"


def test_older_tables_are_upgraded_and_newer_ones_by_one_are_used(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    PostgresStore(database).close()
    next_version = postgres_migrate.VERSION + 1
    scripts = {"next.sql": "create table later (n integer)", "broken.sql": "create table half (n integer); x"}
    read = postgres_migrate.read_sql
    monkeypatch.setattr(postgres_migrate, "read_sql", lambda name: scripts.get(Path(name).name) or read(name))

    def open_as(version: int, *more: str) -> None:
        monkeypatch.setattr(postgres_migrate, "VERSION", version)
        monkeypatch.setattr(postgres_migrate, "MIGRATIONS", (*postgres_migrate.MIGRATIONS[:1], *more))
        PostgresStore(database).close()

    with pytest.raises(Bug):
        open_as(next_version, "broken.sql")
    with psycopg.connect(database) as db:
        assert db.execute("select to_regclass('headcount.half')").fetchone() == (None,)
    open_as(next_version, "next.sql")
    with psycopg.connect(database) as db:
        assert db.execute("select value from headcount.meta where name = 'version'").fetchone() == (
            str(next_version),
        )
        assert db.execute("select count(*) from headcount.later").fetchone() == (0,)
    open_as(next_version - 1)  # the version before works on it
    with psycopg.connect(database, autocommit=True) as db:
        db.execute("update headcount.meta set value = '9' where name = 'version'")
    with pytest.raises(StoreError) as refusal:
        open_as(next_version - 1)
    assert refusal.value.code == "newer-state"


def test_the_journal_and_unread_mail_cannot_be_deleted(store: PostgresStore) -> None:
    with store.write() as tx:
        team = make_team(tx, "review", "alice")
        tx.post(mail(team, "alice#1"))
    for sql in (
        "delete from journal",
        "update journal set kind = ''",
        "truncate journal",
        "delete from mail",
    ):
        with pytest.raises(psycopg.Error), psycopg.connect(store.url) as db:
            db.execute(f"set search_path = headcount; {sql}".encode())


# --- texts -----------------------------------------------------------------------------------------------


def test_C6_NUL_survives_in_every_text(store: PostgresStore) -> None:
    odd = "a\0b\U0010ffff\U0010ffff0\0"
    with store.write() as tx:
        team = make_team(tx, "review", "alice")
        tx.add_task(Task("t", team.id, odd, odd, odd, reason=odd))
        tx.put_fact(team.id, odd, "f", {"x": odd})
        tx.post(mail(team, "alice#1", odd, odd))
        tx.add_input(team.id, ev.Answered("alice#1", "r1", False, odd))
        member = replace(team.members["alice#1"], issues=(odd,))
        tx.save_team(team, replace(team, members={"alice#1": member}))
    with store.read() as tx:
        [task] = tx.tasks(team.id)
        assert (task.subject, task.description, task.active_form, task.reason) == (odd,) * 4
        assert tx.facts(team.id, "f") == {odd: {"x": odd}}
        assert tx.unheard_answer(team.id, "alice#1", "r1") == "rejected"
        assert [card.activity for card in tx.member_cards(team.id)] == ["working"]
        assert tx.inbox(team.id, ["alice#1"])[0].body.count("\0") == odd.count("\0")


# --- locks -----------------------------------------------------------------------------------------------


def _overlaps(first: Any, second: Any) -> bool:
    """Whether `second` begins while `first` is open."""
    began = threading.Event()

    def begin() -> None:
        with second():
            began.set()

    thread = threading.Thread(target=begin)
    with first():
        thread.start()
        early = began.wait(0.3)
    thread.join(10)
    assert began.is_set()
    return early


def test_transactions_wait_for_those_of_their_team_and_reports_for_no_reports(store: PostgresStore) -> None:
    def of(team: str) -> Any:
        return lambda: store.write(team=team)

    def word() -> Any:
        return store.append(team="a")

    assert _overlaps(of("a"), of("b")) and _overlaps(word, word) and _overlaps(of("b"), word)
    assert _overlaps(of("a"), store.read) and _overlaps(store.read, of(""))
    for first, second in ((of("a"), of("a#2")), (of(""), of("a")), (of("a"), of("")), (of("a"), word)):
        assert not _overlaps(first, second)


def test_a_takeover_waits_for_a_commit_that_has_proved_its_lease(store: PostgresStore) -> None:
    fence = store.take_lease("team/review", "one", -1)
    taken: list[Any] = []
    thread = threading.Thread(target=lambda: taken.append(store.take_lease("team/review", "two", 60)))
    with store.write(fence, team="review") as tx:
        thread.start()
        thread.join(0.3)
        assert thread.is_alive()
        make_team(tx, "review")
    thread.join(10)
    assert taken[0] is not None
    with pytest.raises(FencedOut), store.write(fence, team="review"):
        pass


# --- a server that goes away -----------------------------------------------------------------------------


def _lose(monkeypatch: pytest.MonkeyPatch, store: PostgresStore, *, after: bool) -> None:
    """The next commit loses its connection: before the server has it, or after."""
    db = store._connection().db
    real = db.execute

    def execute(query: Any, *more: Any, **options: Any) -> Any:
        if query != "commit":
            return real(query, *more, **options)
        if after:
            real(query)
        db.close()
        raise psycopg.OperationalError("the connection was lost")

    monkeypatch.setattr(db, "execute", execute)


def test_a_commit_whose_answer_was_lost_is_found_to_be_done(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    _lose(monkeypatch, store, after=True)
    with store.write() as tx:
        make_team(tx)
    with store.read() as tx:
        assert tx.team_names() == ["review"]


def test_a_commit_that_did_not_arrive_fails_for_certain(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    _lose(monkeypatch, store, after=False)
    with pytest.raises(StoreError) as failure, store.write() as tx:
        make_team(tx)
    assert failure.value.code == "database-away"
    with store.write() as tx:
        assert tx.team_names() == []
        make_team(tx)


def test_H12_a_killed_server_is_waited_for_and_nothing_is_claimed_before_it_is_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster, seen = Cluster(), threading.Event()
    store = PostgresStore(cluster.url())
    try:
        fence = store.take_lease("team/review", "one", 60)
        assert fence is not None
        store.listen("box")
        monkeypatch.setattr(postgres_connection, "LOOK_UP_S", 0.2)
        with pytest.raises(OutcomeUnknown), store.write(fence) as tx:
            make_team(tx)
            cluster.kill()
        for broken in (lambda: store.write(fence).__enter__(), lambda: store.renew_lease(fence, 60)):
            with pytest.raises(StoreError) as failure:
                broken()
            assert failure.value.code == "database-away"
        store.ring(["box"])  # never fails
        assert store.wait("box", 0.05)  # without a connection, a waiter has to look
        cluster.start()
        assert store.wait("box", 10)  # a ring may have been lost
        store.ring(["box"])
        assert store.wait("box", 10)
        assert store.renew_lease(fence, 60)
        with store.write(fence) as tx:
            assert tx.team_names() == []
            tx.add_token(Identity("review#1", "a#1", "worker"), "t")
        monkeypatch.setattr(postgres_connection, "LOOK_UP_S", 30.0)

        def start() -> None:
            cluster.start()
            seen.wait()  # a server ends with the thread that started it

        back = threading.Thread(target=start)
        with pytest.raises(StoreError) as lost, store.write(fence) as tx:
            make_team(tx)
            cluster.kill()
            back.start()
        assert not isinstance(lost.value, OutcomeUnknown)  # the server, back again, has told
    finally:
        store.close()
        cluster.close()
        seen.set()


# --- the driver ------------------------------------------------------------------------------------------


def _run(code: str, **env: str) -> str:
    words = [sys.executable, "-c", code]
    return subprocess.run(words, env={**os.environ, **env}, capture_output=True, text=True, check=True).stdout


def test_the_driver_is_imported_only_for_a_database_and_its_lack_is_explained(tmp_path: Path) -> None:
    opened = f"import os, sys; os.chdir({str(tmp_path)!r}); from headcount.app.app import open_app; "
    assert _run(f"{opened}open_app(); print('psycopg' in sys.modules)") == "False\n"
    without = (
        f"{opened}sys.modules['psycopg'] = None\ntry: open_app()\nexcept Exception as e: print(e.render())"
    )
    said = _run(without, HEADCOUNT_DATABASE="postgresql://h/d")
    assert "[no-driver]" in said and "pip install 'headcount[fleet]'" in said


def test_no_password_is_shown(postgres: Cluster) -> None:
    for url in (
        "postgresql://u:s3cret@127.0.0.1:1/d",
        "postgresql://u:s3cret@127.0.0.1:x/d",
        f"postgresql://nobody-here:s3cret@/postgres?host={postgres.directory}",
        f"postgresql:///nowhere?user=headcount&password=s3cret&host={postgres.directory}",
    ):
        with pytest.raises(StoreError) as failure:
            PostgresStore(url)
        assert "s3cret" not in failure.value.render() + repr(failure.value.__cause__)
