"""Files of the state directory on the local disk."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

from headcount.tree_removal import remove_tree

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class LocalFiles:
    def exists(self, path: str) -> bool:
        return os.path.lexists(path)

    def is_directory(self, path: str) -> bool:
        return os.path.isdir(path)

    def write(self, path: str, data: bytes, *, sync: bool = True) -> None:
        """Write, sync, rename: a reader sees the old file or the new one (C8)."""
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        making = f"{path}.{os.getpid()}"
        _write(making, data, "wb", sync)
        os.replace(making, path)

    def append(self, path: str, data: bytes) -> None:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        _write(path, data, "ab", sync=False)

    def write_directory(self, path: str, files: Mapping[str, bytes]) -> None:
        making = f"{path}.making"
        shutil.rmtree(making, ignore_errors=True)
        os.makedirs(making, mode=0o700)
        for name, data in files.items():
            _write(f"{making}/{name}", data, "wb", sync=True)
        _sync_directory(making)
        os.rename(making, path)
        _sync_directory(os.path.dirname(path))

    def move_directory(self, source: str, target: str) -> None:
        if os.path.isdir(source) and not os.path.isdir(target):
            os.rename(source, target)
        _sync_directory(os.path.dirname(target))

    def keep_only(self, directory: str, kept: Sequence[str]) -> None:
        """A member may have taken its own rights to a directory away, so they are restored first."""
        if os.path.islink(directory) or not os.path.isdir(directory):
            return
        os.chmod(directory, 0o700)
        for name in os.listdir(directory):
            path = f"{directory}/{name}"
            below = [one.partition("/")[2] for one in kept if one.partition("/")[0] == name]
            is_directory = os.path.isdir(path) and not os.path.islink(path)
            if is_directory and not below:
                remove_tree(path)
            elif is_directory and "" not in below:
                self.keep_only(path, below)
                with suppress(OSError):  # something of it is kept
                    os.rmdir(path)
            elif os.path.islink(path) or "" not in below:
                os.unlink(path)


def _write(path: str, data: bytes, mode: str, sync: bool) -> None:
    with open(path, mode) as file:
        file.write(data)
        file.flush()
        if sync:
            os.fsync(file.fileno())


def _sync_directory(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
