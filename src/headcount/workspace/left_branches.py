"""Delete branches that hold nothing of their own.

headcount deletes a branch only in one ref transaction with the ref that holds its commits: both must still be
where they were read. So two branches at the same commit cannot both be deleted because of each other, and a
branch that moved, or whose holder moved or was deleted, stays.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from headcount.errors import GitError
from headcount.workspace.git import NAME_AND_ADDRESS
from headcount.workspace.reflog import read_stashes
from headcount.workspace.repository import Repository, first_line
from headcount.workspace.safe_files import exclusive
from headcount.workspace.worktrees import LOCK

_HEADS = "refs/heads/"
OURS = f"{_HEADS}headcount/"


class Ref(NamedTuple):
    name: str
    value: str


def find_holders(repo: Repository, commit: str) -> list[Ref]:
    """The branches and tags that reach `commit`, and a detached HEAD of the main worktree. Refs of the user's
    come first, because headcount may delete its own."""
    form = "--format=%(refname)%00%(objectname)%00%(symref)"
    rows = read_refs(repo, f"--contains={commit}", form, _HEADS, "refs/tags/")
    refs = [Ref(name, value) for name, value, link in rows if not link]
    head = None if repo.bare else first_line(os.path.join(repo.common_dir, "HEAD"))
    if head and not head.startswith("ref: ") and (head == commit or repo.is_ancestor(commit, head)):
        refs.append(Ref("HEAD", head))
    return sorted(refs, key=lambda ref: (ref.name.startswith(OURS), ref.name))


def read_refs(repo: Repository, *words: str) -> list[list[str]]:
    """The fields of each ref that `git for-each-ref` prints, separated by NUL. A name may hold a character
    that Python, and not git, takes for the end of a line."""
    lines = repo.git.text("for-each-ref", *words).split("\n")
    return [line.split("\0") for line in lines if line]


def delete_held(repo: Repository, branch: str, tip: str, holder: Ref) -> bool:
    """Delete `branch` if it still is at `tip`, no worktree uses it, no stash names it, and `holder` is still
    where it was. Otherwise False.

    The next workspace of the same name gets the name of a deleted branch, and would take over its stashes.
    """
    with exclusive(os.path.join(repo.common_dir, LOCK)):  # our own deletions would fail on each other's locks
        if repo.branch_in_use(branch) or _has_stash(repo, branch):
            return False
        orders = f"verify {holder.name} {holder.value}\ndelete {_HEADS}{branch} {tip}\n"
        # Should it be a name for another branch by now, it is the name that goes.
        done = repo.git.run("update-ref", "--no-deref", "--stdin", stdin=os.fsencode(orders), ok=(0, 128))
        return done.code == 0


def delete_empty(repo: Repository, branch: str, base: str | None) -> bool:
    """Delete a branch that is where it began, at `base`, if another ref holds that. A failure leaves it."""
    own = Ref(f"{_HEADS}{branch}", base or "")
    try:
        holders = find_holders(repo, base) if base else []
        others = [ref for ref in holders if ref.name != own.name]
        return own in holders and bool(others) and delete_held(repo, branch, own.value, others[0])
    except (GitError, OSError):
        return False


def is_made_by_headcount(repo: Repository, branch: str) -> bool:
    """Whether headcount created this branch, by its reflog. One that has expired does not contradict it."""
    made = first_line(os.path.join(repo.common_dir, "logs", _HEADS, branch))
    if made is None:
        return False
    return not made.startswith(repo.zero) or f" {NAME_AND_ADDRESS} " in made


def _has_stash(repo: Repository, branch: str) -> bool:
    names = (f"WIP on {branch}: ", f"On {branch}: ")
    return any(stash.message.startswith(names) for stash in read_stashes(repo.common_dir))
