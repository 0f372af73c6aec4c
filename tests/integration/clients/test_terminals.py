"""Clients in terminals: ready when they say so, reached by typing, gone by their own way."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from client_lab import Lab, fingerprint

from headcount.protocol.member import State

# By its shell, as the mail says; by the tools it does so in `test_two_members`.
APPROVE = {"shell": {"$match": r"headcount approve [\w-]+"}}


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_a_client_in_a_terminal_answers_what_is_typed_to_it(
    client: str, open_lab: Callable[..., Lab]
) -> None:
    lane = {"when": "You are ann", "steps": [[{"shell": "sleep 2"}]],
            "react": [{"if_last": "stand down", "do": [APPROVE]}]}  # fmt: skip
    lab = open_lab([lane])
    users = fingerprint(lab.home)
    key = lab.start("ann", client, prompt="Work a little.", runtime="tmux")
    assert lab.member(key).state is State.RUNNING, lab.member(key).failure
    answer = lab.finish(lab.stand_down())

    (member,) = answer["members"]
    assert (answer["status"], member["answer"], member["outcome"]) == ("shutdown", "approved", "clean"), (
        lab.output(key)
    )
    assert lab.alive() == []
    assert fingerprint(lab.home) == users
