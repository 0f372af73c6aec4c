"""Workspaces are read while others are waited for, and nothing is decided by that."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from headcount.workspace import findings, port

from .lab import QUICK, Lab

PATIENT = replace(QUICK, answer_timeout_s=60, on_escalation="force-kill")


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The workspaces that git was asked about, in that order."""
    asked: list[str] = []

    def read_findings(repo: object, workspace: object, **options: object) -> object:
        answer = findings.read_findings(repo, workspace, **options)  # type: ignore[arg-type]
        asked.append(workspace.member)  # type: ignore[attr-defined]
        return answer

    monkeypatch.setattr(port, "read_findings", read_findings)
    return asked


def _wait_read(asked: list[str], name: str) -> None:
    deadline = time.monotonic() + 20
    while name not in asked:
        assert time.monotonic() < deadline, f"{name} was not read"
        time.sleep(0.01)


ASKED = "headcount inbox --unread --wait 60 > /dev/null"
READILY = f"{ASKED}; headcount approve; sleep 1000 & wait"
LATER = (
    f'{ASKED}; until [ -e "$HEADCOUNT_HOME/go" ]; do sleep 0.05; done; headcount approve; sleep 1000 & wait'
)


def test_who_has_approved_is_read_once_while_the_others_are_waited_for(lab: Lab, read: list[str]) -> None:
    lab.create(PATIENT)
    lab.start("ada", READILY)
    lab.start("bob", LATER)
    time.sleep(1.1)  # what was written less than a second ago is read again, whatever was seen
    answer = lab.ask()
    _wait_read(read, "ada")
    assert lab.team().members["ada#1"].state == "asked"
    Path(lab.app.home, "go").touch()
    answer = lab.finish(answer)
    assert [(m["outcome"], m["salvage"]) for m in answer["members"]] == [("clean", None)] * 2
    assert sorted(read) == ["ada", "bob"]


def test_C22_what_is_written_after_the_approval_is_found_all_the_same(lab: Lab, read: list[str]) -> None:
    lab.create(PATIENT)
    workspace = Path(lab.workspace(lab.start("ada", READILY).key))
    lab.start("bob", LATER)
    time.sleep(1.1)
    lab.ask()
    _wait_read(read, "ada")
    (workspace / "late.txt").write_text("late\n")
    Path(lab.app.home, "go").touch()
    ada = lab.wait_state("ada#1", lambda m: m.issues != ())
    assert "late.txt" in "".join(ada.issues)
