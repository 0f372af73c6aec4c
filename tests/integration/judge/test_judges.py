"""Who judges a workspace: the rules, a command, the witness; and what a judge that fails is worth."""

from __future__ import annotations

import os
import shlex
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from engine.lab import LIMIT_S, PATIENT, TEAM, Lab

from headcount.app.witness import verdict
from headcount.errors import Declined
from headcount.protocol import events as ev
from headcount.protocol.member import Member, State

NOTES = "echo remember > notes.txt; sleep 1000 & wait"


def signals_done(lab: Lab, script: str = NOTES, file: str = "notes.txt", **more: Any) -> Member:
    """A member with one untracked file that says done; as it stands once it was judged."""
    lab.start("ada", script, **more)
    lab.wait_file("ada#1", file)
    lab.say(ev.DoneSignalled("ada#1"))
    return lab.wait_state("ada#1", lambda m: m.state is not State.INSPECTING)


def judge(lab: Lab, script: str, **policy: Any) -> None:
    lab.create(replace(PATIENT, judge=("bash", "-c", script), **policy))


def test_by_the_rules_an_untracked_file_is_dirty(lab: Lab) -> None:
    lab.create(PATIENT)
    member = signals_done(lab)
    assert member.state is State.NUDGED
    assert member.issues == ("1 untracked: notes.txt",)


def test_a_command_is_given_the_findings_and_may_call_them_clean_but_all_is_saved(lab: Lab) -> None:
    judge(lab, 'cat > "$0"; echo \'{"clean": true}\'; exit 0'.replace("$0", f"{lab.app.home}/given.json"))
    signals_done(lab)
    member = lab.wait_state("ada#1", lambda m: m.settled)
    given = Path(lab.app.home, "given.json").read_text()
    assert '"member": "ada"' in given
    assert '"what": "notes.txt"' in given
    assert member.outcome == "salvaged"
    assert len(member.refs) == 1


def test_the_issues_that_a_command_names_are_what_the_member_is_told(lab: Lab) -> None:
    judge(lab, 'echo \'{"clean": false, "issues": ["notes.txt belongs into docs/"]}\'')
    member = signals_done(lab)
    assert member.state is State.NUDGED
    assert member.issues == ("notes.txt belongs into docs/",)
    with lab.app.store.read() as tx:
        [mail] = tx.inbox(f"{TEAM}#1", ["ada#1"])
    assert "notes.txt belongs into docs/" in mail.body


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("echo boom >&2; exit 3", "it ended with code 3: boom"),
        ("echo 'I think it is fine'", "the judge gave no verdict"),
        ("true", "the judge gave no verdict"),
        ('echo \'{"clean": "yes"}\'', "it must print"),
        ('echo \'{"clean": true, "issues": [1]}\'', "it must print"),
        ('echo \'{"clean": false, "issues": "a.txt"}\'', "it must print"),
        ('printf %s \'{"clean": false, "issues": ["\\ud83d"]}\'', "it must print"),
        ("echo '[true]'", "the judge gave no verdict"),
        ("head -c 100000 /dev/urandom", "the judge gave no verdict"),
    ],
)
def test_a_judge_that_fails_or_prints_rubbish_counts_as_dirty(lab: Lab, script: str, says: str) -> None:
    judge(lab, script)
    member = signals_done(lab)
    assert member.state is State.NUDGED
    assert says in member.issues[0]


def test_a_judge_that_is_not_there_counts_as_dirty(lab: Lab) -> None:
    lab.create(replace(PATIENT, judge=("/no/such/judge",)))
    member = signals_done(lab)
    assert member.state is State.NUDGED
    assert "No such file" in member.issues[0]


def test_a_judge_that_hangs_counts_as_dirty_and_nothing_of_it_is_left(lab: Lab) -> None:
    pid_file = f"{lab.app.home}/judge.pid"
    judge(lab, f"sleep 1000 & echo $! > {pid_file}; wait; true", judge_timeout_s=4)
    member = signals_done(lab)
    assert member.state is State.NUDGED
    assert "took more than 4 s" in member.issues[0]
    child = Path(pid_file).read_text().strip()
    deadline = time.monotonic() + LIMIT_S
    while os.path.exists(f"/proc/{child}") and _state(child) != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _state(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
    except (FileNotFoundError, ProcessLookupError):
        return "Z"


# --- the witness -----------------------------------------------------------------------------------------


def test_the_witness_is_mailed_the_findings_and_its_verdict_decides(lab: Lab) -> None:
    lab.create(replace(PATIENT, judge="witness"))
    headcount = f"{shlex.quote(sys.executable)} -m headcount"
    lab.start(
        "eve", f"{headcount} inbox --wait 30 --unread; {headcount} witness verdict ada clean", role="witness"
    )
    signals_done(lab)
    member = lab.wait_state("ada#1", lambda m: m.settled)
    assert member.outcome == "salvaged"
    with lab.app.store.read() as tx:
        mail = [m for m in tx.inbox(f"{TEAM}#1", ["witness"]) if m.subject == "Verdict wanted: ada#1"]
    assert "notes.txt" in mail[0].body


def test_a_witness_that_says_nothing_within_the_limit_counts_as_dirty(lab: Lab) -> None:
    lab.create(replace(PATIENT, judge="witness", judge_timeout_s=0.5, inspect_timeout_s=1))
    lab.start("eve", role="witness")
    member = signals_done(lab)
    assert member.state is State.NUDGED


def test_without_a_witness_that_is_alive_the_rules_judge(lab: Lab) -> None:
    lab.create(replace(PATIENT, judge="witness"))
    member = signals_done(lab)
    assert member.issues == ("1 untracked: notes.txt",)


def test_a_verdict_that_nobody_wants_is_refused(lab: Lab) -> None:
    lab.create(replace(PATIENT, judge="witness"))
    lab.start("ada")
    with pytest.raises(Declined, match="No verdict on ada is due"):
        verdict(lab.app, "ada", True)


def test_a_witness_is_judged_by_the_rules_and_never_by_itself(lab: Lab) -> None:
    lab.create(replace(PATIENT, judge=("bash", "-c", "touch $HOME/asked; echo '{\"clean\": true}'")))
    lab.start("eve", role="witness")
    answer = lab.ask("eve")
    lab.finish(answer)
    assert not Path(os.environ["HOME"], "asked").exists()
