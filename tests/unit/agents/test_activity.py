"""What a client is doing, was refused and did, from lines that the pinned versions printed (`streams/`)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headcount.agents.activity import WAITING, Doing, Meter, Transcript, tool_step
from headcount.agents.client import Seen, Step, understand
from headcount.agents.registry import CLIENTS

STREAMS = Path(__file__).parent / "streams"
EVERY = pytest.mark.parametrize("name", CLIENTS)
DENIED, OTHER = "python3 test_app.py -v", "git log --oneline && false"


def lines(name: str) -> list[str]:
    return (STREAMS / f"{name}.jsonl").read_text().splitlines(keepends=True)


def follow(name: str) -> list[Seen]:
    doing, meter = Doing(), Meter()
    return [doing.follow(meter.count(understand(CLIENTS[name].read_line, line))) for line in lines(name)]


@EVERY
def test_a_stream_becomes_activity(name: str) -> None:
    shown = [seen.activity for seen in follow(name) if seen.activity]
    assert WAITING in shown and f"running {DENIED}: refused" in shown
    assert shown[-1] == "said: All is done."
    if name != "opencode":  # its stream has a tool only when that is over; the record has it before
        assert {"running git status", f"running {DENIED}", "using inbox"} <= set(shown)
    if name in ("claude", "gemini"):
        assert "editing x.txt" in shown


@EVERY
def test_F112_a_command_that_a_client_denies_without_asking_is_a_refusal(name: str) -> None:
    refused = [seen.refused for seen in follow(name) if seen.refused]
    assert refused == ([DENIED] if name == "claude" else [DENIED, OTHER])


@EVERY
def test_a_turn_costs_the_sum_of_its_answers_and_no_answer_twice(name: str) -> None:
    """Claude Code repeats an answer for each of its blocks; Gemini CLI has one more for its router."""
    counted = [seen.tokens for seen in follow(name)]
    assert sum(counted) == {"gemini": 770}.get(name, 660)
    if name in ("claude", "opencode"):
        assert [tokens for tokens in counted if tokens] == [110] * 6


def test_the_cost_of_a_turn_of_claude_code_is_counted_once() -> None:
    assert sum(seen.cost_usd for seen in follow("claude")) == pytest.approx(0.0036)


def test_a_sum_of_the_conversation_is_not_counted_again_with_each_turn() -> None:
    """As Claude Code reports dollars, and Codex tokens, when it continues a conversation."""
    meter, counted = Meter(), []
    for tokens, cost in ((220, 0.5), (440, 0.75), (550, 0.25)):
        meter.begin_turn()
        counted.append(meter.count(Seen(tokens, cost_usd=cost, sum="conversation")))
    assert [(seen.tokens, seen.cost_usd) for seen in counted] == [(220, 0.5), (220, 0.25), (110, 0.25)]
    meter.begin_turn()
    meter.count(Seen(110, answer="a"))
    assert meter.count(Seen(220, sum="turn")).tokens == 110


@EVERY
def test_a_stream_becomes_a_transcript(name: str) -> None:
    transcript = Transcript(CLIENTS[name].read_line)
    text = "".join(part for line in lines(name) for part in transcript.render(line))
    assert f"> running {DENIED}\n    refused\n" in text
    assert "> running git status\n    On branch headcount/crew/ann\n" in text
    assert text.count("> running git status") == 1
    assert "\nAll is done.\n" in text and '{"type"' not in text
    assert ("Ripgrep is not available" in text) == (name == "gemini")


def test_a_text_in_parts_is_one_text() -> None:
    transcript = Transcript(CLIENTS["gemini"].read_line)
    parts = [
        {"type": "message", "role": "assistant", "content": text, "delta": True} for text in ("I lo", "ok.")
    ]
    printed = [part for one in parts for part in transcript.render(json.dumps(one))]
    assert "".join([*printed, *transcript.close()]) == "I look.\n"


@pytest.mark.parametrize(
    ("output", "failed", "shown"),
    [
        ("=== 2 failed, 3 passed in 0.12s ===", True, "running pytest: 2 failed, 3 passed"),
        ("FAILED (failures=2)", True, "running pytest: FAILED (failures=2)"),
        ("Segmentation fault", True, "running pytest: failed"),
        ("On branch main", False, WAITING),
    ],
)
def test_the_end_of_a_command_is_summed_up(output: str, failed: bool, shown: str) -> None:
    doing = Doing()
    doing.follow(Seen(steps=(tool_step("t1", "Bash", {"command": "pytest"}),)))
    assert doing.follow(Seen(steps=(Step("result", output, "t1", failed=failed),))).activity == shown


@pytest.mark.parametrize(
    ("tool", "given", "shown"),
    [
        ("Edit", {"file_path": "{cwd}/src/x.py"}, "editing src/x.py"),
        ("Read", {"file_path": "/etc/hosts"}, "reading /etc/hosts"),
        ("exec_command", {"cmd": "make test"}, "running make test"),
        ("shell", {"command": ["/bin/bash", "-lc", "make test"]}, "running make test"),
        ("shell", {"command": "/bin/bash -c 'make \"a b\"'"}, 'running make "a b"'),
        ("shell", {"command": "echo 'open"}, "running echo 'open"),
        ("apply_patch", {"input": "*** Begin Patch\n*** Update File: a.py\n@@\n"}, "editing a.py"),
        ("mcp__headcount__send_message", {}, "using send_message"),
        ("Bash", None, "running"),
        ("Bash", {"command": 7}, "running 7"),
    ],
)
def test_a_tool_is_shown_in_words(tool: str, given: object, shown: str) -> None:
    here = str(Path.cwd())
    if isinstance(given, dict) and "file_path" in given:
        given = {"file_path": given["file_path"].replace("{cwd}", here)}
    assert tool_step("t1", tool, given).text == shown


def test_a_client_that_never_ends_its_tools_costs_no_memory() -> None:
    doing = Doing()
    for number in range(5000):
        doing.follow(Seen(steps=(tool_step(number, "Bash", {"command": "true"}),)))
    assert len(doing._tools) < 1000
