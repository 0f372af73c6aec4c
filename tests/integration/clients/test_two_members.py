"""A team of two, of each client: mail read, work done, reported, stand-down approved, proved gone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from client_lab import CLIENTS, Lab, fingerprint, git

from headcount.app.member_start import Plan
from headcount.protocol.member import State

APPROVE = {"call": "send_message", "with": {
    "type": "shutdown_response", "recipient": "lead", "approve": True,
    "request_id": {"$match": r"headcount approve ([\w.#/-]+)"},
}}  # fmt: skip


def commit_file(name: str) -> str:
    return f"printf 'by {name}\\n' > {name}.txt && git add {name}.txt && git commit -q -m 'by {name}'"


def works(name: str) -> dict[str, Any]:
    """Reads its mail, writes and commits a file, reports done; approves when it is asked."""
    return {
        "when": f"You are {name}",
        "react": [{"if_last": "asked to stand down", "do": [APPROVE]}],
        "steps": [
            [{"call": "inbox", "with": {"unread": True, "mark_read": True}}],
            [{"shell": commit_file(name)}],
            [{"call": "member_done", "with": {"checklist": True}}],
        ],
    }


WAYS = [*((client, "plain") for client in CLIENTS), ("claude", "tmux"), ("codex", "tmux")]


@pytest.mark.parametrize(("client", "runtime"), WAYS)
def test_two_members_work_report_done_approve_and_are_proved_gone(
    client: str, runtime: str, open_lab: Callable[..., Lab]
) -> None:
    lab = open_lab([works("ann"), works("bob")])
    users = fingerprint(lab.home)
    more = {"awaits_review": True, "runtime": runtime}
    keys = lab.start_all(
        *(Plan(n, client, prompt=f"Write {n}.txt and commit it.", **more) for n in ("ann", "bob"))
    )
    for key in keys:
        lab.wait(key, lambda m: m.state is State.VERIFIED)
    with lab.app.store.read() as tx:
        assert not tx.count_unread(f"{lab.app.load(tx, 'crew').id}").keys() & set(keys)
    answer = lab.finish(lab.stand_down())

    assert lab.standin.missing == []
    assert answer["status"] == "shutdown", answer
    assert {(m["name"], m["answer"], m["outcome"]) for m in answer["members"]} == {
        ("ann", "approved", "clean"),
        ("bob", "approved", "clean"),
    }
    for name in ("ann", "bob"):
        assert git(lab.app.root, "show", f"headcount/crew/{name}:{name}.txt") == f"by {name}"
    assert git(lab.app.root, "rev-parse", "main") == git(lab.app.root, "rev-list", "--max-parents=0", "main")
    assert lab.alive() == []
    assert fingerprint(lab.home) == users
