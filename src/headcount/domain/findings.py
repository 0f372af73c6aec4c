"""Describe a workspace: where it is, what is in it, what was saved of it.

Values only: nothing here runs git or looks at a disk. Every value goes to JSON with `as_dict` and comes
back equal with `from_dict`, so it can be journalled, mailed, and handed to a judge.

Two questions are kept apart, because they have different answers:

- Is it *clean*? No finding that the member must act on. This is what a judge goes by.
- Is it *spotless*? Nothing in it that is nowhere else. Ignored files do not make a workspace dirty, but
  they would be gone with it, so such a workspace is clean and not spotless. headcount sends no member back
  for a build directory, but saves it. The same holds for everything that a member cannot commit: an empty
  directory, permissions, bytes that a filter keeps from git. A member must not commit private files either
  (`salvage_private`), so an untracked `.env` is saved, and not a reason to send it back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from enum import StrEnum
from typing import Any, Self

from headcount.value_classes import dataclass


class Kind(StrEnum):
    """The subject of a finding. A nudge lists findings in this order."""

    MISSING = "missing"
    UNREADABLE = "unreadable"
    CONFLICT = "conflict"
    OPERATION = "operation"
    INDEX_LOCK = "index-lock"
    STAGED = "staged"
    MODIFIED = "modified"
    HIDDEN = "hidden"
    UNTRACKED = "untracked"
    STASH = "stash"
    DETACHED = "detached"
    UNMERGED = "unmerged"
    SUBMODULE = "submodule"
    NESTED_REPOSITORY = "nested-repository"
    OUT_OF_SYNC = "out-of-sync"
    # From here on: nothing to send a member back for, and still to be saved.
    ABANDONED = "abandoned"
    LOCAL_REMOTE = "local-remote"
    FILTERED = "filtered"
    PRIVATE = "private"
    IGNORED = "ignored"
    EMPTY_DIRECTORY = "empty-directory"
    PERMISSIONS = "permissions"
    GIT_DIRECTORY = "git-directory"
    FILES = "files"


SAVED_NOT_JUDGED = frozenset(
    {
        Kind.ABANDONED,
        Kind.LOCAL_REMOTE,
        Kind.FILTERED,
        Kind.PRIVATE,
        Kind.IGNORED,
        Kind.EMPTY_DIRECTORY,
        Kind.PERMISSIONS,
        Kind.GIT_DIRECTORY,
        Kind.FILES,
    }
)

_HEADINGS = {
    Kind.MISSING: "not in its place any more",
    Kind.UNREADABLE: "could not be read",
    Kind.CONFLICT: "in conflict",
    Kind.OPERATION: "in progress",
    Kind.INDEX_LOCK: "locked index",
    Kind.STAGED: "staged, not committed",
    Kind.MODIFIED: "changed, not committed",
    Kind.HIDDEN: "changed, and hidden from git status",
    Kind.UNTRACKED: "untracked",
    Kind.STASH: "stashed",
    Kind.DETACHED: "on no branch",
    Kind.UNMERGED: "not merged",
    Kind.SUBMODULE: "in a submodule",
    Kind.NESTED_REPOSITORY: "in a nested repository",
    Kind.OUT_OF_SYNC: "out of sync",
}


@dataclass(frozen=True, slots=True)
class Checkout:
    """When git wrote the files of a new workspace, before any member ran in it, and under which umask.

    A file whose time of change is at or after `began_ns` and before `ended_ns` still has the bytes that git
    wrote: no program can set that time, and every later write changes it. Both are 0 where the file system
    does not record every write, and then no file is known to be untouched. `umask` is None where the file
    system does not keep permissions. `clock_ns` is the time of day at which the machine was started, by the
    clock of then: if it is another one now, someone has set the clock, or started the machine again.
    """

    began_ns: int
    ended_ns: int
    umask: int | None
    clock_ns: int = 0


@dataclass(frozen=True, slots=True)
class Workspace:
    """One workspace as it was recorded when it was made. Paths are absolute.

    `git_dir` is the worktree's private git directory and None for a plain directory. `branch` is None
    for a reviewer's detached worktree. `base` is the commit it began at, None before a first commit.
    `checkout` is None where nothing was checked out.
    """

    team: str
    member: str
    generation: int
    path: str
    git_dir: str | None = None
    branch: str | None = None
    base: str | None = None
    checkout: Checkout | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        checkout = data.get("checkout")
        return cls(**{**data, "checkout": Checkout(**checkout) if checkout else None})


@dataclass(frozen=True, slots=True)
class Finding:
    """A fact read from a workspace: what, when, by which command."""

    kind: Kind
    what: str
    when: str
    command: str
    path: str | None = None
    oid: str | None = None

    @property
    def dirty(self) -> bool:
        return self.kind not in SAVED_NOT_JUDGED

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        return cls(**{**data, "kind": Kind(data["kind"])})


@dataclass(frozen=True, slots=True)
class Skipped:
    """Ignored files that can be built again, and are not saved. A `path` with a final `/` is a directory.

    `kept` are the paths below it that are saved anyway.
    """

    path: str
    files: int
    bytes: int
    why: str
    kept: tuple[str, ...] = ()

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        return cls(**{**data, "kept": tuple(data["kept"])})


@dataclass(frozen=True, slots=True)
class Findings:
    """Everything read from one workspace at one moment.

    `skipped` need not be saved, so it is not among the items. `commits_ahead` counts the commits made since
    the workspace's base: none means that no task in it is done. It is None when it could not be counted, and
    that is never taken for "some".
    """

    workspace: str
    when: str
    head: str | None = None
    branch: str | None = None
    commits_ahead: int | None = None
    items: tuple[Finding, ...] = ()
    skipped: tuple[Skipped, ...] = ()

    @property
    def dirty(self) -> tuple[Finding, ...]:
        return tuple(item for item in self.items if item.dirty)

    @property
    def clean(self) -> bool:
        return not self.dirty

    @property
    def spotless(self) -> bool:
        """Nothing to save: not even an ignored file would be gone with this workspace."""
        return not self.items

    def issues(self, limit: int = 20) -> list[str]:
        """Return a line for each kind, for a nudge, with its files, stashes or commits (at most `limit`)."""
        return [_issue(kind, found, limit) for kind, found in _by_kind(self.dirty)]

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "clean": self.clean, "spotless": self.spotless}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The derived answers (`clean`, `spotless`) are computed again, never believed."""
        fields = {name: data[name] for name in ("workspace", "when", "head", "branch", "commits_ahead")}
        skipped = tuple(Skipped.from_dict(one) for one in data.get("skipped", ()))
        return cls(**fields, items=tuple(Finding.from_dict(item) for item in data["items"]), skipped=skipped)


def _by_kind(found: Iterable[Finding]) -> list[tuple[Kind, list[Finding]]]:
    groups: dict[Kind, list[Finding]] = {kind: [] for kind in Kind}
    for item in found:
        groups[item.kind].append(item)
    return [(kind, items) for kind, items in groups.items() if items]


def _issue(kind: Kind, found: list[Finding], limit: int) -> str:
    named = ", ".join(item.what for item in found[:limit])
    more = f", and {len(found) - limit} more" if len(found) > limit else ""
    return f"{len(found)} {_HEADINGS[kind]}: {named}{more}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Clean or dirty, with issues, by a judge, from findings."""

    clean: bool
    issues: tuple[str, ...]
    judge: str

    @classmethod
    def by_rules(cls, findings: Findings) -> Self:
        return cls(findings.clean, tuple(findings.issues()), "rules")

    def as_dict(self) -> dict[str, Any]:
        return {"clean": self.clean, "issues": list(self.issues), "judge": self.judge}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        return cls(data["clean"], tuple(data["issues"]), data["judge"])


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that a salvage does not hold. While there is any, the workspace is kept."""

    path: str
    size: int
    why: str


@dataclass(frozen=True, slots=True)
class Archive:
    """A plain directory, or private files of a worktree, in a tar file that was read back."""

    path: str
    sha256: str
    entries: int
    bytes: int

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        return cls(**data)


@dataclass(frozen=True, slots=True)
class Salvage:
    """A snapshot that was written, referenced and read back. `created` is false for a repeat.

    `pack` names the kept pack that holds it; salvages of older versions have none. `private` holds the files
    that `salvage_private` names, which are in no ref. `hub` is the ref under which the hub has it. `only_on`
    is the host that alone has it, although its team has a hub.
    """

    ref: str
    commit: str
    team: str
    member: str
    generation: int
    files: int
    bytes: int
    left_out: tuple[LeftOut, ...] = ()
    created: bool = True
    pack: str = ""
    private: Archive | None = None
    skipped: tuple[Skipped, ...] = ()
    hub: str = ""
    only_on: str = ""

    @property
    def complete(self) -> bool:
        return not self.left_out

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "complete": self.complete}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        fields = {name: value for name, value in data.items() if name != "complete"}
        private = data.get("private")
        built = {
            "left_out": tuple(LeftOut(**item) for item in data["left_out"]),
            "private": Archive.from_dict(private) if private else None,
            "skipped": tuple(Skipped.from_dict(one) for one in data.get("skipped", ())),
        }
        return cls(**{**fields, **built})


@dataclass(frozen=True, slots=True)
class GoneProof:
    """The runtime's word that nobody is left in a workspace; without it nothing is removed.

    `how` says how it was seen (a keeper's empty tree, "by mark only"); `alive` names what was not.
    """

    team: str
    member: str
    generation: int
    how: str
    when: str
    alive: tuple[str, ...] = ()

    def covers(self, workspace: Workspace) -> bool:
        """Of the right member, and of its last incarnation there: a workspace outlives a cycled one."""
        same = (self.team, self.member) == (workspace.team, workspace.member)
        return same and self.generation >= workspace.generation and not self.alive
