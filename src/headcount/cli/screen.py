"""The whole terminal: its own screen, keys as they are pressed, its size; given back as it was found."""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import threading
import tty
import unicodedata
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from headcount.cli.streams import write_orders

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_ENTER = "\x1b[?1049h\x1b[?25l"
_LEAVE = "\x1b[?25h\x1b[?1049l"
_KEYS = {
    b"\x1b[A": "up", b"\x1bOA": "up", b"\x1b[B": "down", b"\x1bOB": "down", b"\x1b[5~": "page up",
    b"\x1b[6~": "page down", b"\x1b": "escape", b"\r": "enter", b"\n": "enter",
}  # fmt: skip


def width_of(text: str) -> int:
    """In columns: some characters take two, some none."""
    return sum(_columns(c) for c in text)


def fit(text: str, width: int) -> str:
    """Exactly `width` columns: cut, with a sign that it was, or filled up."""
    used = width_of(text)
    if used <= width:
        return text + " " * (width - used)
    kept, room = "", width - 1
    for c in text:
        room -= _columns(c)
        if room < 0:
            break
        kept += c
    return fit(f"{kept}…", width) if width > 0 else ""


def _columns(c: str) -> int:
    if unicodedata.combining(c):
        return 0
    return 2 if unicodedata.east_asian_width(c) in "WF" else 1


class Screen:
    """Between `open` and the end of its block, ours. Woken by a key, a new size, or whoever calls `wake`."""

    def __init__(self) -> None:
        self._in, self._out = sys.stdin.fileno(), sys.stdout.fileno()
        self._drawn: tuple[Any, ...] | None = None
        self._woken, self._waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    @contextmanager
    def open(self) -> Iterator[Screen]:
        before = termios.tcgetattr(self._in)
        handlers = {
            signal.SIGWINCH: signal.signal(signal.SIGWINCH, lambda *_: self.wake()),
            # Stopped in the middle, the shell would be left on our screen.
            signal.SIGTSTP: signal.signal(signal.SIGTSTP, signal.SIG_IGN),
            signal.SIGTERM: signal.signal(signal.SIGTERM, lambda *_: sys.exit(143)),
        }
        try:
            self._take()
            yield self
        finally:
            self._give_back(before)
            for number, handler in handlers.items():
                signal.signal(number, handler)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Lend the terminal to another program."""
        now = termios.tcgetattr(self._in)
        now[3] |= termios.ICANON | termios.ECHO
        self._give_back(now)
        try:
            yield
        finally:
            self._take()

    def size(self) -> tuple[int, int]:
        """Columns and lines."""
        try:
            found = os.get_terminal_size(self._out)
        except OSError:
            return 80, 24
        return found.columns, found.lines

    def draw(self, lines: Sequence[str]) -> None:
        """The lines as they are, from the top; what is the same as before is not sent again."""
        shown = (*lines, self.size())
        if shown == self._drawn:
            return
        self._drawn = shown
        self._write("\x1b[H" + "\r\n".join(f"{line}\x1b[K" for line in lines) + "\x1b[J")

    def wake(self) -> None:
        try:
            os.write(self._waker, b".")
        except BlockingIOError:
            pass  # it is full of wake-ups already

    def wait(self, timeout_s: float) -> str | None:
        """The next key, or None after a wake-up or when the time is over."""
        ready, _, _ = select.select([self._in, self._woken], [], [], timeout_s)
        if self._woken in ready:
            os.read(self._woken, 4096)
        if self._in not in ready:
            return None
        pressed = os.read(self._in, 32)
        if not pressed:
            return "q"  # the terminal is gone
        return _KEYS.get(pressed) or pressed.decode("utf-8", "replace")[:1]

    def _take(self) -> None:
        tty.setcbreak(self._in)
        self._drawn = None
        self._write(_ENTER)

    def _give_back(self, settings: Any) -> None:
        self._write(_LEAVE)
        termios.tcsetattr(self._in, termios.TCSADRAIN, settings)

    def _write(self, text: str) -> None:
        write_orders(sys.stdout, text)
        sys.stdout.flush()


@contextmanager
def waking(screen: Screen, wait: Callable[[float], object]) -> Iterator[None]:
    """While the block lasts, wake the screen whenever `wait` returns."""
    over = threading.Event()

    def listen() -> None:
        while not over.is_set():
            wait(0.5)
            screen.wake()

    thread = threading.Thread(target=listen, name="bell", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
