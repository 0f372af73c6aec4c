from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import pytest

from headcount.runtime import process_runtime, processes
from headcount.runtime.processes import Process, ProcessTable, wait_until_gone
from headcount.runtime.reaper import OUTPUT, boot_id, start_time
from headcount.runtime.start_record import Identity, Record, SpawnDirectory
from headcount.runtime.tree import Members


def test_who_asks_during_a_pass_gets_one_that_began_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten callers during one pass share the next; none is given the pass that was under way."""
    first_is_running, let_it_end = threading.Event(), threading.Event()
    passes: list[int] = []

    def read_all() -> dict[int, Process]:
        passes.append(len(passes))
        mine = passes[-1]
        if mine == 0:
            first_is_running.set()
            assert let_it_end.wait(60)
        return {mine: Process(mine, 1, 1, 1, "S", 1, "", "")}

    monkeypatch.setattr(processes, "read_all", read_all)
    shared = ProcessTable()
    answers: list[int] = []
    first = threading.Thread(target=shared.fresh)
    first.start()
    assert first_is_running.wait(60)
    others = [threading.Thread(target=lambda: answers.extend(shared.fresh().by_pid)) for _ in range(10)]
    for other in others:
        other.start()
    while len(shared._turn._waiters) < 10:  # type: ignore[attr-defined]
        first.join(0.001)
    let_it_end.set()
    for thread in (first, *others):
        thread.join(60)
    assert answers == [1] * 10


def test_a_failed_pass_is_nobodys_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    results = iter([OSError("too many open files"), {}])

    def read_all() -> dict[int, Process]:
        result = next(results)
        if isinstance(result, OSError):
            raise result
        return {}

    monkeypatch.setattr(processes, "read_all", read_all)
    shared = ProcessTable()
    with pytest.raises(OSError, match="too many"):
        shared.fresh()
    assert shared.fresh().by_pid == {}


def test_a_zombie_is_dead_unless_it_has_threads() -> None:
    def zombie(threads: int) -> Process:
        return Process(1, 1, 1, 1, "Z", threads, "", "")

    assert zombie(1).dead
    assert not zombie(2).dead


def test_a_file_that_a_keeper_closes_while_it_is_looked_at_does_not_hide_the_keeper(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / OUTPUT)
    closed, output = os.open(os.devnull, os.O_RDONLY), os.open(tmp_path / OUTPUT, os.O_RDWR)
    readlink = os.readlink

    def just_closed(path: str) -> str:
        if path.endswith(f"/{closed}"):
            raise FileNotFoundError(errno.ENOENT, "no such file", path)
        return readlink(path)

    monkeypatch.setattr(os, "readlink", just_closed)
    try:
        assert closed < output
        assert str(tmp_path) in processes._directories_kept(os.getpid())
    finally:
        os.close(closed)
        os.close(output)


@pytest.fixture
def one_descriptor_left(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Of processes; the second is one too many."""
    opened: list[int] = []
    pidfd_open = os.pidfd_open

    def open_(pid: int) -> int:
        if opened:
            raise OSError(errno.EMFILE, "too many open files")
        opened.append(pidfd_open(pid))
        return opened[-1]

    monkeypatch.setattr(os, "pidfd_open", open_)
    return opened


def test_when_descriptors_run_out_those_that_were_opened_are_given_back(
    one_descriptor_left: list[int],
) -> None:
    me = Identity(os.getpid(), start_time(os.getpid()))
    with pytest.raises(OSError, match="too many"):
        wait_until_gone([me, me], 0)
    _check_closed(one_descriptor_left)


def test_a_handle_that_cannot_be_had_whole_holds_nothing(
    one_descriptor_left: list[int], tmp_path: Path
) -> None:
    me = Identity(os.getpid(), start_time(os.getpid()))
    record = Record("mark", me, me, boot_id(), 0.0)
    with pytest.raises(OSError, match="too many"):
        process_runtime.Handle(record, SpawnDirectory(str(tmp_path)), ProcessTable(), Members())
    _check_closed(one_descriptor_left)


def _check_closed(descriptors: list[int]) -> None:
    (fd,) = descriptors
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)
