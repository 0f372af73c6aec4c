"""What `headcount down` tells a person to type next is about those whom they asked for, and nobody else."""

from __future__ import annotations

from typing import Any

import pytest

from headcount.app.standing_down import hint_for
from headcount.cli.stand_down_commands import _already_gone, _print_summary, _same_call


def _answer(status: str) -> dict[str, Any]:
    return {"status": status, "members": [], "seconds": None, "warnings": [], "archive": None}


@pytest.mark.parametrize("status", ["stuck", "rejected", "pending_shutdown"])
def test_a_hint_after_single_members_never_names_the_whole_team(status: str) -> None:
    assert "`headcount down crew --member cy" in hint_for(_answer(status), _same_call("crew", ["cy"]))
    assert "--member" not in hint_for(_answer(status), _same_call("crew", None))


def test_the_summary_is_headed_by_those_who_were_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    _print_summary("crew", ["ada", "ben"], _answer("shutdown"))
    _print_summary("crew", None, _answer("shutdown"))
    heads = [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()]
    assert [head for head in heads if not head.startswith(" ")] == ["ada, ben", "crew"]


def _gone(name: str) -> dict[str, Any]:
    return {"name": name, "generation": 1, "outcome": "clean", "cause": None,
            "at": "2026-11-16T06:35:20.057+00:00", "proof": "subreaper+mark", "processes": 1}  # fmt: skip


def test_one_that_nobody_stopped_is_said_to_have_exited_on_its_own() -> None:
    said = _already_gone({**_gone("m"), "outcome": "already_gone"})
    assert said.startswith("m#1: gone already, exited on its own, proved at")


@pytest.mark.parametrize(
    ("outcomes", "said"),
    [
        (["already_gone"], "It was gone already."),
        (["already_gone", "already_gone"], "All 2 were gone already."),
        (["clean", "already_gone"], "Stopped 1 of 1 members; 1 more was gone already."),
        (["clean", "stuck"], "Stopped 1 of 2 members."),
        ([], "Nobody was there."),
    ],
)
def test_nobody_is_said_to_be_stopped_who_was_gone_already(
    outcomes: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = _answer("shutdown")
    answer["members"] = [{"name": "m", "outcome": outcome, "salvage": None} for outcome in outcomes]
    gone = [_gone(f"m{i}") for i, outcome in enumerate(outcomes) if outcome == "already_gone"]
    if gone:
        answer["alreadyGone"] = gone
    _print_summary("crew", None, answer)
    shown = capsys.readouterr().out
    assert f"crew: shutdown. {said}" in shown
    proof = "gone already, clean, proved at 2026-11-16T06:35:20.057+00:00 (subreaper+mark)"
    assert shown.count(proof) == len(gone)
