"""The caller's side of a start: its wish goes to the keeper through one FIFO, the answer through another.

No secret touches the disk, and a caller that dies takes its wish with it.
"""

from __future__ import annotations

import marshal
import os
import select
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress

from headcount.errors import ProcessError
from headcount.ports import SpawnSpec
from headcount.runtime.keeper import OUTPUT, REPLY, SPEC, STDIN
from headcount.runtime.limits import members_file_limit
from headcount.runtime.mark import VARIABLE
from headcount.runtime.spawn import SpawnDirectory

_SPEC_BYTES = 1 << 20  # the kernel takes no more than twice that, for arguments and environment together


def ask_keeper(
    spec: SpawnSpec, directory: SpawnDirectory, launch: Callable[[SpawnSpec, str], None], timeout_s: float
) -> str:
    """What the keeper said that `launch` starts; "" when it said nothing."""
    os.makedirs(directory.path, mode=0o700, exist_ok=True)
    if spec.hold:
        directory.put_hold(spec.hold)
    for name in (SPEC, REPLY, OUTPUT, STDIN):
        if not os.path.exists(directory.file(name)):
            os.mkfifo(directory.file(name), 0o600)
    with ExitStack() as opened:
        for name in (SPEC, REPLY):
            opened.callback(_remove, directory.file(name))
        reply_fd = os.open(directory.file(REPLY), os.O_RDONLY | os.O_NONBLOCK)
        opened.callback(os.close, reply_fd)
        spec_fd = os.open(directory.file(SPEC), os.O_RDWR | os.O_NONBLOCK)
        opened.callback(os.close, spec_fd)
        message = _encode(spec)
        written = _write(spec_fd, message)
        launch(spec, directory.path)
        _write_rest(spec_fd, message[written:], reply_fd, timeout_s)
        return _read_reply(reply_fd, timeout_s)


def _remove(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


def _encode(spec: SpawnSpec) -> bytes:
    body = marshal.dumps(
        {
            "mark": spec.mark,
            "argv": list(spec.argv),
            "cwd": spec.cwd,
            "env": {**spec.env, VARIABLE: spec.mark},
            "stdin": spec.stdin,
            "log_limit": spec.log_limit,
            "files": members_file_limit(),
        }
    )
    if len(body) > _SPEC_BYTES:
        raise ProcessError(
            f"Did not start {spec.argv[0]}",
            f"its arguments and environment have {len(body):,} bytes",
            ("Hand the prompt over in {prompt_file} instead of {prompt}",),
            code="start-too-large",
        )
    return len(body).to_bytes(8, "big") + body


def _write(fd: int, data: bytes) -> int:
    try:
        return os.write(fd, data)
    except BlockingIOError:
        return 0


def _write_rest(fd: int, message: bytes, reply_fd: int, timeout_s: float) -> None:
    """As the keeper reads it, until it answers: a pipe may hold two pages only, where its user has many
    others open (pipe(7), pipe-user-pages-soft)."""
    deadline = time.monotonic() + timeout_s
    waiting = select.poll()
    waiting.register(fd, select.POLLOUT)
    waiting.register(reply_fd, select.POLLIN)
    while message:
        ready = dict(waiting.poll(max(0.0, deadline - time.monotonic()) * 1000))
        if fd not in ready or reply_fd in ready:
            return
        message = message[_write(fd, message) :]


def _read_reply(fd: int, timeout_s: float) -> str:
    """What the keeper said; "" when it said nothing, or died."""
    if not wait_readable(fd, timeout_s):
        return ""
    return os.read(fd, 512).decode(errors="replace")


def wait_readable(fd: int, timeout_s: float) -> bool:
    waiting = select.poll()
    waiting.register(fd, select.POLLIN)
    return bool(waiting.poll(timeout_s * 1000))
