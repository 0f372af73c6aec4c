from __future__ import annotations

import threading

import pytest

from headcount.runtime import census
from headcount.runtime.census import Census, Process


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

    monkeypatch.setattr(census, "read_all", read_all)
    shared = Census()
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

    monkeypatch.setattr(census, "read_all", read_all)
    shared = Census()
    with pytest.raises(OSError, match="too many"):
        shared.fresh()
    assert shared.fresh().by_pid == {}


def test_a_zombie_is_dead_unless_it_has_threads() -> None:
    def zombie(threads: int) -> Process:
        return Process(1, 1, 1, 1, "Z", threads, "", "")

    assert zombie(1).dead
    assert not zombie(2).dead
