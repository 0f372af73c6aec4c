"""A linked worktree, made without `git worktree add`, which looks at every other worktree several times:
the thousandth took five times as long as the first, and they could only be made one after the other
(docs/decisions/0085).

The files are git's own (gitrepository-layout), and a test compares them with what the installed git writes.
They are made aside and renamed into place, so nobody ever sees half of them, and two who make one for the
same path cannot both succeed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import tempfile
import time

from headcount.errors import GitError
from headcount.workspace.git import NAME_AND_ADDRESS
from headcount.workspace.repository import Repository

_COPIED = ("config.worktree", "info/sparse-checkout")
_TRIES = 20  # git removes the directory of all worktrees with the last one in it


def can_link(repo: Repository) -> bool:
    """Whether the main worktree has nothing of its own that git would copy to a new one."""
    return not any(os.path.lexists(os.path.join(repo.common_dir, name)) for name in _COPIED)


def is_free(repo: Repository, path: str) -> bool:
    """False when git has a worktree that was made at `path`, and was moved since."""
    return not os.path.lexists(_git_dir(repo, path))


def _git_dir(repo: Repository, path: str) -> str:
    """One for each path, under a name that git itself would not choose."""
    own = hashlib.sha256(os.fsencode(path)).hexdigest()[:12]
    return os.path.join(repo.common_dir, "worktrees", f"{os.path.basename(path)}.{own}")


def link(repo: Repository, path: str, head: str, commit: str | None, reason: str) -> str:
    """Make git know an empty, locked worktree at `path`; its git directory.

    `head` is what HEAD holds: a commit, or `ref: …` with `commit` for what it stands on, if that is born.
    """
    files = {
        "HEAD": f"{head}\n",
        "commondir": "../..\n",
        "gitdir": f"{path}/.git\n",
        "locked": f"{reason}\n",
    }
    if commit:
        files["logs/HEAD"] = f"{repo.zero} {commit} {NAME_AND_ADDRESS} {int(time.time())} +0000\n"
    aside = tempfile.mkdtemp(prefix="headcount.making.", dir=repo.common_dir)
    try:
        made = os.path.join(aside, "worktree")
        for name, content in files.items():
            _write(os.path.join(made, name), content)
        git_dir = _put_in_place(made, _git_dir(repo, path))
    finally:
        shutil.rmtree(aside)
    ensure_link(path, git_dir)
    return git_dir


def ensure_link(path: str, git_dir: str) -> None:
    """The worktree's own side, whole or not at all. It comes last: what is cut off before it is found by
    git's side."""
    if not os.path.lexists(os.path.join(path, ".git")):
        os.makedirs(path, exist_ok=True)
        beside = f"{path}.link"  # in it, it would be somebody's untracked file
        with open(beside, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(f"gitdir: {git_dir}\n")
        os.rename(beside, os.path.join(path, ".git"))


def _put_in_place(made: str, git_dir: str) -> str:
    for _ in range(_TRIES):
        os.makedirs(os.path.dirname(git_dir), exist_ok=True)
        try:
            os.rename(made, git_dir)
            return git_dir
        except FileNotFoundError:
            continue
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            raise GitError(
                f"Did not make the worktree {git_dir}", "another is just making it", code="git-worktree"
            ) from error
    raise GitError(f"Did not make the worktree {git_dir}", "its directory vanished", code="git-worktree")


def _write(path: str, content: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "x", encoding="utf-8", errors="surrogateescape") as file:
        file.write(content)
