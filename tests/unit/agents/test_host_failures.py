"""Why a turn failed, in one line; and what the streams of the clients tell of that."""

from __future__ import annotations

import json

import pytest

from headcount.agents.client import Seen, add_seen, understand
from headcount.agents.host.failures import describe, exit_code
from headcount.agents.registry import CLIENTS


@pytest.mark.parametrize(
    ("code", "seen", "last", "cause"),
    [
        (0, Seen(answered=True), "", ""),
        (0, Seen(tokens=5), "a warning", ""),
        (0, Seen(answered=True, error="it recovered"), "", ""),
        (0, Seen(), "", "ended without an answer of the model"),
        (0, Seen(tokens=5, error="[API Error]"), "", "reported an error: [API Error]"),
        (1, Seen(limit="You hit your limit"), "", ""),
        (-9, Seen(answered=True), "", "killed by SIGKILL"),
        (-9, Seen(), "Killed", "killed by SIGKILL: Killed"),
        (137, Seen(), "", "exited with code 137 (SIGKILL)"),
        (1, Seen(error="boom"), "Node.js v20", "exited with code 1: boom"),
        (1, Seen(login="401 Unauthorized"), "", "not logged in: 401 Unauthorized"),
        (1, Seen(), "one\n  two", "exited with code 1: one two"),
    ],
)
def test_a_cause_is_one_line_with_signal_or_code_and_the_best_words(
    code: int, seen: Seen, last: str, cause: str
) -> None:
    assert describe(code, seen, last) == cause


def test_the_host_exits_as_a_shell_would() -> None:
    assert [exit_code(code) for code in (-9, 3, 0)] == [137, 3, 1]


STREAMS = {
    "claude": [
        {"type": "assistant", "error": "authentication_failed", "message": {"content": []}},
        {"type": "result", "is_error": True, "api_error_status": 401, "result": "Please run /login"},
    ],
    "codex": [
        {"type": "error", "message": "Reconnecting... 5/5 (unexpected status 401 Unauthorized)"},
        {"type": "turn.failed", "error": {"message": "unexpected status 401 Unauthorized: Missing bearer"}},
    ],
    "opencode": [
        {"type": "error", "error": {"name": "APIError", "data": {"message": "no", "statusCode": 401}}}
    ],
}


@pytest.mark.parametrize("client", STREAMS)
def test_a_client_that_is_not_logged_in_says_so_in_its_stream(client: str) -> None:
    seen = Seen()
    for event in STREAMS[client]:
        seen = add_seen(seen, understand(CLIENTS[client].read_line, json.dumps(event)))
    assert not seen.answered and describe(1, seen).startswith("not logged in: "), seen


def test_an_error_from_which_codex_recovers_is_no_failure() -> None:
    lines = [
        {"type": "error", "message": "Reconnecting... 1/5"},
        {"type": "item.completed", "item": {"type": "agent_message", "text": "Done."}},
        {"type": "turn.completed", "usage": {"input_tokens": 7, "output_tokens": 1}},
    ]
    seen = Seen()
    for event in lines:
        seen = add_seen(seen, understand(CLIENTS["codex"].read_line, json.dumps(event)))
    assert describe(0, seen) == ""


def test_F120_the_cause_of_a_failed_turn_can_be_stored_whatever_a_client_says() -> None:
    result = {"type": "result", "subtype": "error", "is_error": True, "result": "half \ud800"}
    seen = understand(CLIENTS["claude"].read_line, json.dumps(result))
    assert describe(1, seen) == "exited with code 1: half ?"
