"""A snapshot of a workspace: everything that a salvage has to hold, as values.

A workspace consists of two directories: the one that the member sees, and its private git directory
(index, operations in progress, reflog of HEAD, git directories of submodules). The snapshot holds both,
byte for byte. It also names the commits, staged blobs and stashes that they refer to, so that git does
not delete them. Two snapshots of an unchanged workspace are equal. headcount uses that to recognise a
repeat, to verify a salvage against the disk, and to see at the removal gate that nothing was added.
"""

from __future__ import annotations

import os
import re
import shlex
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, field
from typing import Any

from headcount.domain.findings import LeftOut, Skipped, Workspace
from headcount.errors import GitError, UsageError
from headcount.value_classes import dataclass
from headcount.workspace.archive import PRIVATE
from headcount.workspace.contents import git_dir_of
from headcount.workspace.disk_scan import Listing, Node, hash_node, list_directory, open_path
from headcount.workspace.git import Git
from headcount.workspace.git_state import Status, read_index, read_status
from headcount.workspace.objects import Leaf, read_types
from headcount.workspace.ref_names import shown, to_tree
from headcount.workspace.reflog import read_ownership, read_stashes
from headcount.workspace.repository import WITHDRAWN, Repository, linked_to
from headcount.workspace.saving_rules import SavingRules, find_skipped

FILES, STATE = b"files/", b"gitdir/"
MB = 1 << 20

_ALL = SavingRules()  # everything is saved, and in git
OVER_LIMIT = "over the limit for a salvage"
OVER_IGNORED = "ignored, and over the limit for ignored files"
_ASKING = 0.25  # of its time is spent on asking git in the workspace, where a filter may hang
_OID = re.compile(rb"(?<![0-9a-f])(?:[0-9a-f]{64}|[0-9a-f]{40})(?![0-9a-f])")
_INDEXES = (b"index", b"sharedindex.", b"next-index-")  # what they name is read from them by git
# These say where the worktree is, and whose; they are made anew for a restored one.
PLACE = frozenset(
    {b"gitdir", b"commondir", b"locked", b"headcount.json", b"headcount.removing", WITHDRAWN.encode()}
)
# What a process that was killed while it wrote one of these has left (`write_durably`).
_UNFINISHED = re.compile(rb"headcount\.(?:json|removing)\.\d+\.new")


@dataclass(frozen=True, slots=True)
class Limits:
    """In bytes. Only what is not yet in the object database counts."""

    total: int
    ignored: int

    @classmethod
    def mb(cls, total: int, ignored: int) -> Limits:
        return cls(total * MB, ignored * MB)


@dataclass(frozen=True, slots=True)
class _Patience:
    """Until when bytes are read. A file over the limit, which may be one large hole, has half of the time to
    show that git has it already."""

    limit: int
    deadline: float
    deadline_over_limit: float

    @classmethod
    def of(cls, timeout_s: float, limit: int) -> _Patience:
        now = time.monotonic()
        return cls(limit, now + timeout_s, now + timeout_s / 2)

    def until(self, node: Node) -> float:
        return self.deadline_over_limit if self.is_over(node) else self.deadline

    def is_over(self, node: Node) -> bool:
        return node.size > self.limit


@dataclass(frozen=True, slots=True)
class Source:
    """Where a leaf's bytes are."""

    root: bytes
    node: Node


@dataclass(slots=True)
class Snapshot:
    """`leaves` and `sources` go by path in the salvage's tree; `manifest` holds what a tree cannot."""

    leaves: dict[bytes, Leaf] = field(default_factory=dict)
    sources: dict[bytes, Source] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    private: list[Node] = field(default_factory=list)
    skipped: tuple[Skipped, ...] = ()
    known: frozenset[str] = frozenset()  # blobs of the leaves that git had
    head: str | None = None
    named: list[str] = field(default_factory=list)
    manifest: dict[str, Any] = field(default_factory=dict)


def take_snapshot(
    repo: Repository,
    workspace: Workspace,
    limits: Limits,
    timeout_s: float,
    rules: SavingRules = _ALL,
) -> Snapshot:
    if workspace.git_dir is None:
        raise UsageError(
            f"{workspace.path} is a plain directory", "only worktrees are kept in git", code="no-git"
        )
    _check_place(repo, workspace, workspace.git_dir)
    asking = repo.git.until(timeout_s * _ASKING)
    patience = _Patience.of(timeout_s, limits.total)
    snapshot = Snapshot()
    files = list_directory(os.fsencode(workspace.path), _skip_link(workspace))
    state = list_directory(os.fsencode(workspace.git_dir), _says_where)
    kept = _sort_out(asking.on(workspace.git_dir, workspace.path), files, limits, rules, snapshot)
    _hash(snapshot, FILES, os.fsencode(workspace.path), kept, repo.hash_name, patience)
    _hash(snapshot, STATE, os.fsencode(workspace.git_dir), state.nodes, repo.hash_name, patience)
    _leave_out_over_limit(repo, snapshot, limits.total)
    # A worktree inside has its HEAD, its index and its reflog in a git directory elsewhere, which git takes
    # for abandoned as soon as the worktree is gone.
    inside = tuple(os.path.realpath(place or "") + os.sep for place in (workspace.path, workspace.git_dir))
    for node in files.nodes:
        if not (node.is_file and node.path.endswith(b"/.git")):
            continue
        place = os.path.dirname(node.path)
        with suppress(OSError):  # no link, and so but a file
            git_dir = os.path.realpath(git_dir_of(os.path.join(workspace.path, os.fsdecode(place))))
            if os.path.isdir(git_dir) and not git_dir.startswith(inside):
                snapshot.left_out.append(_left_out(place + b"/", 0, f"a worktree of {shown(git_dir)}"))
    for prefix, listing in ((FILES, files), (STATE, state)):
        for path, why in listing.unreadable:
            snapshot.left_out.append(_left_out(prefix + path + b"/", 0, f"could not be read: {why}"))
    # Without a work tree: the directory may be gone, and its refs are read all the same.
    about = _read_refs(repo, workspace, repo.git.on(workspace.git_dir, None), snapshot)
    snapshot.manifest = {
        "version": 1,
        "workspace": workspace.as_dict(),
        "limits": [limits.total, limits.ignored],
        **about,
        **_modes([(FILES, files), (STATE, state)]),
        "left_out": [[item.path, item.size, item.why] for item in snapshot.left_out],
        # Salvages of older versions have none of these.
        **({"rules": rules.as_dict()} if rules != _ALL else {}),
        **({"skipped": [asdict(one) for one in snapshot.skipped]} if snapshot.skipped else {}),
        **({PRIVATE: _names(node.path for node in snapshot.private)} if snapshot.private else {}),
    }
    return snapshot


def _says_where(path: bytes) -> bool:
    return path in PLACE or _UNFINISHED.fullmatch(path) is not None


def _check_place(repo: Repository, workspace: Workspace, git_dir: str) -> None:
    """It stands where it was recorded. Else nothing, or what is not its own, would be saved in its name."""
    if os.path.commonpath((os.path.realpath(git_dir), repo.common_dir)) != repo.common_dir:
        raise GitError(
            f"Did not save {workspace.path}",
            f"it belongs to the repository of {git_dir}, and that is at {repo.common_dir} now",
            ("Move the repository back to where the team was started",),
            code="salvage-failed",
        )
    place = linked_to(git_dir)
    if place and not os.path.lexists(workspace.path) and os.path.lexists(place):
        raise GitError(
            f"Did not save {workspace.path}",
            f"it was moved to {shown(place)}",
            (f"Move it back with `git worktree move {shlex.quote(place)} {shlex.quote(workspace.path)}`",),
            code="salvage-failed",
        )
    if os.path.islink(workspace.path):
        raise GitError(
            f"Did not save {workspace.path}",
            f"it is a link to {shown(os.readlink(workspace.path))} now",
            ("Put the directory back in its place",),
            code="salvage-failed",
        )


def _skip_link(workspace: Workspace) -> Any:
    """The link file `.git` says where the worktree is; anything else of that name is content."""
    path = os.path.join(workspace.path, ".git")
    is_link = os.path.isfile(path) and not os.path.islink(path) and _leads_to(path, workspace)
    return (lambda name: name == b".git") if is_link else (lambda name: False)


def _leads_to(link: str, workspace: Workspace) -> bool:
    with open(link, "rb") as file:
        named = os.fsdecode(file.read(4096)).removeprefix("gitdir:").strip()
    return os.path.realpath(os.path.join(workspace.path, named)) == os.path.realpath(workspace.git_dir or "")


def _sort_out(git: Git, files: Listing, limits: Limits, rules: SavingRules, snapshot: Snapshot) -> list[Node]:
    """What goes into the tree: everything without what is skipped, private, or over the limit if ignored."""
    status = _read_status(git)
    ignored = [os.fsencode(path) for path in status.ignored]
    tracked = _read_tracked(git) if rules != _ALL else frozenset()
    nested = [os.path.dirname(node.path) for node in files.nodes if node.path.endswith(b"/.git")]
    inside = tuple(place + b"/" for place in nested)
    contents = [node for node in files.nodes if node.is_file or node.is_link]
    own = {node.path: node.size for node in contents if not node.path.startswith(inside)}
    committed = tracked.union(status.list_untracked_since_head())
    skipping = find_skipped(rules, own, ignored, committed, nested, os.fsencode(git.work_tree or ""))
    snapshot.skipped = skipping.listed
    files.nodes = [
        node
        for node in files.nodes
        if node.path.startswith(inside)
        or not (node.path in skipping.files if node.path in own else skipping.drops(node.path))
    ]
    # In a repository inside, too, every file that matches is private, tracked there or not.
    private = {
        node.path: node
        for node in files.nodes
        if (node.is_file or node.is_link) and node.path not in tracked and rules.private.match(node.path)
    }
    over = _over({path: node.size for path, node in private.items()}, limits.total)
    snapshot.left_out += [_left_out(path, private[path].size, OVER_LIMIT) for path in over]
    snapshot.private = [node for path, node in sorted(private.items()) if path not in over]
    rest = [node for node in files.nodes if node.path not in private]
    return _leave_out_ignored(rest, ignored, limits.ignored, snapshot)


def _read_status(git: Git) -> Status:
    """Where git cannot say, nothing is ignored: it counts as work."""
    try:
        return read_status(git)
    except GitError:
        return Status()


def _read_tracked(git: Git) -> frozenset[bytes]:
    """Paths that git tracks. Where git cannot say, none: no private file may get into a ref by mistake."""
    try:
        return frozenset(entry.path for entry in read_index(git))
    except (GitError, OSError):
        return frozenset()


def _leave_out_ignored(nodes: list[Node], ignored: list[bytes], limit: int, snapshot: Snapshot) -> list[Node]:
    """What is taken. An ignored directory is taken whole or not at all, the small ones first."""
    if not ignored:
        return nodes
    groups: dict[bytes, list[Node]] = {path: [] for path in ignored}
    for node in nodes:
        if (group := _group(node.path, groups)) is not None:
            groups[group].append(node)
    sizes = {path: sum(node.size for node in below if node.is_file) for path, below in groups.items()}
    dropped: set[bytes] = set()
    for path in _over(sizes, limit):
        snapshot.left_out.append(_left_out(path, sizes[path], OVER_IGNORED))
        dropped.update(node.path for node in groups[path])
    return [node for node in nodes if node.path not in dropped]


def _group(path: bytes, groups: Mapping[bytes, object]) -> bytes | None:
    if path in groups:
        return path
    end = path.find(b"/")
    while end >= 0:
        if path[: end + 1] in groups:
            return path[: end + 1]
        end = path.find(b"/", end + 1)
    return path + b"/" if path + b"/" in groups else None


def _over(sizes: Mapping[bytes, int], limit: int) -> list[bytes]:
    """Smallest first, as many as fit; the rest."""
    total, over = 0, []
    for path in sorted(sizes, key=lambda path: (sizes[path], path)):
        total += sizes[path]
        if total > limit:
            over.append(path)
    return over


def _left_out(path: bytes, size: int, why: str) -> LeftOut:
    return LeftOut(shown(os.fsdecode(path)), size, why)


def _hash(
    snapshot: Snapshot, prefix: bytes, root: bytes, nodes: Iterable[Node], algorithm: str, patience: _Patience
) -> None:
    for node in nodes:
        if not (node.is_file or node.is_link):
            continue
        try:
            oid = hash_node(root, node, algorithm, patience.until(node))
        except PermissionError as error:
            snapshot.left_out.append(_left_out(node.path, node.size, f"could not be read: {error.strerror}"))
            continue
        except TimeoutError:
            if not patience.is_over(node):
                raise
            snapshot.left_out.append(_left_out(node.path, node.size, OVER_LIMIT))
            continue
        path = prefix + to_tree(node.path)
        snapshot.leaves[path] = Leaf(node.tree_mode, oid)
        snapshot.sources[path] = Source(root, node)


def _leave_out_over_limit(repo: Repository, snapshot: Snapshot, limit: int) -> None:
    snapshot.known = known = frozenset(read_types(repo.git, {leaf.oid for leaf in snapshot.leaves.values()}))
    new = {
        path: snapshot.sources[path].node.size
        for path, leaf in snapshot.leaves.items()
        if leaf.oid not in known
    }
    for path in _over(new, limit):
        node = snapshot.sources.pop(path).node
        del snapshot.leaves[path]
        snapshot.left_out.append(_left_out(node.path, node.size, OVER_LIMIT))


def _modes(listings: list[tuple[bytes, Listing]]) -> dict[str, Any]:
    """Permissions, as the usual one of each sort and the exceptions; and what no tree can hold."""
    nodes = [
        (_sort(node), prefix + node.path, node.mode & 0o7777)
        for prefix, listing in listings
        for node in listing.nodes
    ]
    counts = Counter((sort, mode) for sort, _, mode in nodes if sort not in ("special", "120000"))
    # From rare to common, and equal counts by mode: the last one of a sort stands.
    usual = {sort: mode for (sort, mode), _ in sorted(counts.items(), key=lambda item: (item[1], item[0]))}
    parents = {os.path.dirname(path) for _, path, _ in nodes}
    return {
        "modes": usual,
        "odd_modes": {os.fsdecode(path): mode for sort, path, mode in nodes if usual.get(sort, mode) != mode},
        "empty_directories": _names(
            path for sort, path, _ in nodes if sort == "directory" and path not in parents
        ),
        "special": _names(path for sort, path, _ in nodes if sort == "special"),
    }


def _names(paths: Iterable[bytes]) -> list[str]:
    return [os.fsdecode(path) for path in sorted(paths)]


def _sort(node: Node) -> str:
    """Git's mode, "directory", or "special"."""
    if node.is_directory:
        return "directory"
    return node.tree_mode if node.is_file or node.is_link else "special"


def _read_refs(repo: Repository, workspace: Workspace, git: Git, snapshot: Snapshot) -> dict[str, Any]:
    """HEAD, its own branches and stashes, and every object that the state files name."""
    head_ref = git.run("symbolic-ref", "--quiet", "HEAD", ok=(0, 1, 128)).text or None
    snapshot.head = git.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}", ok=(0, 1, 128)).text or None
    ownership = read_ownership(git.git_dir or "", repo.common_dir, workspace.branch, repo.exists)
    tips = {name: repo.commit(f"refs/heads/{name}") for name in sorted(ownership.branches)}
    branches = {name: tip for name, tip in tips.items() if tip}
    stashes = [stash for stash in read_stashes(repo.common_dir) if ownership.owns_stash(stash)]
    named = [*branches.values(), *(stash.oid for stash in stashes), *_named_in_state(snapshot, workspace)]
    snapshot.named = list(dict.fromkeys(named))
    return {
        "head": snapshot.head,
        "head_ref": head_ref,
        "branches": branches,
        "stashes": [[stash.oid, stash.message] for stash in stashes],
    }


def _named_in_state(snapshot: Snapshot, workspace: Workspace) -> list[str]:
    """Whatever looks like an object's name in MERGE_HEAD, a rebase's todo, a reflog or their kin."""
    found: list[str] = []
    for path, source in sorted(snapshot.sources.items()):
        name = source.node.path
        if not path.startswith(STATE) or not source.node.is_file:
            continue
        if name.startswith((b"modules/", *_INDEXES)):
            continue
        with open(open_path(source.root, source.node.path), "rb") as file:
            found.extend(oid.decode() for oid in _OID.findall(file.read()))
    return found
