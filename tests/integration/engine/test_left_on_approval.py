"""A member that approves and exits at once is shown as such; one that waits continues after a refusal."""

from __future__ import annotations

import json
from pathlib import Path

from headcount.app.team_status import status
from headcount.protocol import events as ev
from headcount.protocol.member import State

from .lab import Lab

WAITS = """
while mail=$(headcount inbox --unread --wait 60); do
  case $mail in *shutdown_request*) headcount approve {} ;; esac
done
"""


def test_who_left_on_approval_is_shown_in_status_and_receipt(lab: Lab) -> None:
    lab.create()
    lab.start("ada", WAITS.format("&& exit"))
    lab.start("ben", WAITS.format(""))
    lab.start("cy")
    answer = lab.ask()
    lab.wait_state("ada#1", lambda m: m.settled or m.exited)
    lab.wait_state("ben#1", lambda m: m.answer == "approved")
    lab.approve(answer, "cy")
    done = lab.finish(answer)
    assert done["status"] == "shutdown"
    shown = {m["name"]: m.get("leftOnApproval") for m in status(lab.app, "crew", {})[0]["members"]}
    assert shown == {"ada": True, "ben": None, "cy": None}
    receipt = json.loads(Path(done["archive"], "receipt.json").read_text())
    [ada] = [m for m in receipt["members"] if m["name"] == "ada"]
    assert [h["left"] for h in ada["history"] if h["what"] == "exited"] == ["on its approval"]


def test_a_refusal_costs_nothing_for_one_that_waits_for_the_order(lab: Lab) -> None:
    lab.create()
    lab.start("ben", WAITS.format(""))
    lab.start("cy")
    answer = lab.ask()
    lab.wait_state("ben#1", lambda m: m.answer == "approved")
    lab.say(ev.Answered("cy#1", answer["requestId"], False, "busy"))
    assert lab.finish(answer)["status"] == "rejected"
    assert lab.wait_state("ben#1", lambda m: m.request is None).state is State.RUNNING
