"""A command that drives is ended by SIGTERM as by Ctrl-C: it says how to go on, and leaves in order."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from types import FrameType


class Terminated(KeyboardInterrupt):
    """SIGTERM."""


def take_sigterm() -> None:
    signal.signal(signal.SIGTERM, _terminate)


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    raise Terminated


def exit_code(stop: KeyboardInterrupt) -> int:
    """As a shell tells it: 128 and the number of the signal."""
    return 128 + (signal.SIGTERM if isinstance(stop, Terminated) else signal.SIGINT)
