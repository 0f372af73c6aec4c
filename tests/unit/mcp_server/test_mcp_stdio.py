"""The connection itself: whatever comes in, each request gets one answer, and nothing else comes out."""

from __future__ import annotations

import io
import json
import threading
from typing import Any

import pytest

from headcount import __version__
from headcount.mcp_server import mcp_protocol as speech
from headcount.mcp_server import stdio
from headcount.mcp_server.stdio import Server
from headcount.mcp_server.tool_calls import Worker
from headcount.mcp_server.tools import TOOLS


class Sink(io.RawIOBase):
    """A pipe that takes a few bytes at a time, as pipes may."""

    def __init__(self) -> None:
        self.taken = b""

    def write(self, data: Any) -> int:
        self.taken += bytes(data[:700])
        return min(700, len(data))

    @property
    def messages(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.taken.splitlines()]


@pytest.fixture
def sink() -> Sink:
    return Sink()


def hear(sink: Sink, *messages: Any) -> list[dict[str, Any]]:
    server = Server(sink)  # type: ignore[arg-type]
    for message in messages:
        server.hear(message if isinstance(message, bytes | None) else json.dumps(message).encode())
    server.finish()
    return sink.messages


def request(method: str, request_id: Any = 1, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def in_era(version: str) -> dict[str, Any]:
    return {"io.modelcontextprotocol/protocolVersion": version}


# --- what a client opens with ------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_a_version_that_is_spoken_here_is_taken(sink: Sink, version: str) -> None:
    (answer,) = hear(sink, request("initialize", protocolVersion=version))
    assert answer["result"]["protocolVersion"] == version
    assert answer["result"]["serverInfo"] == {
        "name": "headcount",
        "title": "headcount",
        "version": __version__,
    }


@pytest.mark.parametrize("version", ["1999-01-01", None, 7, ["2025-06-18"]])
def test_any_other_version_is_answered_with_the_newest_that_is(sink: Sink, version: Any) -> None:
    (answer,) = hear(sink, request("initialize", protocolVersion=version))
    assert answer["result"]["protocolVersion"] == "2025-11-25"


def test_discover_names_the_per_request_versions(sink: Sink) -> None:
    (answer,) = hear(sink, request("server/discover", _meta=in_era("2026-07-28")))
    assert answer["result"]["supportedVersions"] == ["2026-07-28"]
    assert answer["result"]["resultType"] == "complete"


def test_a_request_of_an_unknown_era_is_told_what_is_spoken(sink: Sink) -> None:
    (answer,) = hear(sink, request("tools/list", _meta=in_era("2031-01-01")))
    assert answer["error"]["code"] == speech.UNSUPPORTED_VERSION
    assert "2026-07-28" in answer["error"]["data"]["supported"]
    assert answer["error"]["data"]["requested"] == "2031-01-01"


def test_the_list_is_the_table(sink: Sink) -> None:
    (answer,) = hear(sink, request("tools/list", "a"))
    assert answer["id"] == "a"
    assert answer["result"]["tools"] == [tool.as_dict() for tool in TOOLS]


def test_a_ping_is_answered(sink: Sink) -> None:
    assert hear(sink, request("ping", 5)) == [{"jsonrpc": "2.0", "id": 5, "result": {}}]


def _call(params: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{' + params + b"}}"


# --- what a stranger sends ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"not json\n", speech.PARSE_ERROR),
        (b'{"jsonrpc": "2.0"', speech.PARSE_ERROR),
        (b"\xff\xfe\n", speech.PARSE_ERROR),
        (b"[" * 100_000 + b"\n", speech.PARSE_ERROR),
        (b"1" * 10_000 + b"\n", speech.PARSE_ERROR),
        (b"[]\n", speech.INVALID_REQUEST),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]\n', speech.INVALID_REQUEST),
        (b"null\n", speech.INVALID_REQUEST),
        (b'"ping"\n', speech.INVALID_REQUEST),
        (None, speech.INVALID_REQUEST),
        (b'{"id":1,"method":"ping"}\n', speech.INVALID_REQUEST),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}\n', speech.INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}\n', speech.INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}\n', speech.INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}\n', speech.INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}\n', speech.INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1e999,"method":"ping"}\n', speech.INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1}\n', speech.INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1,"method":7}\n', speech.INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}\n', speech.INVALID_PARAMS),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}\n', speech.INVALID_PARAMS),
        (b'{"jsonrpc":"2.0","id":1,"method":"resources/list"}\n', speech.METHOD_NOT_FOUND),
        (b'{"jsonrpc":"2.0","id":1,"method":"__class__"}\n', speech.METHOD_NOT_FOUND),
        (_call(b""), speech.INVALID_PARAMS),
        (_call(b'"name":["inbox"]'), speech.INVALID_PARAMS),
        (_call(b'"name":"no_tool"'), speech.INVALID_PARAMS),
        (_call(b'"name":"inbox","arguments":[]'), speech.INVALID_PARAMS),
    ],
)  # fmt: skip
def test_a_message_that_is_wrong_is_answered_with_an_error_and_the_next_one_is_served(
    sink: Sink, line: bytes | None, code: int
) -> None:
    answers = hear(sink, line, request("ping", "after"))
    (refused,) = [answer for answer in answers if answer["id"] != "after"]
    assert refused["error"]["code"] == code
    assert "Traceback" not in json.dumps(refused)
    assert {"jsonrpc": "2.0", "id": "after", "result": {}} in answers


def test_an_id_that_cannot_be_written_in_utf8_comes_back_as_it_was(sink: Sink) -> None:
    (answer,) = hear(sink, b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}\n')
    assert answer["id"] == "\ud800"


def test_notifications_responses_and_empty_lines_are_not_answered(sink: Sink) -> None:
    silent = (
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": [1]},
        {"jsonrpc": "2.0", "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "x"}},
        b"\n",
    )
    assert hear(sink, *silent) == []


def test_a_line_longer_than_any_message_is_skipped_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "LONGEST_LINE", 16)
    source = io.BufferedReader(io.BytesIO(b"short\n" + b"x" * 50 + b"\nafter\nlast"))  # type: ignore[arg-type]
    assert list(stdio._lines(source)) == [b"short\n", None, b"after\n", b"last"]


# --- calls -------------------------------------------------------------------------------------------------


class HeldSession:
    """Performs a call when it is let; knows which were performed."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.entered = threading.Event()
        self.performed: list[str] = []

    def call(self, params: dict[str, Any]) -> dict[str, Any]:
        self.entered.set()
        self.gate.wait(60)
        self.performed.append(params["name"])
        return {"name": params["name"]}

    def close(self) -> None:
        pass


@pytest.fixture
def held() -> tuple[HeldSession, Worker, list[tuple[Any, Any]]]:
    session, said = HeldSession(), []
    worker = Worker(lambda request_id, answer: said.append((request_id, answer)), session)  # type: ignore[arg-type]
    return session, worker, said


def test_calls_are_answered_in_the_order_in_which_they_came(held) -> None:
    session, worker, said = held
    for number in range(5):
        worker.put(number, {"name": str(number)})
    session.gate.set()
    worker.finish()
    assert [request_id for request_id, _ in said] == [0, 1, 2, 3, 4]


def test_a_cancelled_call_that_waits_is_not_performed(held) -> None:
    session, worker, said = held
    worker.put(1, {"name": "first"})
    worker.put(2, {"name": "second"})
    worker.cancel(2)
    session.gate.set()
    worker.finish()
    assert session.performed == ["first"]
    assert [request_id for request_id, _ in said] == [1]


def test_a_cancelled_call_under_way_is_finished_and_not_answered(held) -> None:
    session, worker, said = held
    worker.put(1, {"name": "first"})
    assert session.entered.wait(60)
    worker.cancel(1)
    session.gate.set()
    worker.finish()
    assert session.performed == ["first"]
    assert said == []


def test_two_calls_under_one_id_are_not_taken_for_one(held) -> None:
    session, worker, said = held
    worker.put(1, {"name": "first"})
    with pytest.raises(speech.ProtocolError):
        worker.put(1, {"name": "second"})
    session.gate.set()
    worker.finish()
    assert session.performed == ["first"]
    assert len(said) == 1


@pytest.mark.parametrize("strange", [None, {"a": 1}, [1], 99])
def test_cancelling_what_is_not_there_changes_nothing(held, strange: Any) -> None:
    session, worker, said = held
    worker.put(1, {"name": "first"})
    worker.cancel(strange)
    session.gate.set()
    worker.finish()
    assert [request_id for request_id, _ in said] == [1]
