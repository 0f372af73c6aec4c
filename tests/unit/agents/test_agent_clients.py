"""The clients as data: what is started, and what their output is read as."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headcount.agents.client import NOTHING, Seen, Setup, reset_time
from headcount.agents.host.prompts import brief
from headcount.agents.launch import Order, plan_launch
from headcount.agents.project_files import PROJECT_FILES
from headcount.agents.registry import CLIENTS, version_numbers

SETUP = Setup("/state/ann-1", ("/py", "-P", "-m", "headcount"), "11111111-2222-4333-8444-555555555555",
              instructions="You are ann.", repository="/repo")  # fmt: skip
FULL = Setup("/state/ann-1", ("/py",), "s", model="big", permissions="full", instructions="You are ann.")
ORDER = Order("/home/.headcount", "crew", "ann", "Do it.", "/p.md", model="big", permissions="full")
EVERY = pytest.mark.parametrize("name", CLIENTS)


PROMPT = 'a "quoted" $(word)\nand -a line'


@EVERY
def test_in_a_terminal_the_prompt_is_one_argument_and_nothing_is_left_to_a_shell(name: str) -> None:
    argv = CLIENTS[name].terminal(SETUP, PROMPT)
    assert argv[0] == name
    assert sum(PROMPT in word for word in argv) == 1


@EVERY
def test_no_prompt_mail_or_instruction_stands_on_the_command_line_of_a_turn(
    name: str, tmp_path: Path
) -> None:
    """Other users of the machine can read every command line."""
    setup = replace(SETUP, directory=str(tmp_path))
    CLIENTS[name].prepare(setup, {"HOME": str(tmp_path / "home")})
    for make in (CLIENTS[name].first_turn, CLIENTS[name].next_turn):
        turn = make(setup, PROMPT)
        assert turn.argv[0] == name
        assert turn.stdin.endswith(PROMPT)
        assert not any(PROMPT in word or setup.instructions in word for word in turn.argv)
    assert not any(setup.instructions in word for word in CLIENTS[name].terminal(setup, "Begin."))


@EVERY
def test_edit_allows_subcommands_and_never_git_itself(name: str, tmp_path: Path) -> None:
    """`git -c alias.x='!cmd' x` and `headcount build d.py` run whatever they are told to."""
    setup = replace(SETUP, directory=str(tmp_path))
    env = CLIENTS[name].prepare(setup, {"HOME": str(tmp_path / "home")})
    allowed = {
        "claude": lambda: re.findall(r"Bash\(([^)]*):\*\)", " ".join(CLIENTS[name].terminal(setup, "x"))),
        "codex": lambda: [
            " ".join(json.loads(found))
            for found in re.findall(
                r"pattern = (\[.*?\])", (tmp_path / "config/rules/headcount.rules").read_text()
            )
        ],
        "gemini": lambda: tomllib.loads((tmp_path / "policy.toml").read_text())["rule"][2]["commandPrefix"],
        "opencode": lambda: [
            words.removesuffix(" *")
            for words, decision in json.loads(env["OPENCODE_CONFIG_CONTENT"])["permission"]["bash"].items()
            if decision == "allow"
        ],
    }[name]()
    assert {"git commit", "git status", "headcount done"} <= set(allowed)
    for words in allowed:
        assert len(words.split()) >= 2, words
        assert words.split()[1] not in (
            "-c", "config", "rebase", "bisect", "grep", "submodule", "difftool", "fetch", "pull", "push",
            "clone", "build", "graph", "up", "run", "spawn", "engine", "init", "mcp",
        ), words  # fmt: skip


@EVERY
def test_full_permissions_are_given_only_when_asked_for(name: str) -> None:
    words = {"claude": "bypassPermissions", "codex": "danger-full-access", "gemini": "yolo", "opencode": ""}[
        name
    ]
    careful, full = (" ".join(CLIENTS[name].first_turn(setup, "x").argv) for setup in (SETUP, FULL))
    assert words in full
    assert not words or words not in careful
    assert "big" in full and "big" not in careful


@EVERY
def test_a_launch_is_our_host_with_its_input_open_for_nudges(name: str) -> None:
    launch = plan_launch(name, ORDER)
    assert launch.argv[1:6] == ("-P", "-m", "headcount", "client", name)
    assert (launch.runtime, launch.stdin, launch.exit_text) == ("plain", True, None)
    assert "Do it." not in launch.argv  # its first mail says it


@EVERY
def test_in_a_terminal_it_leaves_by_its_own_command(name: str) -> None:
    order = Order("/home/.headcount", "crew", "ann", "", "/p.md", terminal=True)
    launch = plan_launch(name, order)
    assert (launch.runtime, launch.argv[-1]) == ("tmux", "--terminal")
    assert launch.exit_text in ("/exit", "/quit")
    assert launch.ready and launch.dialog


def result(**more: Any) -> dict[str, Any]:
    usage = {
        "input_tokens": 600,
        "output_tokens": 60,
        "cache_read_input_tokens": 40,
        "service_tier": "standard",
    }
    return {"type": "result", "usage": usage, **more}


LINES: list[tuple[str, Any, Seen]] = [
    ("claude", result(result="Done.", total_cost_usd=0.25), Seen(tokens=700, cost_usd=0.25, sum="turn")),
    ("claude", result(is_error=True, result="Prompt is too long"),
     Seen(700, overflow="Prompt is too long", sum="turn")),
    ("claude",
     {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": 1900000000}},
     Seen(limit="usage limit reached", resets_at=1900000000)),
    ("claude", {"type": "rate_limit_event", "rate_limit_info": {"status": "allowed"}}, NOTHING),
    ("codex", {"type": "turn.completed", "usage": {"input_tokens": 100, "output_tokens": 10}},
     Seen(tokens=110, sum="conversation")),
    ("codex", {"type": "turn.failed", "error": {"message": "You've hit your usage limit."}},
     Seen(limit="You've hit your usage limit.")),
    ("codex", {"type": "error", "message": "ran out of room in the model's context window"},
     Seen(overflow="ran out of room in the model's context window")),
    ("gemini", {"type": "result", "stats": {"total_tokens": 110}}, Seen(tokens=110, sum="turn")),
    ("gemini", {"type": "message", "content": "I fixed the quota, see RESOURCE_EXHAUSTED."}, NOTHING),
    ("gemini", {"type": "result", "error": {"message": "You exceeded your current quota"}},
     Seen(limit="You exceeded your current quota", sum="turn")),
    ("opencode", {"type": "step_finish", "part": {"tokens": {"input": 100, "output": 10, "reasoning": 1}}},
     Seen(tokens=111)),
    ("opencode",
     {"type": "error", "error": {"name": "APIError", "data": {"message": "slow", "statusCode": 429}}},
     Seen(limit="APIError: slow")),
]  # fmt: skip


@pytest.mark.parametrize(("name", "event", "seen"), LINES)
def test_a_line_of_output_is_read_as_what_it_says(name: str, event: Any, seen: Seen) -> None:
    assert CLIENTS[name].read_line(json.dumps(event))._replace(steps=()) == seen


RECORDS: list[tuple[str, Any, Seen]] = [
    ("gemini", {"type": "user", "content": [{"text": "Work."}]}, Seen(turn="begun")),
    ("gemini", {"type": "user", "content": [{"functionResponse": {"name": "inbox"}}]}, NOTHING),
    ("gemini", {"type": "gemini", "content": "I exceeded the quota, RESOURCE_EXHAUSTED."}, NOTHING),
    ("gemini", {"type": "error", "content": "[API Error: You exceeded your current quota.]"},
     Seen(limit="[API Error: You exceeded your current quota.]", turn="ended")),
    ("gemini", {"type": "error", "content": "The input token count (9) exceeds the maximum (8)."},
     Seen(overflow="The input token count (9) exceeds the maximum (8).", turn="ended")),
    ("gemini", {"type": "error", "content": "[API Error: fetch failed]"}, Seen(turn="ended")),
]  # fmt: skip


@pytest.mark.parametrize(("name", "event", "seen"), RECORDS)
def test_a_line_of_a_record_is_read_as_what_it_says(name: str, event: Any, seen: Seen) -> None:
    record = CLIENTS[name].record
    assert record is not None and record.read(json.dumps(event))._replace(steps=(), answer="") == seen


def test_the_dialog_about_a_limit_is_ready_and_a_limit_and_no_other_dialog() -> None:
    screen = CLIENTS["gemini"].screen
    shown = "│ Usage limit reached for all Pro models.\n│ /model to switch models.\n│ ● 1. Keep trying"
    assert re.search(screen.ready, shown) and re.search(screen.limit, shown)
    assert not re.search(screen.dialog, shown)
    assert not re.search(screen.limit, "✦ Usage limit reached for nobody. 1. Keep trying to read this.")


@EVERY
@pytest.mark.parametrize("line", ["", "plain words", "{", "[1]", '{"type": "result"', '{"type": 7}', "null"])
def test_a_strange_line_means_nothing(name: str, line: str) -> None:
    assert CLIENTS[name].read_line(line) == NOTHING


def test_what_a_member_is_told_is_short_and_says_how_to_answer() -> None:
    told = brief("crew", "ann")
    assert len(told.split()) < 170
    for word in ("ann", "crew", "inbox", "member_done", "shutdown_response", "lead", "stash"):
        assert word in told


def test_times_and_versions_are_found_in_words() -> None:
    assert reset_time("usage limit reached|reset at 1900000000") == 1900000000
    assert reset_time("try again later") is None
    assert version_numbers("codex-cli 0.166.0") == (0, 166, 0)
    assert version_numbers("unknown") == ()


@EVERY
def test_project_files_name_no_path_and_no_secret(name: str) -> None:
    for change in PROJECT_FILES[name]:
        text = change.add(None)
        assert "headcount" in text
        assert "/" not in text.replace("https://", "") and "TOKEN" not in text
