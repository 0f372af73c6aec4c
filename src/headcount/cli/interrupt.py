"""A command that drives is ended by SIGTERM, and with its terminal, as by Ctrl-C: it says how to go on, and
leaves in order."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from types import FrameType


class Terminated(KeyboardInterrupt):
    """By a signal, of this number."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def take_signals() -> None:
    signal.signal(signal.SIGTERM, _terminate)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # not where `nohup` has said otherwise
        signal.signal(signal.SIGHUP, _terminate)


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    raise Terminated(number)


def exit_code(stop: KeyboardInterrupt) -> int:
    """As a shell tells it: 128 and the number of the signal."""
    return 128 + (stop.number if isinstance(stop, Terminated) else signal.SIGINT)
