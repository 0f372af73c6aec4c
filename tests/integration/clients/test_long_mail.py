"""More mail than one word of a command line can hold (128 KiB): told in parts, and nobody's end."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from client_lab import Lab

from headcount.ports import Mail

CALL = [{"call": "send_message", "with": {"type": "message", "recipient": "lead", "content": "here"}}]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("client", ["claude", "codex"])
def test_more_mail_than_a_command_line_can_hold_reaches_the_member_in_parts(
    client: str, open_lab: Callable[..., Lab]
) -> None:
    lab = open_lab([{"when": "You are ann,", "steps": [CALL]}])
    key = lab.start("ann", client, prompt="Say that you are here.")
    lab.wait(key, lambda m: m.activity == "idle")
    with lab.app.store.write() as tx:
        for number in range(2):
            words = f"part {number} " + "x\n" * 35_000 + f"end {number}"
            tx.post(Mail("", "crew#1", "lead", key, f"Long {number}", words))
    lab.app.store.ring([f"crew#1/{key}"])
    lab.wait(key, lambda m: not _unread(lab, key) or m.settled)
    lab.wait(key, lambda m: m.activity == "idle" or m.settled)

    assert not lab.member(key).settled, lab.output(key)
    told = "".join(request["last"] for request in lab.standin.requests)
    assert "part 0" in told and "part 1" in told


def _unread(lab: Lab, key: str) -> int:
    with lab.app.store.read() as tx:
        return tx.count_unread("crew#1").get(key, 0)
