"""The receipt says where each piece is now."""

from __future__ import annotations

from headcount.engine.receipt import compose
from headcount.ports import Entry
from headcount.protocol.member import Member, State
from headcount.protocol.team import Request, Team

REF = "refs/headcount/salvage/crew/ada/1"
ADA = Member("ada", 1, state=State.GONE, settled=True, outcome="salvaged", refs=(REF, f"{REF}/2"))


def test_every_salvage_of_a_member_is_listed_in_order_and_nobody_else_s() -> None:
    facts = {"salvage": {ref: {"ref": ref} for ref in (f"{REF}/2", REF, "refs/headcount/salvage/crew/ben/1")}}
    receipt = compose(Team("crew", members={ADA.key: ADA}), [], facts, [], [])
    assert [saved["ref"] for saved in receipt["members"][0]["salvage"]] == [REF, f"{REF}/2"]


def test_the_request_is_named_while_it_is_open_and_afterwards() -> None:
    request = Request("r1", ("ada#1",), True)
    while_open = compose(Team("crew", requests={"r1": request}), [], {}, [], [])
    afterwards = compose(Team("crew", last_request=request), [], {}, [], [])
    assert while_open["request"] == afterwards["request"] == "r1"


def test_what_was_said_and_decided_is_in_the_history_of_whom_it_is_about() -> None:
    journal = [
        Entry(1, "crew#1", 1.0, "answered", "ada#1", {"answer": "approved"}),
        Entry(2, "crew#1", 2.0, "moved", "ada#1", {}),
        Entry(3, "crew#1", 3.0, "decided", "ben#1", {"decision": "force-kill"}),
    ]
    receipt = compose(Team("crew", members={ADA.key: ADA}), journal, {}, [], [])
    assert receipt["members"][0]["history"] == [{"at": 1.0, "what": "answered", "answer": "approved"}]
