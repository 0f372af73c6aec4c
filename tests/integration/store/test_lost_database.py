"""The database is removed while it is open: it is put back as it was, and nothing else is overwritten."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import pytest

from headcount.errors import FencedOut, StoreError
from headcount.store.sqlite import SqliteStore
from tests.support.store_suite import make_team


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "repo" / ".headcount"


@pytest.fixture
def store(home: Path) -> SqliteStore:
    made = SqliteStore(str(home))
    with made.write() as tx:
        make_team(tx, "crew", "ada")
    return made


def names(store: SqliteStore) -> list[str]:
    with store.read() as tx:
        return tx.team_names()


@pytest.mark.parametrize("looked", [False, True], ids=["untouched", "somebody has looked"])
def test_what_was_removed_is_put_back_with_all_that_was_written_until_then(
    store: SqliteStore, home: Path, looked: bool
) -> None:
    shutil.rmtree(home)
    if looked:
        assert names(SqliteStore(str(home))) == []  # whoever looks makes an empty one
    assert store.put_back()
    assert names(store) == names(SqliteStore(str(home))) == ["crew"]
    assert not store.put_back()
    with store.write() as tx:
        make_team(tx, "later")
    assert names(SqliteStore(str(home))) == ["crew", "later"]
    assert (home.stat().st_mode & 0o777, Path(store.path).stat().st_mode & 0o777) == (0o700, 0o600)


def test_until_then_whoever_had_it_open_is_told_and_afterwards_follows(
    store: SqliteStore, home: Path
) -> None:
    other = SqliteStore(str(home))
    shutil.rmtree(home)
    for _ in range(2):  # nothing there, then an empty one
        with pytest.raises(StoreError) as refusal:
            names(other)
        assert refusal.value.code == "state-lost"
        SqliteStore(str(home)).close()
    store.put_back()
    assert names(other) == ["crew"]
    with other.write() as tx:
        make_team(tx, "later")
    assert names(store) == ["crew", "later"]


def test_another_thread_of_the_same_store_follows(store: SqliteStore, home: Path) -> None:
    opened, removed, seen = threading.Event(), threading.Event(), []

    def look() -> None:
        names(store)
        opened.set()
        assert removed.wait(60)
        seen.append(names(store))

    thread = threading.Thread(target=look)
    thread.start()
    assert opened.wait(60)
    shutil.rmtree(home)
    store.put_back()
    removed.set()
    thread.join(60)
    assert seen == [["crew"]]


def test_what_has_begun_in_its_place_is_not_overwritten(store: SqliteStore, home: Path) -> None:
    shutil.rmtree(home)
    new = SqliteStore(str(home))
    with new.write() as tx:
        make_team(tx, "crew")
    with pytest.raises(FencedOut) as refusal:
        store.put_back()
    assert refusal.value.code == "state-replaced"
    with new.read() as tx:
        team = tx.load_team("crew")
    assert team is not None and not team.members
    with pytest.raises(StoreError) as lost:
        names(store)
    assert lost.value.code == "state-lost"


def test_what_was_moved_is_not_removed(store: SqliteStore, home: Path) -> None:
    os.rename(home.parent, home.parent.with_name("elsewhere"))
    assert not store.put_back()
    assert names(store) == ["crew"]
    assert not home.parent.exists()


def test_a_repository_that_was_removed_as_a_whole_is_not_made_anew(store: SqliteStore, home: Path) -> None:
    shutil.rmtree(home.parent)
    with pytest.raises(FencedOut) as gone:
        store.put_back()
    assert gone.value.code == "state-gone"
    assert not home.parent.exists()
