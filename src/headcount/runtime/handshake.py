"""The caller's side of a start: it sends its order to the keeper over one connection, which answers there.

No secret touches the disk, and a caller that dies takes its order with it.
"""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Callable, Mapping
from typing import Any

from headcount.errors import ProcessError
from headcount.ports import SpawnSpec
from headcount.runtime import reaper
from headcount.runtime.limits import members_file_limit
from headcount.runtime.mark import VARIABLE
from headcount.runtime.reaper import OUTPUT, STDIN
from headcount.runtime.spawn import Record, SpawnDirectory

_ORDER_BYTES = 1 << 20  # the kernel takes no more than twice that, for arguments and environment together

Connect = Callable[[SpawnSpec, str, float], socket.socket]


def ask_keeper(
    spec: SpawnSpec,
    more: Mapping[str, Any],
    directory: SpawnDirectory,
    connect: Connect,
    timeout_s: float,
) -> tuple[str, Record | None]:
    """What the keeper answered, "" when it answered nothing; and its record, if it has started the member.
    `more`: its seal, and how it contains the member."""
    order = {**_order(spec, directory.path), **more}
    os.makedirs(directory.path, mode=0o700, exist_ok=True)
    for name in (OUTPUT, STDIN):
        if not os.path.exists(directory.file(name)):
            os.mkfifo(directory.file(name), 0o600)
    with connect(spec, directory.path, timeout_s) as connection:
        connection.settimeout(timeout_s)
        try:
            reaper.send(connection, order)
        except (TimeoutError, BrokenPipeError):
            pass  # it has died, or has an answer
        return _read_reply(connection)


def _order(spec: SpawnSpec, home: str) -> dict[str, Any]:
    size = sum(len(os.fsencode(word)) for pair in spec.env.items() for word in pair)
    size += sum(len(os.fsencode(word)) for word in spec.argv)
    if size > _ORDER_BYTES:
        raise ProcessError(
            f"Did not start {spec.argv[0]}",
            f"its arguments and environment have {size:,} bytes",
            ("Hand the prompt over in {prompt_file} instead of {prompt}",),
            code="start-too-large",
        )
    return {
        "home": home,
        "mark": spec.mark,
        "argv": list(spec.argv),
        "cwd": spec.cwd,
        "env": {**spec.env, VARIABLE: spec.mark},
        "stdin": spec.stdin,
        "log_limit": spec.log_limit,
        "files": members_file_limit(),
    }


def _read_reply(connection: socket.socket) -> tuple[str, Record | None]:
    """What the keeper answered; "" when it answered nothing, or died."""
    try:
        reply = reaper.receive(connection)
    except OSError:
        return "", None
    match reply:
        case (str(text), dict(fields)):
            return text, Record.from_dict(fields)
        case (str(text),):
            return text, None
    return "", None


def wait_readable(fd: int, timeout_s: float) -> bool:
    waiting = select.poll()
    waiting.register(fd, select.POLLIN)
    return bool(waiting.poll(timeout_s * 1000))
