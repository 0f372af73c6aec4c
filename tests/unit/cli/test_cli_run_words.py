"""What `headcount run` and `headcount decide` say to do next."""

from __future__ import annotations

from typing import Any

import pytest

from headcount.cli.run_commands import _progress_lines, _what_next
from headcount.cli.stand_down_commands import _consequence

ESCALATION = {
    "id": "e1",
    "member": "messy#1",
    "issues": ["1 untracked: junk"],
    "decisions": ["human", "wait"],
}


def run(state: str, escalations: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    task = {"id": "2", "state": state, "subject": "Crash", "worker": "crash#2", "rounds": 0, "reason": "r"}
    lists: dict[str, Any] = {
        "limits": [],
        "dialogs": [],
        "asks": [],
        "stalled": [],
        "warnings": [],
        "integration": "headcount/mix/integration",
    }
    about = {"team": "mix", "status": "blocked", "tasks": [{**task, "waits": ""}], "escalations": escalations}
    return {**lists, **about, **more}


def test_while_a_run_waits_for_a_decision_the_command_that_decides_is_shown() -> None:
    assert (
        _progress_lines(run("escalated", [ESCALATION]))[-1]
        == "  Decide it with `headcount decide e1 human|wait`."
    )


def test_of_a_task_that_is_blocked_the_command_that_shows_why_is_named() -> None:
    hints = _what_next(run("blocked", []), "team.py")
    assert hints[0] == "See what crash#2 printed with `headcount logs crash#2 --team mix`."
    assert not [hint for hint in _what_next(run("working", []), "team.py") if "logs" in hint]


@pytest.mark.parametrize(
    ("state", "said"), [("parked", "decide again"), ("decided", "`headcount down --member cy`")]
)
def test_one_that_is_parked_is_left_with_a_way_to_go_on_that_exists(state: str, said: str) -> None:
    assert said in _consequence({"member": "cy", "state": state}, "human")
