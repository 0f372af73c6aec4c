"""What a filter keeps from git.

A clean filter (`filter.NAME.clean`) decides what git gets to see of a file: one that drops the output of
notebooks, or the passwords of a configuration. What it drops is in the workspace alone, and after
`git add` no status tells of it. So the files that have a filter are compared with what git would check out.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from headcount.workspace.disk import CHUNK
from headcount.workspace.git import Git
from headcount.workspace.objects import open_answer

_CONFIGURED = r"^filter\..*\.(clean|process)$"


def read_filters(git: Git) -> frozenset[str]:
    """Names of the filters that are set up: an attribute that names another one does nothing."""
    keys = git.run("config", "-z", "--name-only", "--get-regexp", _CONFIGURED, ok=(0, 1)).records()
    return frozenset(os.fsdecode(key).partition(".")[2].rpartition(".")[0] for key in keys)


def find_filtered(git: Git, filters: frozenset[str], untouched: range) -> list[str]:
    """Files whose bytes git would not check out again.

    Those that were last changed in `untouched`, while the workspace was made, are as they were checked out,
    and need not be asked for: a filter may have to fetch a large file from elsewhere.
    """
    assert git.work_tree is not None
    root = os.fsencode(git.work_tree)
    touched = [path for path in _list_files(git) if _is_touched(root + b"/" + path, untouched)]
    filtered = _with_filter(git, touched, filters)
    return [os.fsdecode(path) for path in filtered if not _comes_back(git, root, path)]


def _list_files(git: Git) -> list[bytes]:
    return git.run("ls-files", "-z", "--cached").records()


def _is_touched(path: bytes, untouched: range) -> bool:
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return stat.S_ISREG(found.st_mode) and found.st_ctime_ns not in untouched


def _with_filter(git: Git, paths: Iterable[bytes], filters: frozenset[str]) -> list[bytes]:
    asked = b"".join(path + b"\0" for path in paths)
    told = git.run("check-attr", "-z", "--stdin", "filter", stdin=asked).records()
    pairs = zip(told[::3], told[2::3], strict=True)
    return [path for path, value in pairs if os.fsdecode(value) in filters]


def _comes_back(git: Git, root: bytes, path: bytes) -> bool:
    """What git makes of its own copy is what is on disk. Where the filter fails, it is not."""
    file = os.open(root + b"/" + path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(file, "rb") as here, open_answer(git, None, "cat-file", "--filters", b":0:" + path) as there:
        while (chunk := here.read(CHUNK)) == there.read(CHUNK):
            if not chunk:
                return True
    return False
