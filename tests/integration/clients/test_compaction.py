"""`cycle_on_compact` with the real Claude Code in a terminal: a handover in place of a summary."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from client_lab import POLICY, Lab, git
from test_terminals import APPROVE
from test_two_members import commit_file

from headcount.protocol.member import State

FULL = 990_000  # tokens: more than fit into any model's window that it knows of
SUMMARY = {"if_last": "create a detailed summary", "do": [{"text": "<summary>Wrote ann.txt.</summary>"}]}
LEAVE = {"if_last": "stand down", "do": [APPROVE]}


@pytest.mark.parametrize("trigger", ["manual", "auto"])
def test_before_its_context_is_compacted_it_is_cycled_and_its_successor_has_the_handover(
    trigger: str, open_lab: Callable[..., Lab]
) -> None:
    work = [{"shell": commit_file("ann")}, *([{"context": FULL}] if trigger == "auto" else [])]
    lab = open_lab(
        [{"when": "Handover from your predecessor", "steps": [[{"shell": "git log > $HEADCOUNT_HOME/seen"}]]},
         {"when": "You are ann", "steps": [work], "react": [SUMMARY, LEAVE]}],
        replace(POLICY, cycle_on_compact=True),
    )  # fmt: skip
    first = lab.start("ann", "claude", prompt="Write ann.txt.", runtime="tmux")
    if trigger == "manual":
        lab.wait(first, lambda m: m.activity == "idle")
        lab.person_types(first, "/compact")
        time.sleep(1)  # as a person does: what comes at once is taken for a paste
        lab.person_types(first, "Enter")
    compacting = lab.wait_note("compacting")
    assert (compacting.about, compacting.data["trigger"]) == (first, trigger)
    assert lab.wait(first, lambda m: m.settled).outcome == "clean"
    lab.wait("ann#2", lambda m: m.state is State.RUNNING and m.activity == "idle")

    with lab.app.store.read() as tx:
        assert tx.fact("crew#1", first, "proof")["empty"]
    assert lab.processes(first) == [] and lab.alive() == [lab.start_fact("ann#2")["mark"]]
    assert lab.workspace("ann#2") == lab.workspace(first)
    told = next(r["all"] for r in lab.standin.requests if "Handover from your predecessor" in r["all"])
    assert "Write ann.txt." in told and "Its context was about to be compacted." in told
    assert [entry.about for entry in lab.journal("handover_acted")] == ["ann#2"]
    assert git(lab.app.root, "show", "headcount/crew/ann:ann.txt") == "by ann"
