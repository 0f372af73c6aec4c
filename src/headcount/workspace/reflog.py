"""Whose is it? Read from the reflogs which branches and stashes are a workspace's own.

Refs and stashes are shared by all worktrees of a repository; HEAD's reflog is not. It tells which branch
stood in this worktree at which time, and which of them were moved or made here. That decides, and not a
name's likeness: a stash that the user made on a branch of the same team is the user's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from functools import cache

from headcount.domain.findings import Workspace
from headcount.value_classes import dataclass
from headcount.workspace.ref_names import encode
from headcount.workspace.repository import Repository
from headcount.workspace.safe_files import NotAFile, read_file

_LARGEST = 1 << 28  # bytes
_LINE = re.compile(rb"([0-9a-f]{40,64}) ([0-9a-f]{40,64}) .*?> (\d+) [+-]\d+(?:\t(.*))?")
_MOVED = re.compile(r"checkout: moving from .+ to (.+)")
_RETURNED = re.compile(r"rebase.* \(?finish\)?: returning to refs/heads/(.+)")
_RENAMED = re.compile(r"Branch: renamed refs/heads/(.+) to refs/heads/(.+)")
_STASHED = re.compile(r"(?:WIP on|On) ([^:]+): (?:([0-9a-f]{4,64}) )?")
_NOT_A_BRANCH = re.compile(r"[0-9a-f]{7,64}|HEAD.*|.*[~^@:].*|refs/.*|tags/.*|heads/.*")
_NO_BRANCH = "(no branch)"
_PSEUDO_REF = re.compile(r"[A-Z][A-Z0-9_]*")
_NAMED = re.compile(rb"^(?:[0-9a-f]{64}|[0-9a-f]{40})(?=\s|$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Entry:
    old: str
    new: str
    time: int
    message: str


@dataclass(frozen=True, slots=True)
class Stash:
    oid: str
    message: str
    time: int


@dataclass(frozen=True, slots=True)
class Stay:
    """From `start` on, HEAD stood on `branch` (None: detached), until the next stay began."""

    start: int
    branch: str | None


def read_reflog(path: str) -> list[Entry]:
    """Oldest first. A line that is not a reflog's (torn by a crash) is passed over; so is what is no file."""
    try:
        lines = read_file(path, _LARGEST).split(b"\n")
    except (FileNotFoundError, NotAFile):
        return []
    found = (_LINE.fullmatch(line) for line in lines)
    return [
        Entry(f[1].decode(), f[2].decode(), int(f[3]), (f[4] or b"").decode("utf-8", "surrogateescape"))
        for f in found
        if f
    ]


def read_stashes(common_dir: str) -> list[Stash]:
    """All stashes of the repository, newest first, as `git stash list` has them."""
    entries = read_reflog(os.path.join(common_dir, "logs", "refs", "stash"))
    return [Stash(entry.new, entry.message, entry.time) for entry in reversed(entries)]


@dataclass(frozen=True, slots=True)
class Ownership:
    """What HEAD's reflog of one workspace says about whose is what."""

    branches: frozenset[str]
    stays: tuple[Stay, ...]
    commits: tuple[str, ...]

    def owns_stash(self, stash: Stash) -> bool:
        """Its message names a branch that was its own, or HEAD stood here just so when it was made."""
        found = _STASHED.match(stash.message)
        if not found:
            return False
        if found[1] == _NO_BRANCH:
            here = not found[2] or any(commit.startswith(found[2]) for commit in self.commits)
            return here and self._stood_on(None, stash.time)
        return found[1] in self.branches or self._stood_on(found[1], stash.time)

    def _stood_on(self, branch: str | None, time: int) -> bool:
        # Reflogs count in seconds: a stay that ended in the very second of the stash may still be it.
        ends = [*(stay.start for stay in self.stays[1:]), None]
        return any(
            stay.branch == branch and stay.start <= time and (end is None or time <= end)
            for stay, end in zip(self.stays, ends, strict=True)
        )


def read_ownership(
    git_dir: str, common_dir: str, branch: str | None, exists: Callable[[str], bool]
) -> Ownership:
    """`branch` is the one the workspace was made with; `exists` tells of a full name whether it is a ref."""
    entries = read_reflog(os.path.join(git_dir, "logs", "HEAD"))
    reader = _Reader(common_dir, cache(exists))
    own = {branch} if branch else set()
    stays = [Stay(0, branch)]
    for entry in entries:
        before = stays[-1].branch
        after = reader.branch_after(entry, before)
        if after != before:
            stays.append(Stay(entry.time, after))
        own |= reader.made_or_moved(entry, before, after)
    return Ownership(frozenset(own), tuple(stays), tuple(dict.fromkeys(entry.new for entry in entries)))


def read_logged_commits(git_dir: str) -> list[str]:
    """Commits in the reflogs that are in this git directory."""
    logs = (entry.new for path in _files_below(git_dir, "logs") for entry in read_reflog(path))
    return [oid for oid in dict.fromkeys(logs) if oid.strip("0")]


def read_own_refs(git_dir: str) -> list[str]:
    """Objects that refs of this git directory alone name: `refs/worktree/…`, `refs/bisect/…` (git never packs
    them), and pseudo-refs such as FETCH_HEAD and ORIG_HEAD. Most are commits."""
    pseudo = (entry.path for entry in os.scandir(git_dir) if _PSEUDO_REF.fullmatch(entry.name))
    refs = (_read(path) for path in (*_files_below(git_dir, "refs"), *sorted(pseudo)))
    named = (oid.decode() for content in refs for oid in _NAMED.findall(content))
    return [oid for oid in dict.fromkeys(named) if oid.strip("0")]


def _files_below(git_dir: str, name: str) -> list[str]:
    walk = os.walk(os.path.join(git_dir, name))
    return sorted(os.path.join(directory, file) for directory, _, files in walk for file in files)


def _read(path: str) -> bytes:
    try:
        return read_file(path, _LARGEST)
    except (FileNotFoundError, NotAFile):
        return b""


@dataclass(frozen=True, slots=True)
class _Reader:
    common_dir: str
    exists: Callable[[str], bool]

    def branch_after(self, entry: Entry, before: str | None) -> str | None:
        if found := _MOVED.fullmatch(entry.message):
            return found[1] if self._is_branch(found[1]) else None
        if found := _RETURNED.fullmatch(entry.message):
            return found[1]
        if found := _RENAMED.fullmatch(entry.message):
            return found[2]
        if entry.message.startswith("rebase") and "start" in entry.message:
            return None
        return before

    def made_or_moved(self, entry: Entry, before: str | None, after: str | None) -> set[str]:
        if found := _RENAMED.fullmatch(entry.message):
            return {found[1], found[2]}
        if _RETURNED.fullmatch(entry.message):
            return {after} if after else set()
        if _MOVED.fullmatch(entry.message):
            return {after} if after and self._made_at(after, entry.time) else set()
        return {before} if before and entry.old != entry.new else set()

    def _is_branch(self, name: str) -> bool:
        """Is, or was: one that has been deleted since is told from a detached commit by how it is spelled."""
        if self.exists(f"refs/heads/{name}"):
            return True
        if _NOT_A_BRANCH.fullmatch(name):
            return False
        return not (self.exists(f"refs/tags/{name}") or self.exists(f"refs/remotes/{name}"))

    def _made_at(self, branch: str, time: int) -> bool:
        """Made by the checkout that first stood on it, as `switch -c` does: its reflog begins there and then.

        One that is no longer there has no reflog. It stood here and is nobody's now, so it was made here.
        """
        if not self.exists(f"refs/heads/{branch}"):
            return True
        log = read_reflog(os.path.join(self.common_dir, "logs", "refs", "heads", branch))[:1]
        return any(
            first.message.startswith("branch: Created") and 0 <= time - first.time <= 1 for first in log
        )


# --- unclaimed -------------------------------------------------------------------------------------------
#
# Stashes that were made in a team and fit none of its workspaces: kept, and listed once for the team.


def list_unclaimed(repo: Repository, team: str, workspaces: Iterable[Workspace]) -> list[Stash]:
    """Stashes on a branch of the team, or on no branch, that none of `workspaces` owns.

    A stash on any other branch is the user's, and not mentioned.
    """
    owners = [
        read_ownership(workspace.git_dir, repo.common_dir, workspace.branch, repo.exists)
        for workspace in workspaces
        if workspace.git_dir
    ]
    ours = re.compile(rf"(?:WIP on|On) (?:headcount/{re.escape(encode(team))}/[^:]+|\(no branch\)): ")
    return [
        stash
        for stash in read_stashes(repo.common_dir)
        if ours.match(stash.message) and not any(owner.owns_stash(stash) for owner in owners)
    ]
