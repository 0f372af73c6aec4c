"""Read the output of a client in one turn. The turn is over when the client has exited, because a server
that the agent started may keep the output open forever."""

from __future__ import annotations

import os
import select

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

_AT_ONCE = 1 << 20  # more than a pipe holds: one read takes all that is there


def read_lines(child: subprocess.Popen[bytes]) -> Iterator[str]:
    """Yield the lines of its output until it has ended."""
    rest = b""
    for data in _read(child):
        *lines, rest = (rest + data).split(b"\n")
        yield from (line.decode(errors="replace") + "\n" for line in lines)
    if rest:
        yield rest.decode(errors="replace")


def _read(child: subprocess.Popen[bytes]) -> Iterator[bytes]:
    assert child.stdout is not None
    output, end = child.stdout.fileno(), os.pidfd_open(child.pid)
    os.set_blocking(output, False)
    waiting = select.poll()
    waiting.register(output, select.POLLIN)
    waiting.register(end, select.POLLIN)
    ready: dict[int, int] = {}
    try:
        while end not in ready:
            ready = dict(waiting.poll())
            if output in ready:
                yield _take(output, waiting)
    finally:
        os.close(end)


def _take(output: int, waiting: select.poll) -> bytes:
    try:
        data = os.read(output, _AT_ONCE)
    except BlockingIOError:
        return b""
    if not data:
        waiting.unregister(output)  # closed: its end is all that is waited for
    return data
