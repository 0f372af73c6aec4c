"""Operations that git has begun in a worktree and not ended."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from headcount.domain.findings import Checkout
from headcount.workspace.files import read_file


@dataclass(frozen=True, slots=True)
class Operation:
    """`file` is the state, inside the git directory, that shows it; `oid` what it is about, if it says so."""

    name: str
    file: str
    oid: str | None = None


_HEADS = (("MERGE_HEAD", "merge"), ("CHERRY_PICK_HEAD", "cherry-pick"), ("REVERT_HEAD", "revert"))
_USUAL_DIRECTORY = re.compile(r"logs|refs|modules|rebase-merge|rebase-apply|sequencer|fsmonitor--daemon")
_USUAL_FILE = re.compile(
    r"[A-Z][A-Z0-9_]*|index|index\.lock|sharedindex\..*|commondir|gitdir|locked|headcount\..*"
)
_AUTOSTASHES = ("rebase-merge/autostash", "rebase-apply/autostash", "MERGE_AUTOSTASH")


def read_operations(git_dir: str) -> list[Operation]:
    def there(name: str) -> bool:
        return os.path.lexists(os.path.join(git_dir, name))

    found = [Operation(name, file, _oid(git_dir, file)) for file, name in _HEADS if there(file)]
    if there("rebase-merge"):
        found.append(Operation("rebase", "rebase-merge", _oid(git_dir, "rebase-merge/orig-head")))
    if there("rebase-apply"):
        name = "am" if there("rebase-apply/applying") else "rebase"
        found.append(Operation(name, "rebase-apply", _oid(git_dir, "rebase-apply/orig-head")))
    if there("BISECT_LOG"):
        found.append(Operation("bisect", "BISECT_LOG"))
    # Between two picks of a series there is a sequencer and no *_HEAD.
    if there("sequencer") and not any(operation.name in ("cherry-pick", "revert") for operation in found):
        found.append(Operation("cherry-pick or revert", "sequencer", _oid(git_dir, "sequencer/head")))
    return found


def read_autostashes(git_dir: str) -> list[str]:
    """Object ids of what a rebase or merge put aside and has not put back."""
    found = (_oid(git_dir, file) for file in _AUTOSTASHES)
    return [oid for oid in found if oid]


def list_private_files(git_dir: str, checkout: Checkout | None) -> list[str]:
    """Files in a worktree's private git directory that neither git's usual work nor headcount put there:
    settings of the worktree alone (`config.worktree`), patterns of a sparse checkout, files of the member.

    All that git writes by itself is derived from elsewhere, or read as refs, operations and submodules.
    """
    began, ended = (checkout.began_ns, checkout.ended_ns) if checkout else (0, 0)
    found = []
    for directory, names, files in os.walk(git_dir):
        if directory == git_dir:
            names[:] = [name for name in names if not _USUAL_DIRECTORY.fullmatch(name)]
            files = [name for name in files if not _USUAL_FILE.fullmatch(name)]
        for name in files:
            path = os.path.join(directory, name)
            if not began <= os.lstat(path).st_ctime_ns < ended:
                found.append(os.path.relpath(path, git_dir))
    return sorted(found)


def _oid(git_dir: str, file: str) -> str | None:
    try:
        start = read_file(os.path.join(git_dir, file), 64)
        return start.split(b"\n")[0].strip().decode("ascii", "replace") or None
    except OSError:
        return None
