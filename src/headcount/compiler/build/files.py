"""Outputs on disk: a reader sees the old file or the new one, never a part of it."""

from __future__ import annotations

import os


def read_bytes(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def write_atomically(path: str, data: bytes) -> None:
    """Write beside the file, flush to disk, and rename. A symbolic link stays one."""
    path = os.path.realpath(path)
    folder, name = os.path.split(path)
    os.makedirs(folder, exist_ok=True)
    scratch = os.path.join(folder, f".{name}.{os.getpid()}.part")
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        os.replace(scratch, path)
    except BaseException:
        os.unlink(scratch)
        raise
