"""The tools are there in the first turn, every time: once here, and twice for each in `test_two_members`.

Twenty runs of each client, as measured in docs/decisions/0072:

    HEADCOUNT_FIRST_TURNS=20 python -m pytest tests/integration/clients/test_first_turn.py
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from client_lab import CLIENTS, Lab

RUNS = int(os.environ.get("HEADCOUNT_FIRST_TURNS", "1"))
CALL = [{"call": "send_message", "with": {"type": "message", "recipient": "lead", "content": "here"}}]


WAYS = [*((client, "plain") for client in CLIENTS), ("claude", "tmux"), ("codex", "tmux")]


@pytest.mark.timeout(60 + 60 * RUNS)
@pytest.mark.parametrize(("client", "runtime"), WAYS)
def test_the_tools_are_there_in_the_first_turn(
    client: str, runtime: str, open_lab: Callable[..., Lab]
) -> None:
    names = [f"m{number}" for number in range(RUNS)]
    lab = open_lab([{"when": f"You are {name},", "steps": [CALL]} for name in names])
    for name in names:
        key = lab.start(name, client, prompt="Say that you are here.", runtime=runtime)
        lab.wait(key, lambda m: m.activity == "idle")
        lab.finish(lab.stand_down(name))
    assert lab.standin.missing == []
    with lab.app.store.read() as tx:
        said = [mail.sender for mail in tx.inbox("crew#1", ["lead"]) if mail.body == "here"]
    assert said == [f"{name}#1" for name in names]
