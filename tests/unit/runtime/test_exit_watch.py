from __future__ import annotations

import os
import threading
import time
from typing import Any

from headcount.runtime.exit_watch import ProcessWatch


class Member:
    """Whose agent ends when something is written to its pipe."""

    def __init__(self) -> None:
        self.exit_fd, self.end = os.pipe()
        self.keeper_fd = None

    def close(self) -> None:
        os.close(self.exit_fd)
        os.close(self.end)


def test_an_end_that_was_told_of_a_descriptor_before_it_was_this_ones_is_not_believed() -> None:
    """The thread that watches has heard of it, and asks whose it is when it is another's already."""
    heard = threading.Event()
    handles = ProcessWatch(heard.set)
    member: Any = Member()
    handles.hold("crew", "ada#1", member)
    with handles._lock:
        os.write(member.end, b"x")
        time.sleep(
            0.2
        )  # it is told, and waits for the lock; if it is not, nothing is proved and nothing fails
        os.read(member.exit_fd, 1)
    assert not heard.wait(0.2)
    os.write(member.end, b"x")
    assert heard.wait(60)
    assert handles.ends() == [("crew", "ada#1", True)]
    handles.close()
