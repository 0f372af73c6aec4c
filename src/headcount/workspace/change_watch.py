"""Notice that something changed below a directory, without reading it again and again (inotify, on Linux).

A tree that is armed counts as quiet until the kernel reports a change in one of its directories. A watch
reports once and is gone then, so a busy tree costs no more events than it has directories. There is one
descriptor for all trees, because a user may have few (`fs.inotify.max_user_instances`).

Nothing is claimed where it is not known: without inotify, with too many directories, or after events were
lost, no tree is quiet. A write through a memory mapping, or through another name of a file, is not reported.
So the caller must read a quiet tree all the same now and then.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterable
from threading import Lock

_CHANGES = 0x2 | 0x4 | 0x8 | 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800  # of content, mode or names
_HOW = 0x01000000 | 0x02000000 | 0x80000000  # only a directory, not through a link, once
_OVERFLOW = 0x4000
_HEAD = struct.Struct("iIII")  # watch, mask, cookie, length of the name
_READ_BYTES = 1 << 16
_MOST = 20_000  # directories of one tree


class ChangeWatch:
    def __init__(self) -> None:
        self._lock = Lock()
        self._library = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
        self._fd: int | None = None
        self._tree_of: dict[int, str] = {}
        self._quiet: dict[str, list[int]] = {}  # by tree: its watches

    def arm(self, tree: str, directories: Iterable[bytes]) -> None:
        """Watch these directories. From here on the tree is quiet, unless one cannot be watched."""
        with self._lock:
            self._drain()
            self._drop(tree)
            watches: list[int] = []
            for directory in directories:
                watch = self._add(directory) if len(watches) < _MOST else -1
                if watch < 0:
                    self._remove(watches)
                    return
                watches.append(watch)
            self._tree_of.update(dict.fromkeys(watches, tree))
            self._quiet[tree] = watches

    def is_quiet(self, tree: str) -> bool:
        """Whether it is armed and nothing changed since."""
        with self._lock:
            self._drain()
            return tree in self._quiet

    def drop(self, tree: str) -> None:
        with self._lock:
            self._drop(tree)

    def __del__(self) -> None:
        """Give the descriptor back: all programs of the user share few of them."""
        if self._fd is not None:
            os.close(self._fd)

    def _add(self, directory: bytes) -> int:
        if self._library is None:
            return -1
        if self._fd is None:
            fd = self._library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
            if fd < 0:
                self._library = None
                return -1
            self._fd = fd
        return int(self._library.inotify_add_watch(self._fd, directory, ctypes.c_uint32(_CHANGES | _HOW)))

    def _drop(self, tree: str) -> None:
        self._remove(self._quiet.pop(tree, ()))

    def _remove(self, watches: Iterable[int]) -> None:
        for watch in watches:
            self._tree_of.pop(watch, None)
            if self._library is not None and self._fd is not None:
                self._library.inotify_rm_watch(self._fd, watch)  # it may be gone already

    def _drain(self) -> None:
        while self._fd is not None:
            try:
                data = os.read(self._fd, _READ_BYTES)
            except BlockingIOError:
                return
            place = 0
            while place < len(data):
                watch, mask, _, length = _HEAD.unpack_from(data, place)
                place += _HEAD.size + length
                if mask & _OVERFLOW:
                    for tree in list(self._quiet):
                        self._drop(tree)
                elif tree_of := self._tree_of.get(watch):
                    # Also when the watch itself is gone: its directory is, or it has reported.
                    self._drop(tree_of)
