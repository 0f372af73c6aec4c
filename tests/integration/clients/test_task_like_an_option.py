"""A task that begins like an option, as a list in Markdown does, is a task all the same."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from client_lab import CLIENTS, Lab


@pytest.mark.timeout(120)
@pytest.mark.parametrize("client", CLIENTS)
def test_in_a_terminal_a_task_that_begins_with_a_dash_is_told_whole(
    client: str, open_lab: Callable[..., Lab]
) -> None:
    task = "- Say that you are here.\n- Then stop."
    lab = open_lab([{"when": "You are ann,", "steps": []}])
    key = lab.start("ann", client, prompt=task, runtime="tmux")

    def is_told() -> bool:
        return any(task.splitlines()[0] in request["all"] for request in lab.standin.requests)

    lab.wait(key, lambda m: is_told() or m.settled, 90)
    assert is_told(), lab.output(key)
