"""A terminal that goes away between two questions: one kind of error, whatever was asked."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from headcount.errors import ProcessError
from headcount.runtime.terminal import Terminal


def terminal(tty: str) -> Terminal:
    """As tmux answers about a pane that is gone: with nothing. But once it had a terminal."""
    return Terminal("%7", lambda *words, **_: tty if words[-1] == "#{pane_tty}" else "\n")


@pytest.mark.parametrize("ask", [Terminal.width, Terminal.modes, Terminal.unread])
def test_what_is_asked_of_a_terminal_that_went_away_is_a_process_error(
    ask: Callable[[Terminal], int],
) -> None:
    with pytest.raises(ProcessError, match="terminal is gone"):
        ask(terminal(os.devnull))
