"""Inspect a workspace and list its findings.

An inspection fails closed: if something cannot be read, or not in time, that is itself a dirty finding. Every
git command gets the git directory and the work tree by name, because a workspace lies inside the user's
repository: with a broken `.git`, git would walk up and report on the user's files.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import field
from datetime import UTC, datetime
from functools import partial

from headcount.domain.findings import Finding, Findings, Kind, Skipped, Workspace
from headcount.errors import HeadcountError
from headcount.value_classes import dataclass
from headcount.workspace.contents import (
    Difference,
    Inner,
    Territory,
    find_different,
    find_left_modules,
    find_uncommittable,
    find_unlisted,
    git_dir_of,
    is_untouched,
    read_far_remotes,
    read_filters,
    read_submodule_paths,
    survey,
)
from headcount.workspace.git import Git, quiet_environment
from headcount.workspace.git_state import (
    GITLINK,
    Changed,
    Entry,
    Status,
    find_hidden,
    list_private_files,
    read_autostashes,
    read_index,
    read_operations,
    read_status,
    unhidden,
)
from headcount.workspace.integration import is_merged
from headcount.workspace.objects import read_types
from headcount.workspace.ref_names import shown
from headcount.workspace.reflog import (
    Ownership,
    read_logged_commits,
    read_own_refs,
    read_ownership,
    read_reflog,
    read_stashes,
)
from headcount.workspace.repository import Repository, first_line
from headcount.workspace.saving_rules import SavingRules, find_holders, find_skipped

_BRANCH = "ref: refs/heads/"
_LETTERS = {"A": "added", "D": "deleted", "M": "modified", "R": "renamed", "C": "copied", "T": "type changed"}


def utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def read_findings(
    repo: Repository | None,
    workspace: Workspace,
    *,
    integration: str | None = None,
    require_merged: bool = False,
    sync_command: str | Sequence[str] = "",
    timeout_s: float = 60.0,
    when: str = "",
    rules: SavingRules | None = None,
) -> Findings:
    """Everything of "is it clean?", within `timeout_s`. Takes no lock and changes nothing.

    `integration` names the branch that commits are compared with. With `require_merged`, commits that are
    not in it are dirty, and so is not knowing; otherwise commits on a branch are safe where they are. Build
    output that `rules` skip is listed apart from the findings.
    """
    reading = _Reading(workspace, when or utc_now(), rules or SavingRules())
    if repo is None or workspace.git_dir is None:
        reading.read_directory()
        return reading.findings()
    git = repo.git.on(workspace.git_dir, workspace.path).until(timeout_s)
    reading.read_worktree(repo, git)
    if require_merged:
        reading.read_unmerged(repo, git, integration)
    if sync_command:
        reading.read_sync(git, sync_command)
    return reading.findings()


def read_all(reads: Iterable[Callable[[], Findings]], workers: int = 0) -> list[Findings]:
    """Several workspaces at once; the answers are in the order of the questions."""
    with ThreadPoolExecutor(workers or min(8, 2 * (os.cpu_count() or 1))) as pool:
        return list(pool.map(lambda read: read(), reads))


@dataclass(slots=True)
class _Reading:
    workspace: Workspace
    when: str
    rules: SavingRules
    head: str | None = None
    branch: str | None = None
    commits_ahead: int | None = None
    items: list[Finding] = field(default_factory=list)
    skipped: tuple[Skipped, ...] = ()

    def findings(self) -> Findings:
        return Findings(
            self.workspace.path, self.when, self.head, self.branch, self.commits_ahead, tuple(self.items),
            self.skipped,
        )  # fmt: skip

    def add(
        self, kind: Kind, what: str, command: str, path: str | None = None, oid: str | None = None
    ) -> None:
        named = None if path is None else shown(path)
        self.items.append(Finding(kind, what, self.when, command, named, oid))

    @contextmanager
    def part(self, command: str) -> Iterator[None]:
        """One part of the reading. If it fails, that is the finding; other parts are read all the same."""
        try:
            yield
        except (HeadcountError, OSError, ValueError) as error:
            why = f"{error.what}: {error.why}" if isinstance(error, HeadcountError) else str(error)
            self.add(Kind.UNREADABLE, why, command)
        except RecursionError:
            self.add(Kind.UNREADABLE, "a directory is nested too deeply", command)

    def read_directory(self) -> None:
        """Without git there is no "committed": files are not dirty, they are only to be saved."""
        if not self._is_there():
            return
        with self.part("read directory"):
            for entry in sorted(os.listdir(self.workspace.path)):
                self.add(Kind.FILES, shown(entry), "read directory", path=entry)

    def read_worktree(self, repo: Repository, git: Git) -> None:
        assert git.git_dir is not None
        if not self._is_there():
            self._read_shared(repo, git.on(git.git_dir, None))
            return
        with self.part("read .git"):
            self._read_link(git.git_dir)
        status: Status | None = None
        territories: list[Territory] = []
        with self.part("read directory"):
            status = self._read_untouched(repo, git)
            if status is None:
                # Before git is asked: what a running member writes after this is at least in git's answer.
                territories = survey(self.workspace.path, self.workspace.checkout)
        trees: dict[bytes, _Tree] = {}
        with self.part("git status"):
            if status is None:
                top = territories[0] if territories else Territory(b"")
                nested = [territory.root for territory in territories[1:]]
                status, trees[b""] = self._read_status(git, top, nested=nested)
            self.head, self.branch = status.head, status.branch
        self._read_shared(repo, git)
        inners = []
        for territory in territories[1:]:
            with self.part(f"read {shown(os.fsdecode(territory.root))}/.git"):
                path = os.fsdecode(territory.root)
                inners.append(Inner(git_dir_of(os.path.join(self.workspace.path, path)), path))
                self._read_inner(repo, git, inners[-1], territory, trees)
        with self.part("find repositories"):
            for inner in find_left_modules(git.git_dir, inners):
                self._read_inner_refs(repo, git.on(inner.git_dir, None), inner, Kind.SUBMODULE)
        if not self.items:  # otherwise every byte is saved anyway
            for tree in trees.values():
                with self.part("compare files with their blobs"):
                    self._compare(repo, tree)

    def _is_there(self) -> bool:
        """Removed, or moved away: only what git keeps elsewhere can still be read, and saved."""
        path = self.workspace.path
        if not os.path.lexists(path):
            self.add(Kind.MISSING, shown(path), "read directory")
        return os.path.lexists(path)

    def _read_shared(self, repo: Repository, git: Git) -> None:
        """What is not in the directory itself."""
        assert git.git_dir is not None
        with self.part("read git directory"):
            self._read_state(git.git_dir)
            for path in list_private_files(git.git_dir, self.workspace.checkout):
                what = f"{shown(path)} (in its private git directory)"
                self.add(Kind.GIT_DIRECTORY, what, "read git directory")
        with self.part("read reflogs"):
            ownership = self._ownership(repo, git.git_dir)
            for stash in read_stashes(repo.common_dir):
                if ownership.owns_stash(stash):
                    self.add(
                        Kind.STASH, f"{stash.oid} ({shown(stash.message)})", "git stash list", oid=stash.oid
                    )
            self._read_commits(git)

    def _read_link(self, git_dir: str) -> None:
        link = os.path.join(self.workspace.path, ".git")
        if os.path.isdir(link):
            self.add(Kind.NESTED_REPOSITORY, ".git (a repository of its own)", "read .git", path=".git")
            return
        named = (first_line(link) or "").removeprefix("gitdir:").strip()
        if os.path.realpath(os.path.join(self.workspace.path, named)) != os.path.realpath(git_dir):
            raise ValueError(f".git leads to {shown(named)}, not to {git_dir}")

    def _read_untouched(self, repo: Repository, git: Git) -> Status | None:
        """The status of a workspace in which nothing changed since git checked it out; None for all others.

        If HEAD, the index and by the kernel's word every file and name are as they were then, there is
        nothing to compare.
        """
        base = self.workspace.base
        if base is None:
            return None
        assert git.git_dir is not None
        head = first_line(os.path.join(git.git_dir, "HEAD")) or ""
        branch = head.removeprefix(_BRANCH) if head.startswith(_BRANCH) else None
        at = head if branch is None else first_line(os.path.join(repo.common_dir, "refs/heads", branch))
        if at != base and repo.commit_of(git.git_dir) != base:  # git also reads packed refs
            return None
        if not is_untouched(self.workspace.path, self.workspace.checkout, git.time_left()):
            return None
        if git.run("diff-index", "--cached", "--quiet", base, ok=range(256)).code:
            return None
        return Status(base, branch)

    def _read_status(
        self, git: Git, territory: Territory, kind: Kind | None = None, nested: Sequence[bytes] | None = None
    ) -> tuple[Status, _Tree]:
        """The status, reported. `kind`, if set, is for everything dirty in it. `nested` are the repositories
        inside, for the workspace's own; only there, build output is skipped."""
        entries = read_index(git)
        hidden = find_hidden(git, entries)
        with unhidden(git, hidden) as seeing:
            status = read_status(seeing)
        if nested is not None:
            self._skip(territory, status, entries, nested)
        prefix = os.fsdecode(territory.root) + "/" if territory.root else ""
        _StatusReport(self, prefix, kind, hidden, _filtered(git, status)).report(status)
        tree = _Tree(git, territory, {entry.path: entry for entry in entries})
        for difference in find_unlisted(territory, tree.entries, status):
            self._add_difference(tree, difference, "read directory")
        return status, tree

    def _skip(
        self, territory: Territory, status: Status, entries: list[Entry], nested: Sequence[bytes]
    ) -> None:
        """Take build output out of the status and the territory, and list it."""
        tracked = {entry.path for entry in entries}.union(status.list_untracked_since_head())
        skipping = find_skipped(
            self.rules, territory.files, map(os.fsencode, status.ignored), tracked, nested,
            os.fsencode(self.workspace.path),
        )  # fmt: skip
        if not skipping.files:
            return
        self.skipped = skipping.listed
        left = {path for path in (*territory.files, *nested) if path not in skipping.files}
        # An ignored directory of which nothing is left to save is not reported.
        gone = (skipping.files | find_holders(skipping.files)) - left - find_holders(left)
        status.ignored = [path for path in status.ignored if os.fsencode(path.rstrip("/")) not in gone]
        territory.files = {path: size for path, size in territory.files.items() if path not in skipping.files}
        territory.empty = [path for path in territory.empty if not skipping.drops(path)]
        territory.directories = {
            path: mode for path, mode in territory.directories.items() if not skipping.drops(path)
        }

    def _compare(self, repo: Repository, tree: _Tree) -> None:
        checkout = self.workspace.checkout
        sticky = os.stat(self.workspace.path).st_mode & stat.S_ISGID
        umask = checkout.umask if checkout else None
        for difference in find_uncommittable(tree.territory, tree.entries, umask, sticky):
            self._add_difference(tree, difference, "read directory")
        store = partial(self._lfs_store, repo, tree)
        for difference in find_different(tree.git, tree.territory, tree.entries, store):
            self._add_difference(tree, difference, "git hash-object --no-filters")

    def _lfs_store(self, repo: Repository, tree: _Tree) -> str | None:
        """Where Git LFS keeps its files, if that stays when the workspace goes."""
        if tree.territory.root:
            return None
        named = os.path.join(repo.common_dir, tree.git.run("config", "lfs.storage", ok=(0, 1)).text or "lfs")
        store = os.path.realpath(named)
        own = (os.path.realpath(place or "") + os.sep for place in (self.workspace.path, tree.git.git_dir))
        return None if store.startswith(tuple(own)) else store

    def _add_difference(self, tree: _Tree, difference: Difference, command: str) -> None:
        path = os.fsdecode(os.path.join(tree.territory.root, difference.path))
        self.add(difference.kind, f"{shown(path)} ({difference.why})", command, path=path)

    def _read_state(self, git_dir: str, prefix: str = "", kind: Kind | None = None) -> None:
        where = f" in {shown(prefix)}" if prefix else ""
        for operation in read_operations(git_dir):
            about = f" of {operation.oid}" if operation.oid else ""
            what = f"{operation.name}{about}{where} ({operation.file})"
            self.add(kind or Kind.OPERATION, what, "read git directory", oid=operation.oid)
        for oid in read_autostashes(git_dir):
            self.add(kind or Kind.STASH, f"{oid} (autostash{where})", "read git directory", oid=oid)
        if os.path.lexists(os.path.join(git_dir, "index.lock")):
            self.add(kind or Kind.INDEX_LOCK, f"index.lock{where}", "read git directory")

    def _ownership(self, repo: Repository, git_dir: str) -> Ownership:
        return read_ownership(git_dir, repo.common_dir, self.workspace.branch, repo.exists)

    def _read_commits(self, git: Git) -> None:
        base = self.workspace.base
        self.commits_ahead = (
            0 if self.head in (None, base) else _count(git, self.head, *(["--not", base] if base else []))
        )
        if self.head and self.branch is None:
            alone = _count(git, self.head, "--not", "--branches", "--remotes", "--tags")
            if alone:
                what = f"HEAD at {self.head} with {_plural(alone, 'commit')}"
                self.add(Kind.DETACHED, what, "git rev-list HEAD --not --branches", oid=self.head)
        assert git.git_dir is not None
        for oid in _abandoned(git, git.git_dir, self.head):
            self.add(Kind.ABANDONED, oid, "git rev-list --not --all", oid=oid)

    def _read_inner(
        self, repo: Repository, git: Git, inner: Inner, territory: Territory, trees: dict[bytes, _Tree]
    ) -> None:
        # Whether the repository around it has it as a submodule. A gitlink alone, as `git add` makes one of
        # any clone, names a commit that is nowhere but in that clone.
        around = os.path.dirname(territory.root)
        while around not in trees and around:
            around = os.path.dirname(around)
        path = os.path.relpath(territory.root, around) if around else territory.root
        is_submodule = around in trees and path in trees[around].submodules()
        kind = Kind.SUBMODULE if is_submodule else Kind.NESTED_REPOSITORY
        assert inner.path is not None
        name = shown(inner.path)
        if not is_submodule:
            self.add(kind, f"{name}/ (a repository of its own)", "find repositories", path=inner.path)
        with self.part(f"git -C {name} status"):
            own = git.on(inner.git_dir, os.path.join(self.workspace.path, inner.path))
            _, trees[territory.root] = self._read_status(own, territory, kind)
            self._read_state(inner.git_dir, inner.path, kind)
            self._read_inner_refs(repo, own, inner, kind)

    def _read_inner_refs(self, repo: Repository, own: Git, inner: Inner, kind: Kind) -> None:
        """What a repository inside has beside its files."""
        if inner.common_dir == repo.common_dir:
            return  # a further worktree of the same repository: its refs and stashes are not in it
        name = shown(inner.path) if inner.path is not None else os.path.basename(inner.git_dir)
        for entry in read_reflog(os.path.join(inner.common_dir, "logs", "refs", "stash")):
            self.add(kind, f"stash {entry.new} in {name}", "git stash list", path=inner.path, oid=entry.new)
        refs = ("--exclude=refs/stash", "--all", "--not")
        if unpushed := _count(own, *refs, "--remotes"):
            what = f"{_plural(unpushed, 'commit')} in {name} on no remote"
            self.add(kind, what, "git rev-list --all --not --remotes", path=inner.path)
        elif near := _count(own, *refs, *(f"--remotes={remote}" for remote in read_far_remotes(own))):
            # A member cannot change that: its repository has no other remote.
            what = f"{_plural(near, 'commit')} in {name} on no remote outside this machine"
            self.add(Kind.LOCAL_REMOTE, what, "git rev-list --all --not --remotes", path=inner.path)
        # `git submodule update`, for one, moves HEAD away from what was committed there.
        for oid in _abandoned(own, inner.git_dir, None):
            self.add(Kind.ABANDONED, f"{oid} in {name}", "git rev-list --not --all", path=inner.path, oid=oid)

    def read_unmerged(self, repo: Repository, git: Git, integration: str | None) -> None:
        with self.part("git rev-list"):
            target = repo.commit(f"refs/heads/{integration}") if integration else None
            for name, tip in self._tips(repo, git):
                if target is None:
                    what = f"{name} at {tip}, and no integration branch to compare it with"
                    self.add(Kind.UNMERGED, what, "git rev-parse", oid=tip)
                elif not is_merged(repo, tip, target):
                    ahead = _plural(_count(git, tip, "--not", target), "commit")
                    what = f"{name} at {tip}, {ahead} ahead of {integration}"
                    self.add(Kind.UNMERGED, what, f"git rev-list {integration}..{name}", oid=tip)

    def _tips(self, repo: Repository, git: Git) -> Iterator[tuple[str, str]]:
        """Its own branches, and HEAD, where they hold any commit since the workspace began."""
        assert git.git_dir is not None
        names = sorted(
            self._ownership(repo, git.git_dir).branches | ({self.branch} if self.branch else set())
        )
        tips = [(name, repo.commit(f"refs/heads/{name}")) for name in names]
        if self.branch is None:
            tips.append(("HEAD", self.head))
        for name, tip in tips:
            if tip and tip != self.workspace.base:
                yield name, tip

    def read_sync(self, git: Git, command: str | Sequence[str]) -> None:
        words = ["sh", "-c", command] if isinstance(command, str) else list(command)
        told = command if isinstance(command, str) else " ".join(command)
        with self.part(told):
            answer = git.reap(
                words, cwd=git.cwd, env=quiet_environment(), stdin=None, timeout_s=git.time_left()
            )
            if answer.code:
                said = (answer.err or answer.out).decode("utf-8", "replace").strip().splitlines()
                last = f": {shown(said[-1])}" if said else ""
                self.add(Kind.OUT_OF_SYNC, f"`{told}` ended with status {answer.code}{last}", told)


@dataclass(frozen=True, slots=True)
class _StatusReport:
    """Turns a status into findings."""

    reading: _Reading
    prefix: str
    kind: Kind | None
    hidden: frozenset[str]
    filtered: Mapping[str, str]  # paths that may be modified for our git alone, and their filters

    def report(self, status: Status) -> None:
        for path in status.conflicts:
            self._add(Kind.CONFLICT, path, shown(self.prefix + path))
        for entry in status.changed:
            name = shown(self.prefix + entry.path)
            if entry.staged != ".":
                came = f", was {shown(entry.old_path)}" if entry.old_path else ""
                self._add(
                    Kind.STAGED, entry.path, f"{name} ({_LETTERS.get(entry.staged, entry.staged)}{came})"
                )
            # What is changed inside a submodule is read there, name by name.
            if entry.unstaged != "." and (entry.submodule == "N..." or entry.submodule_commit_changed):
                self._report_unstaged(entry, name)
        for path in status.untracked:
            # A trailing slash is a repository of its own; it is found by looking for it.
            name = self.prefix + path
            if path.endswith("/"):
                continue
            if self.reading.rules.private.match(os.fsencode(name)):
                self.reading.add(Kind.PRIVATE, shown(name), "git status --porcelain=v2", path=name)
            else:
                self._add(Kind.UNTRACKED, path, shown(name))
        for path in status.ignored:
            self.reading.add(
                Kind.IGNORED, shown(self.prefix + path), "git status --ignored", path=self.prefix + path
            )

    def _report_unstaged(self, entry: Changed, name: str) -> None:
        if entry.path in self.filtered and entry.path not in self.hidden:
            why = f"changed, or by the filter {self.filtered[entry.path]}, which the member has configured"
            path = self.prefix + entry.path
            self.reading.add(Kind.FILTERED, f"{name} ({why})", "git status --porcelain=v2", path=path)
            return
        kind = Kind.HIDDEN if entry.path in self.hidden else Kind.MODIFIED
        self._add(kind, entry.path, f"{name} ({_LETTERS.get(entry.unstaged, entry.unstaged)})")

    def _add(self, kind: Kind, path: str, what: str) -> None:
        self.reading.add(self.kind or kind, what, "git status --porcelain=v2", path=self.prefix + path)


@dataclass(slots=True)
class _Tree:
    """One repository of a workspace, read."""

    git: Git
    territory: Territory
    entries: dict[bytes, Entry]
    _submodules: frozenset[bytes] | None = None

    def submodules(self) -> frozenset[bytes]:
        """Paths that are a submodule's in the index and in `.gitmodules`."""
        if self._submodules is None:
            gitlinks = frozenset(path for path, entry in self.entries.items() if entry.mode == GITLINK)
            self._submodules = gitlinks & read_submodule_paths(self.git) if gitlinks else gitlinks
        return self._submodules


def _filtered(git: Git, status: Status) -> dict[str, str]:
    """Modified files whose filter is another one now than when the team began.

    headcount does not run a filter of a member, so it cannot know whether the member's git calls the file
    modified. A member must not be sent back for a file that its own git has nothing to commit of.
    """
    modified = [os.fsencode(entry.path) for entry in status.changed if entry.unstaged == "M"]
    if not modified or not (changed := git.find_changed_filters()):
        return {}
    return {os.fsdecode(path): name for path, name in read_filters(git, modified).items() if name in changed}


def _abandoned(git: Git, git_dir: str, head: str | None) -> list[str]:
    """What `git_dir` names and no ref that stays reaches: amended, reset away, left detached, fetched only.

    Of commits only the tips. Refs that are the worktree's alone go with it, so they hold nothing.
    """
    refs = [oid for oid in read_own_refs(git_dir) if oid != head]
    asked = [*(oid for oid in read_logged_commits(git_dir) if oid != head), *refs]
    if not asked:
        return []
    # `--ignore-missing` is for commits that are gone already: there is nothing left to save of them.
    own = (f"--exclude=refs/{place}/*" for place in ("bisect", "rewritten", "worktree"))
    reached = ("--not", *own, "--all", *([head] if head else []))
    args = ("rev-list", "--parents", "--ignore-missing", "--stdin", *reached)
    found = git.run(*args, stdin="\n".join(asked).encode() + b"\n").text.split("\n")
    parents = {parent for line in found for parent in line.split(" ")[1:]}
    tips = [oid for oid in (line.split(" ")[0] for line in found) if oid and oid not in parents]
    types = read_types(git, refs) if refs else {}
    others = [oid for oid, kind in types.items() if kind in ("tree", "blob")]
    whole = git.text("rev-parse", f"{head}^{{tree}}") if others and head else None
    return tips + [oid for oid in others if oid != whole]


def _count(git: Git, *revisions: str) -> int:
    return int(git.text("rev-list", "--count", *revisions))


def _plural(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
