"""A client in a terminal, followed: nothing heard is lost, typed once for each limit, at little cost."""

from __future__ import annotations

import os
import resource
import subprocess
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headcount.agents.activity import Meter
from headcount.agents.client import Record, Seen, Setup
from headcount.agents.host import terminal_session
from headcount.agents.registry import CLIENTS
from headcount.app import hosting
from headcount.app.hosting import MemberTerminal
from headcount.errors import StoreError
from headcount.runtime import tmux

BEGUN, DONE = Seen(turn="begun"), Seen(tokens=5, turn="ended")
LIMIT = Seen(limit="usage limit", resets_at=50.0, turn="ended")


class Desk:
    """A follower of a client that has no hooks, and what it does unless the store is down."""

    def __init__(self) -> None:
        self.done: list[Any] = []
        self.down: Exception | None = None
        self.typed: set[str] = set()
        reports: Any = SimpleNamespace(
            limit_end=lambda at, count: at,
            report_dialog=lambda *_: self._do("told"),
            end_dialog=lambda: self._do("over"),
        )
        for name in ("begin_work", "record_turn", "park", "lift_limit", "end_work", "warn"):
            setattr(reports, name, lambda *_, name=name: self._do(name))
        opening: Any = SimpleNamespace(answered=lambda: self._do("answered"))
        never: Any = None
        self.follower = terminal_session.Follower(reports, CLIENTS["codex"], opening, never, self)  # type: ignore[arg-type]

    def _do(self, what: str) -> None:
        if self.down:
            raise self.down
        self.done.append(what)

    def type(self, text: str, tag: str) -> bool:
        """As the runtime does: what was taken is not typed again."""
        if tag not in self.typed:
            self.typed.add(tag)
            self.done.append("typed")
        return True

    def printed(self) -> int:
        return 0

    def read(self) -> str:
        return "› "

    def hear(self, *seen: Seen) -> list[Any]:
        """What was done then, with one look."""
        self.done = []
        lines: Any = SimpleNamespace(read=lambda: seen)
        assert self.follower._listen(lines)
        self.follower._look()
        return self.done


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_a_second_limit_with_the_same_end_is_typed_away_too(desk: Desk) -> None:
    assert desk.hear(BEGUN, LIMIT) == ["begin_work", "record_turn", "park", "typed"]
    assert desk.hear() == []
    assert desk.hear(BEGUN, LIMIT) == ["begin_work", "record_turn", "park", "typed"]
    desk.hear(BEGUN, DONE)
    assert desk.hear(BEGUN, LIMIT)[-1] == "typed"


def test_a_login_that_ran_out_is_told_once_and_over_when_the_model_has_answered(desk: Desk) -> None:
    ran_out = Seen(login="401 Unauthorized", turn="ended")
    assert desk.hear(BEGUN, ran_out) == ["begin_work", "record_turn", "told"]
    assert desk.hear(BEGUN, ran_out) == ["begin_work", "record_turn"]
    assert desk.hear(BEGUN) == ["begin_work"]
    assert desk.hear(DONE) == ["record_turn", "answered", "lift_limit", "over", "end_work"]


@pytest.mark.parametrize("trouble", [StoreError("The state is busy"), OSError(28, "No space left on device")])
def test_what_the_store_could_not_take_is_told_later_in_order_and_nothing_twice(
    desk: Desk, trouble: Exception
) -> None:
    desk.down = trouble
    assert desk.hear(BEGUN, DONE) == []
    assert desk.hear(BEGUN, LIMIT) == []
    desk.down = None
    good = ["begin_work", "record_turn", "answered", "lift_limit", "end_work"]
    # That it was down is said once, after what was heard by then.
    assert desk.hear() == [*good, "warn", "begin_work", "record_turn", "park", "typed"]
    assert desk.hear() == []


def test_a_terminal_is_taken_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    taken_up = []

    class Runtime:
        def __init__(self, home: str) -> None:
            self.nudge = lambda *_, tag: False

        def adopt(self, mark: str, known: dict[str, str]) -> object:
            taken_up.append((mark, known["hold"]))
            return object() if len(taken_up) > 1 else None

    monkeypatch.setattr(tmux, "TmuxRuntime", Runtime)
    terminal = MemberTerminal("/home", "mark", "a dialog")
    assert not any(terminal.type("Go on.", "limit-1") for _ in range(10))
    assert taken_up == [("mark", "a dialog")] * 2  # once more than once: the first time it was not there


def test_a_record_that_vanishes_while_it_is_read_says_nothing_and_the_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = Record("*.jsonl", lambda line: Seen(answer=line))
    there = tmp_path / "b.jsonl"
    there.write_text("old\n")
    monkeypatch.setattr(terminal_session.glob, "glob", lambda *_, **__: ["a.jsonl", "b.jsonl"])
    lines = terminal_session.RecordLines(
        replace(CLIENTS["codex"], record=record), Setup(str(tmp_path), (), "s"), Meter()
    )
    there.write_text("old\nnew\n")
    assert [seen.answer for seen in lines.read()] == ["new"]


def test_an_idle_client_is_waited_for_asleep_and_its_end_is_noticed_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    child = subprocess.Popen(["sleep", "600"])
    end = os.pidfd_open(child.pid)
    try:
        before = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
        assert not terminal_session._has_ended(child, end)
        assert resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw - before <= 3
        monkeypatch.setattr(terminal_session, "_LOOK_S", 60.0)
        began = time.monotonic()
        child.terminate()
        assert terminal_session._has_ended(child, end)
        assert time.monotonic() - began < 50
    finally:
        child.kill()
        child.wait()
        os.close(end)


def limit_end(monkeypatch: pytest.MonkeyPatch, resets_at: float | None, count: int) -> float:
    """From now on."""
    tx = SimpleNamespace(team_settings=lambda _: {"policy": {"limit_wait_s": 60}})
    monkeypatch.setattr(hosting.time, "time", lambda: 1000.0)
    store = SimpleNamespace(read=lambda: nullcontext(tx))
    session: Any = SimpleNamespace(store=store, caller=SimpleNamespace(team="t#1"))
    at = None if resets_at is None else 1000.0 + resets_at
    return hosting.MemberReports(session).limit_end(at, count) - 1000.0


@pytest.mark.parametrize(
    ("resets_at", "count", "after"),
    [
        (None, 1, 60),
        (None, 3, 240),
        (None, 5000, 1800),
        (300, 1, 300),
        (-5, 1, -5),  # believed, and tried at once
        (-5, 2, 120),  # but not again
        (7200, 2, 7200),
    ],
)
def test_what_a_client_says_of_the_end_is_believed_once_and_then_waited_for_longer(
    resets_at: float | None, count: int, after: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert limit_end(monkeypatch, resets_at, count) == after
