"""Print to a terminal: colours, tables, lines that are drawn again, and text of agents made harmless."""

from __future__ import annotations

import os
import sys
import threading
import time
import unicodedata
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from headcount.cli.streams import write_orders

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_QUIET_S = 1.0
_APART_S = 5.0  # between two lines of a count that are not drawn over each other
_COLOURS = {"green": "32", "red": "31", "yellow": "33", "dim": "2", "bold": "1"}


def is_live(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty() and os.environ.get("TERM", "") not in ("", "dumb")


def paint(text: str, colour: str, stream: TextIO) -> str:
    if not is_live(stream) or os.environ.get("NO_COLOR"):
        return text
    return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m"


def plain(text: str) -> str:
    """Return text as one line without control characters."""
    return "".join(c if c.isprintable() else " " for c in text)


def say_size(measured: Mapping[str, Any]) -> str:
    """Return how many files there are and how large they are."""
    files = measured["files"]
    return f"{files:,} file{'s' * (files != 1)}, {measured['bytes'] / 1_000_000:,.1f} MB"


def describe_skipped(skipped: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a line for each build directory or file that was not saved."""
    return [
        f"not saved, can be built again: {plain(one['path'])} ({say_size(one)}): {one['why']}"
        for one in skipped
    ]


def table(rows: Sequence[Sequence[str]], header: Sequence[str]) -> list[str]:
    """Return rows as columns, two spaces apart."""
    cells = [[plain(cell) for cell in row] for row in (header, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]


def list_item(
    id: str | None, who: str, what: str, details: Iterable[str] = (), hints: Iterable[str] = ()
) -> list[str]:
    """Return one item of what waits for a person, as `todo`, `asks` and `escalations` print it."""
    return [
        plain(f"{id or '-'}  {who}  {what}"),
        *(f"    {plain(detail)}" for detail in details),
        *(f"  {plain(hint)}" for hint in hints),
    ]


def width_of(text: str) -> int:
    """Return the width of a text in columns. Some characters take two, some none."""
    return sum(_columns(c) for c in text)


def fit(text: str, width: int) -> str:
    """Return exactly `width` columns: cut with a sign, or padded."""
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
    if c.isascii():
        return 1

    if unicodedata.combining(c):
        return 0
    return 2 if unicodedata.east_asian_width(c) in "WF" else 1


class Live:
    """Lines that are redrawn in place. Without a terminal, new lines are printed one after the other.

    `after_s`: show nothing before that time, so that quick commands show no progress.
    """

    def __init__(self, stream: TextIO = sys.stderr, after_s: float = 0.0) -> None:
        self._stream = stream
        self._from = time.monotonic() + after_s
        self._live = is_live(stream)
        self._drawn = 0
        self._said: set[str] = set()

    def show(self, lines: Sequence[str]) -> None:
        if time.monotonic() < self._from:
            return
        if not self._live:
            for line in lines:
                if line not in self._said:
                    self._said.add(line)
                    print(line, file=self._stream, flush=True)
            return
        columns, rows = _size()
        shown = fit_block(lines, max(20, columns - 1), max(3, rows - 1))
        self.wipe()
        self._stream.write("".join(f"{line}\n" for line in shown))
        self._stream.flush()
        self._drawn = len(shown)

    def wipe(self) -> None:
        """Take the lines off the terminal, before others are printed."""
        if self._live and self._drawn:
            write_orders(self._stream, "\r" + "\x1b[A\x1b[2K" * self._drawn)
            self._drawn = 0


class Progress:
    """The progress of a command on standard error: nothing in its first second, and nothing if `quiet`.

    On a terminal a line is rewritten. Elsewhere each line is printed once.
    """

    def __init__(self, quiet: bool = False) -> None:
        self._live = None if quiet else Live(sys.stderr, after_s=_QUIET_S)
        self._counted_at = 0.0

    @contextmanager
    def during(self, text: str) -> Iterator[None]:
        """Show a line for a single call that reports nothing itself; on a terminal with its seconds."""
        if self._live is None:
            yield
            return
        began, over = time.monotonic(), threading.Event()

        def tick() -> None:
            while not over.wait(_QUIET_S):
                taken = f" ({time.monotonic() - began:.0f} s)" if is_live(sys.stderr) else ""
                self.show([f"{plain(text)}{taken}"])

        ticking = threading.Thread(target=tick, daemon=True)
        ticking.start()
        try:
            yield
        finally:
            over.set()
            ticking.join()

    def show(self, lines: Sequence[str]) -> None:
        if self._live is not None:
            self._live.show(lines)

    def wipe(self) -> None:
        if self._live is not None:
            self._live.wipe()

    def count(self, verb: str, done: int, total: int, what: str = "") -> None:
        """Show one line for a loop over `total` things: "Verified 3 of 40: refs/…"."""
        now = time.monotonic()
        if not is_live(sys.stderr) and now - self._counted_at < _APART_S:
            return
        self._counted_at = now
        self.show([f"{verb} {done:,} of {total:,}{f': {plain(what)}' if what else ''}"])


def fit_block(lines: Sequence[str], width: int, height: int) -> list[str]:
    """Return the lines that fit: the first and the last ones. Lines above the screen cannot be redrawn.

    A line with a command is wrapped, never cut, because half a command is useless.
    """
    shown = [part for line in lines for part in _parts(line, width)]
    if len(shown) <= height:
        return shown
    last = height - 2
    return [shown[0], f"  … {len(shown) - 1 - last} more lines", *shown[-last:]]


def _parts(line: str, width: int) -> list[str]:
    if "`" not in line:
        return [fit(line, width).rstrip()]
    import textwrap

    indent = " " * (len(line) - len(line.lstrip()))
    return textwrap.wrap(line, width, subsequent_indent=f"{indent}  ", break_on_hyphens=False)


def _size() -> tuple[int, int]:
    try:
        size = os.get_terminal_size(sys.stderr.fileno())
    except OSError:
        return 80, 24
    return size.columns or 80, size.lines or 24
