"""Several processes on one state directory: exactly one winner, nothing lost, nothing torn, woken at once."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import apsw
import pytest

from headcount.ports import Task
from headcount.store import doorbell
from headcount.store.sqlite import SqliteStore
from tests.support.store_suite import make_team

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import World

PROCESSES = 8


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(str(tmp_path / ".headcount"))
    yield store
    store.close()


def python(code: str, *argv: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *argv],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_at_once(code: str, path: str) -> list[list[str]]:
    """Start all, wait until each is ready, let them go together; what each printed. None may fail."""
    processes = [python(_READY + code, path, str(n)) for n in range(PROCESSES)]
    for process in processes:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    lines = []
    for process in processes:
        out, err = process.communicate(timeout=100)
        assert process.returncode == 0, err
        lines.append(out.split())
    return lines


_READY = """
import sys
from headcount.errors import Declined
from headcount.app.tasks import claim_task
from headcount.ports import Mail
from headcount.store.sqlite import SqliteStore
path, me = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
"""

_CLAIM = """
store = SqliteStore(path)
while True:
    with store.write() as tx:
        task = claim_task(tx, tx.team_card("review#1"), f"m{me}#1")
    if task is None:
        break
    print(task.id)
"""


def test_B5_eight_processes_claim_a_thousand_tasks_each_exactly_once(store: SqliteStore) -> None:
    with store.write() as tx:
        team = make_team(tx, "review", *(f"m{n}" for n in range(PROCESSES)))
        for n in range(1000):
            tx.add_task(Task("", team.id, f"task {n}"))
    claimed = run_at_once(_CLAIM, store.path)
    ids = [task_id for lines in claimed for task_id in lines]
    assert len(ids) == 1000 and len(set(ids)) == 1000
    with store.read() as tx:
        owners = {task.id: task.owner for task in tx.tasks(team.id)}
    assert all(owners[task_id] == f"m{n}#1" for n, lines in enumerate(claimed) for task_id in lines)


_SEND = """
store = SqliteStore(path)
for n in range(1250):
    with store.write() as tx:
        tx.post(Mail("", "review#1", f"m{me}#1", "lead", f"{n}", "body " * 20))
    store.ring(["review#1/lead"])
"""


def test_eight_processes_send_ten_thousand_messages_all_there_in_order_from_each(store: SqliteStore) -> None:
    with store.write() as tx:
        team = make_team(tx, "review", *(f"m{n}" for n in range(PROCESSES)))
    run_at_once(_SEND, store.path)
    with store.read() as tx:
        mail = tx.inbox(team.id, ["lead"])
    assert len(mail) == 10_000 and len({m.id for m in mail}) == 10_000
    for n in range(PROCESSES):
        assert [m.subject for m in mail if m.sender == f"m{n}#1"] == [str(k) for k in range(1250)]


_CREATE = """
try:
    store = SqliteStore(path)
    with store.write() as tx:
        print(tx.create_team("review", "", {}).id)
except Declined as refusal:
    print(refusal.code)
"""


def test_B8_of_eight_who_create_state_and_team_at_once_one_wins(tmp_path: Path) -> None:
    for attempt in range(3):
        lines = run_at_once(_CREATE, str(tmp_path / f"h{attempt}" / ".headcount"))
        assert sorted(word for words in lines for word in words) == ["review#1"] + ["team-exists"] * 7


_WRITE_FOR_EVER = """
import itertools
store = SqliteStore(path)
start = int(me)
for n in itertools.count(start):
    with store.write() as tx:
        a = tx.post(Mail("", "review#1", "alice#1", "lead", str(n), "x" * 5000))
        tx.put_fact("review#1", "", "n", {"n": n})
        tx.post(Mail("", "review#1", "alice#1", "witness", str(n), "x" * 5000))
    print(n, flush=True)
"""


def test_a_writer_killed_at_any_time_leaves_whole_transactions_and_all_that_it_had_told(
    store: SqliteStore,
) -> None:
    with store.write() as tx:
        team = make_team(tx, "review", "alice")
    told, chance = -1, random.Random(7)
    for _ in range(12):
        writer = python(_READY + _WRITE_FOR_EVER, store.path, str(told + 1))
        assert writer.stdin is not None and writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        writer.stdin.write("go\n")
        writer.stdin.flush()
        writer.stdout.readline()
        time.sleep(chance.random() * 0.05)
        writer.send_signal(signal.SIGKILL)
        lines = writer.communicate(timeout=30)[0].split()
        told = max(told + 1, *(int(line) for line in lines)) if lines else told + 1
        with store.read() as tx:
            lead = [int(m.subject) for m in tx.inbox(team.id, ["lead"])]
            witness = [int(m.subject) for m in tx.inbox(team.id, ["witness"])]
            fact = tx.fact(team.id, "", "n")
        assert lead == witness == list(range(len(lead)))
        assert fact == {"n": lead[-1]} and lead[-1] >= told
        told = lead[-1]
    db = apsw.Connection(store.path)
    assert db.pragma("integrity_check") == "ok"
    db.close()


_WAIT_FOR_THE_BELL = """
import sys
from headcount.cli import main
from headcount.app import mail
mail._LOOK_AGAIN_S = 600.0
sys.exit(main(["inbox", "--wait", "600", "--unread"]))
"""


def test_waiting_for_mail_wakes_at_once_in_another_process(world: World) -> None:
    """By its bell: before it looks for itself, the test is over."""
    waiting = subprocess.Popen(
        [sys.executable, "-c", _WAIT_FOR_THE_BELL], env=world.env("alice"), stdout=subprocess.PIPE, text=True
    )
    try:
        _until(lambda: _listeners(world))
        world.run("boss", "send", "alice", "-s", "hello", "-m", "there")
        out, _ = waiting.communicate(timeout=60)
    finally:
        waiting.kill()
    assert "hello" in out


def _listeners(world: World) -> list[str]:
    return [name for _, _, names in os.walk(world.home / "run") for name in names]


def _until(condition: object, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.005)


def test_mail_that_is_there_already_is_not_waited_for(world: World) -> None:
    world.run("boss", "send", "alice", "-s", "hello", "-m", "there")
    before = time.monotonic()
    assert "hello" in world.run("alice", "inbox", "--wait", "600").stdout
    assert time.monotonic() - before < 60
    assert _listeners(world) == []


def test_a_wait_that_nothing_ends_is_over_in_its_time(world: World) -> None:
    done = world.run("alice", "inbox", "--wait", "0.2", "--unread")
    assert (done.returncode, done.stdout) == (0, "0 unread messages.\n")


def test_a_killed_waiter_leaves_nothing_that_a_ring_does_not_clean_up(world: World) -> None:
    waiting = world.start("alice", "inbox", "--wait", "600")
    _until(lambda: _listeners(world))
    waiting.kill()
    waiting.communicate()
    assert len(_listeners(world)) == 1
    world.store.ring([f"{world.team.id}/alice#1"])
    assert _listeners(world) == []


@pytest.mark.parametrize("depth", [1, 12])
def test_a_bell_rings_however_long_the_path_is(tmp_path: Path, depth: int) -> None:
    deep = str(tmp_path / "/".join(["directory-with-a-long-name"] * depth))
    bell = doorbell.Bell(deep, "a channel/with # anything")
    try:
        assert not bell.wait(0)
        doorbell.ring(deep, ["a channel/with # anything"])
        assert bell.wait(60)
    finally:
        bell.close()
    assert [name for _, _, names in os.walk(deep) for name in names] == []


def test_who_has_no_place_for_a_bell_on_a_full_disk_looks_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(doorbell._Near, "path", full)
    bell = doorbell.Bell(str(tmp_path), "channel")

    assert bell.wait(60), "something may have happened"
    assert not bell.wait(0.01), "the time is over"
    bell.close()


def test_ten_thousand_rings_that_nobody_hears_neither_block_nor_fail(tmp_path: Path) -> None:
    bell = doorbell.Bell(str(tmp_path), "c")
    for _ in range(10_000):
        doorbell.ring(str(tmp_path), ["c"])
    assert bell.wait(0) and not bell.wait(0)
    bell.close()
