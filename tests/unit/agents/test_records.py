"""What a client writes down of a conversation, as it is read: lines as the pinned versions wrote them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headcount.agents.activity import Meter
from headcount.agents.client import NOTHING, Record, Seen, Setup, add_seen, reset_time, understand
from headcount.agents.host.terminal_session import RecordLines
from headcount.agents.registry import CLIENTS

LIMIT = "You've hit your 5-hour limit · resets 6:43am (UTC)"


def read(client: str, **line: Any) -> Seen:
    record = CLIENTS[client].record
    assert record is not None
    return record.read(json.dumps(line))


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "assistant", "message": {"id": "m1", "content": [{"type": "text", "text": text}]}, **more}


def test_a_turn_of_claude_code_begins_with_a_prompt_and_ends_with_its_duration() -> None:
    assert read("claude", type="user", promptSource="typed").turn == "begun"
    assert read("claude", type="user", message={"content": "a tool's result"}).turn == ""
    assert read("claude", type="user", promptSource="typed", isSidechain=True) == NOTHING
    assert read("claude", type="system", subtype="turn_duration").turn == "ended"


def test_an_answer_of_claude_code_costs_its_tokens_under_its_id() -> None:
    message = {"id": "m1", "usage": {"input_tokens": 100, "output_tokens": 10, "service_tier": "standard"}}
    assert read("claude", type="assistant", message=message) == Seen(tokens=110, answer="m1")


def test_a_limit_of_claude_code_has_the_time_of_its_window() -> None:
    line = said(LIMIT, isApiErrorMessage=True, error="rate_limit", quotaLimits={"resetsAt": 1794811412})
    assert read("claude", **line) == Seen(limit=LIMIT, resets_at=1794811412, turn="ended")
    plain = said("API Error: Request rejected (429)", isApiErrorMessage=True, apiErrorStatus=429)
    assert read("claude", **plain).limit and read("claude", **plain).resets_at is None


def test_an_error_that_is_neither_limit_nor_overflow_ends_nothing() -> None:
    assert read("claude", **said("Overloaded", isApiErrorMessage=True, error="overloaded")) == NOTHING
    assert read("claude", **said("Prompt is too long", isApiErrorMessage=True)).overflow


def test_a_turn_of_codex_with_its_cost_and_its_error() -> None:
    def event(**payload: Any) -> Seen:
        return read("codex", type="event_msg", payload=payload)

    assert event(type="task_started").turn == "begun"
    assert event(type="task_complete") == Seen(turn="ended")
    usage = {"response_id": "r1", "usage": {"input_tokens": 100, "output_tokens": 10}}
    assert read("codex", type="token_usage_record", payload=usage) == Seen(tokens=110, answer="r1")
    at_limit = event(type="task_complete", error={"message": "You’ve hit your usage limit. Try again later."})
    assert at_limit.limit and at_limit.turn == "ended"


@pytest.mark.parametrize(
    "line", ["", "{", "[]", '{"type": "event_msg", "payload": 3}', '{"type": "assistant"}']
)
@pytest.mark.parametrize("client", ["claude", "codex"])
def test_a_line_that_is_not_understood_says_nothing(client: str, line: str) -> None:
    record = CLIENTS[client].record
    assert record is not None and record.read(line) == NOTHING


ODD = (None, 1, -1.5, 1e300, "x", [], [1], ["x"], {}, True)
SHAPES: tuple[Callable[[Any], dict[str, Any]], ...] = (
    lambda odd: {"type": "rate_limit_event", "rate_limit_info": odd},
    lambda odd: {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": odd}},
    lambda odd: {"type": "result", "usage": odd, "stats": odd, "is_error": True},
    lambda odd: {"type": "result", "stats": {"total_tokens": odd}},
    lambda odd: {"type": "assistant", "message": {"usage": odd}},
    lambda odd: {"type": "assistant", "message": {"content": [odd]}, "isApiErrorMessage": True},
    lambda odd: {"type": "assistant", "message": {}, "isApiErrorMessage": True, "error": "rate_limit",
                 "quotaLimits": odd},
    lambda odd: {"type": "turn.completed", "usage": {"input_tokens": odd}},
    lambda odd: {"type": "turn.failed", "error": odd},
    lambda odd: {"type": "error", "error": odd},
    lambda odd: {"type": "error", "error": {"data": odd}},
    lambda odd: {"type": "token_usage_record", "payload": {"usage": {"input_tokens": odd}}},
    lambda odd: {"payload": {"type": "task_complete", "error": odd}},
    lambda odd: {"type": "user", "content": [odd]},
    lambda odd: {"type": "step_finish", "part": {"tokens": {"input": odd}}},
)  # fmt: skip


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("shape", range(len(SHAPES)))
def test_a_shape_that_no_client_has_had_so_far_ends_nobody(client: str, shape: int) -> None:
    record = CLIENTS[client].record
    for odd in ODD:
        for reading in filter(None, (CLIENTS[client].read_line, record and record.read)):
            seen = understand(reading, json.dumps(SHAPES[shape](odd)))
            assert isinstance(seen.tokens, int) and seen.tokens >= 0
            assert seen.resets_at is None or 0 <= seen.resets_at < time.time() + 36 * 86400


def test_a_limit_counts_although_its_end_is_not_understood() -> None:
    """In milliseconds, say: nobody waits for the year 58842."""
    line = (
        '{"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": 1794836590147}}'
    )
    assert understand(CLIENTS["claude"].read_line, line) == Seen(limit="usage limit reached")


def test_a_line_nested_deeper_than_anybody_can_read_says_nothing() -> None:
    assert understand(CLIENTS["claude"].read_line, '{"a":' + "[" * 100_000) == NOTHING


def test_lines_of_one_turn_add_up() -> None:
    turn = add_seen(Seen(tokens=1, limit="a"), Seen(tokens=2, turn="ended"))
    assert turn == Seen(tokens=3, limit="a", turn="ended")


@pytest.fixture
def in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("in_utc")
def test_a_time_that_has_just_passed_is_not_tomorrows() -> None:
    def minutes_left(text: str, now: float) -> float:
        found = reset_time(text, now)
        assert found is not None
        return (found - now) / 60

    morning, midnight = 1794811380.0, 1794873600.0  # 06:43 and 00:00
    assert minutes_left("try again at 6:42 AM", morning + 30) == -0.5
    assert minutes_left("try again at 6:38 AM", morning) == -4
    assert minutes_left("try again at 11:59 PM", midnight + 30) == -0.5
    assert minutes_left("try again at 12:05 AM", midnight - 60) == 7


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("try again at 6:46 AM.", "2026-11-16 06:47"),
        ("try again at 6:31 AM.", "2026-11-17 06:32"),  # that time of day has passed
        ("try again at Nov 18th, 2026 6:31 PM.", "2026-11-18 18:32"),
        ("try again at Foo 18th, 2026 6:31 PM.", None),
        ("try again later", None),
    ],
)
@pytest.mark.usefixtures("in_utc")
def test_a_time_of_day_is_the_next_one_rounded_up(text: str, at: str | None) -> None:
    found = reset_time(text, now=1794811402)  # 2026-11-16 06:43
    assert (found and time.strftime("%Y-%m-%d %H:%M", time.gmtime(found))) == at


def test_only_whole_new_lines_are_read_and_an_answer_is_paid_once(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("of an earlier conversation\n")

    def cost(line: str) -> Seen:
        name, _, tokens = line.partition(" ")
        return Seen(tokens=int(tokens), answer=name) if tokens else NOTHING

    record = Record("*.jsonl", cost)
    followed = RecordLines(
        replace(CLIENTS["codex"], record=record), Setup(str(tmp_path), ("headcount",), "s"), Meter()
    )
    assert [*followed.read()] == []
    with path.open("a") as file:
        file.write("r1 5\nr1 5\nr2 7")
    assert [(seen.answer, seen.tokens) for seen in followed.read() if seen.answer] == [("r1", 5), ("r1", 0)]
    with path.open("a") as file:
        file.write("0\n")
    (tmp_path / "b.jsonl").write_text("r3 1\n")
    assert [(seen.answer, seen.tokens) for seen in followed.read() if seen.answer] == [("r2", 70), ("r3", 1)]


@pytest.mark.parametrize("name", ["claude", "codex", "gemini"])
def test_a_record_is_found_whatever_the_directory_is_called(name: str, tmp_path: Path) -> None:
    """As a project of a customer is: `[acme] app`."""
    record = CLIENTS[name].record
    assert record is not None
    setup = Setup(str(tmp_path / "[acme] *?"), ("headcount",), "s")
    followed = RecordLines(CLIENTS[name], setup, Meter())
    path = Path(setup.directory, record.files.replace("**", "2026/11").replace("*", "x"))
    path.parent.mkdir(parents=True)
    path.write_text('{"type": "none"}\n')
    assert [*followed.read()] == [NOTHING]
