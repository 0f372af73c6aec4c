"""Write a workspace again as it was when it was saved.

A restore changes nothing that exists. The target must be empty. A branch that has moved or is in use stays as
it is, and the restored workspace gets a branch beside it. Stashes that are still on the list are not added
again. git's own record of the worktree's place is made new. Everything else is written from the salvage, byte
for byte, and only inside the two directories that this restore made.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Collection
from dataclasses import field
from itertools import count
from typing import TYPE_CHECKING

from headcount.errors import GitError, UsageError
from headcount.value_classes import dataclass
from headcount.workspace.archive import check_private, find_private, read_private
from headcount.workspace.git import Git
from headcount.workspace.objects import LINK, Leaf, find_broken, read_blobs, read_sizes, read_tree, write_leaf
from headcount.workspace.ref_names import from_tree, numbered, shown
from headcount.workspace.reflog import read_stashes
from headcount.workspace.repository import Repository
from headcount.workspace.safe_files import Target, is_long
from headcount.workspace.snapshot import FILES, STATE
from headcount.workspace.verify import Saved, read_saved

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headcount.domain.findings import Archive, Salvage

# A lock that a crash left is in the salvage as evidence; in a restored workspace it would only be in the way.
_NOT_RESTORED = {STATE + b"index.lock", STATE + b"HEAD.lock"}
# Files that `git worktree add` writes, or copies from the main worktree. Only those of the salvage count.
_REPLACED = ("HEAD", "index", "ORIG_HEAD", "logs/HEAD", "config.worktree", "info/sparse-checkout")
_GIT_LINK = FILES + b".git"  # the restored worktree's own; what stood there goes beside it
_LINK_BYTES = 1 << 16
_PATIENCE_S = 86_400.0  # a person waits for it, and can interrupt it
_SETTINGS = STATE + b"config.worktree"
# Settings that cannot make git run a command.
_HARMLESS = frozenset(
    f"core.{name}"
    for name in (
        "autocrlf",
        "eol",
        "filemode",
        "ignorecase",
        "sparsecheckout",
        "sparsecheckoutcone",
        "symlinks",
    )
) | {"index.sparse", "user.name", "user.email"}


@dataclass(frozen=True, slots=True)
class Restored:
    """`notes` say where the restored workspace is not exactly the old one, and why."""

    path: str
    branch: str | None
    notes: tuple[str, ...]


def restore(
    repo: Repository,
    ref: str,
    target: str,
    receipt: Salvage | None = None,
    archive_directory: str = "",
) -> Restored:
    """Restore the salvage `ref` to `target`, which must not exist or be an empty directory.

    If the ref is gone, the commit that the receipt names is restored.
    """
    repo = repo.until(_PATIENCE_S)
    saved = read_saved(repo, ref, receipt.commit if receipt else None)
    saved.require_safe()
    private, why = _find_usable(saved, archive_directory, receipt)
    target = os.path.realpath(target)
    require_empty(target)
    broken = find_broken(repo.git, repo.hash_name, saved.leaves.values())
    if broken:
        raise GitError(
            f"Did not restore {shown(ref)}",
            f"object {broken[0]} is missing or broken",
            code="salvage-differs",
        )
    require_room(repo.git, saved.content.values(), target, shown(saved.ref))
    # Without a commit of its own to stand on, the salvage serves: HEAD is replaced below.
    start = saved.manifest["head"] or saved.commit
    repo.git.run("worktree", "add", "--quiet", "--no-checkout", "--detach", target, start)
    git_dir = repo.find_git_dir(target)
    assert git_dir is not None
    try:
        notes = [f"its private files are not here: {why}"] if why else []
        return _Restoring(repo, saved, target, git_dir, private, notes).restore()
    except BaseException:
        # Both were made a moment ago, and all that is in them came from the salvage.
        shutil.rmtree(target, ignore_errors=True)
        shutil.rmtree(git_dir, ignore_errors=True)
        raise


def require_empty(target: str) -> None:
    if os.path.lexists(target) and (not os.path.isdir(target) or os.listdir(target)):
        raise UsageError(f"Did not restore to {shown(target)}", "it is not empty", code="target-not-empty")


def require_room(git: Git, leaves: Collection[Leaf], target: str, what: str) -> None:
    """Before the first byte: a small pack can name one large file a thousand times."""
    sizes = read_sizes(git, {leaf.oid for leaf in leaves})
    needed = sum(sizes.get(leaf.oid, 0) for leaf in leaves)
    above = target
    while not os.path.isdir(above):
        above = os.path.dirname(above)
    free = shutil.disk_usage(above).free
    if needed > free:
        raise GitError(
            f"Did not restore {what}",
            f"it has {needed:,} bytes, and {free:,} are free in {above}",
            code="salvage-failed",
        )


@dataclass(slots=True)
class _Restoring:
    repo: Repository
    saved: Saved
    target: str
    git_dir: str
    private: Archive | None
    notes: list[str] = field(default_factory=list)
    files: Target = field(init=False)
    state: Target = field(init=False)

    def __post_init__(self) -> None:
        self.files, self.state = Target(os.fsencode(self.target)), Target(os.fsencode(self.git_dir))

    def restore(self) -> Restored:
        for name in _REPLACED:
            if os.path.lexists(os.path.join(self.git_dir, name)):
                os.unlink(os.path.join(self.git_dir, name))
        left = self._left_behind()
        wanted = {path: leaf for path, leaf in self.saved.content.items() if path not in left}
        blobs = read_blobs(self.repo.git, (leaf.oid for leaf in wanted.values()))
        for (path, leaf), blob in zip(wanted.items(), blobs, strict=True):
            write_leaf(*self._place(_decoded(path)), leaf, blob.chunks)
        self._write_private()
        if any(_is_git_link(from_tree(path)) for path in wanted):
            place = os.fsdecode(self._beside_link().removeprefix(FILES))
            self.notes.append(f".git was something of its own, and is at {place}")
        if any(b"/%.git/" in path or path.startswith(STATE + b"modules/") for path in wanted):
            self.notes.append("it holds repositories of its own: their hooks and settings can run commands")
        self._write_directories()
        branch = self._restore_head()
        self._restore_branches()
        present = {stash.oid for stash in read_stashes(self.repo.common_dir)}
        for oid, message in reversed(self.saved.manifest["stashes"]):
            if oid not in present:
                self.repo.git.run("update-ref", "--create-reflog", "-m", message, "refs/stash", oid)
        self._relink_submodules()
        # Last, children before parents: a directory may have been read-only.
        manifest = self.saved.manifest
        odd = {self._key(os.fsencode(path)): mode for path, mode in manifest["odd_modes"].items()}
        for target in (self.files, self.state):
            for path in sorted(target.made, reverse=True):
                sort = _sort(target.lstat(path).st_mode)
                target.set_mode(path, odd.get((target.root, path), manifest["modes"].get(sort, 0o755)))
        self.notes += [
            f"{shown(path)} was no file and is not there" for path in self.saved.manifest["special"]
        ]
        self.notes += [f"{path} was left out: {why}" for path, _, why in self.saved.manifest["left_out"]]
        self.notes += [
            f"{one['path']} was not saved, because it can be built again: {one['why']}"
            for one in self.saved.manifest.get("skipped", ())
        ]
        return Restored(self.target, branch, tuple(self.notes))

    def _write_private(self) -> None:
        if self.private is not None:
            for path, mode, link, chunks in read_private(self.private):
                target, name = self._place(FILES + path)
                _write_private(target, name, mode, link, chunks)

    def _place(self, path: bytes) -> tuple[Target, bytes]:
        """Where a path of the salvage goes, decoded: the directory that it is below, and the path there."""
        if not path.startswith(FILES):
            return self.state, path.removeprefix(STATE)
        if _is_git_link(path):
            path = path.replace(_GIT_LINK, self._beside_link(), 1)
        return self.files, path.removeprefix(FILES)

    def _beside_link(self) -> bytes:
        """A free name for what stood in the place of the worktree's own `.git`."""
        names = (FILES + numbered(".git.salvaged", n).encode() for n in count(1))
        taken = {b"/".join(path.split(b"/")[:2]) for path in self.saved.content}
        return next(name for name in names if name not in taken)

    def _left_behind(self) -> set[bytes]:
        """Locks, and settings that can make git run a command as soon as somebody stands there."""
        if _SETTINGS not in self.saved.leaves:
            return _NOT_RESTORED
        blob = ("config", "--name-only", "-z", f"--blob={self.saved.leaves[_SETTINGS].oid}", "--list")
        listed = self.repo.git.run(*blob, ok=range(256))
        keys = {os.fsdecode(key) for key in listed.records()}
        if listed.code == 0 and keys <= _HARMLESS:
            return _NOT_RESTORED
        self.notes.append(
            "config.worktree is not restored, because it can run commands; "
            f"see it with `git show {self.saved.commit}:gitdir/config.worktree`"
        )
        return _NOT_RESTORED | {_SETTINGS}

    def _write_directories(self) -> None:
        for path in self.saved.manifest["empty_directories"]:
            target, name = self._place(os.fsencode(path))
            target.make_directory(name)

    def _restore_head(self) -> str | None:
        head_ref, head = self.saved.manifest["head_ref"], self.saved.manifest["head"]
        if not head_ref:
            return None
        branch = str(head_ref).removeprefix("refs/heads/")
        free = self._free_branch(branch, head)
        if free != branch:
            self.notes.append(f"it stands on {free}, because {branch} has moved on or is in use")
        if head:
            self.repo.create_ref(f"refs/heads/{free}", head, "headcount: restore")
        with open(
            os.path.join(self.git_dir, "HEAD"), "w", encoding="utf-8", errors="surrogateescape"
        ) as file:
            file.write(f"ref: refs/heads/{free}\n")
        return free

    def _free_branch(self, branch: str, head: str | None) -> str:
        n = 1
        while True:
            name = numbered(branch, n)
            if self.repo.commit(f"refs/heads/{name}") in (None, head) and not self._in_use(name):
                return name
            n += 1

    def _in_use(self, branch: str) -> bool:
        """By another worktree: a rebase that was restored with this one names the branch as well."""
        return self.repo.branch_in_use(branch, besides=self.target) is not None

    def _restore_branches(self) -> None:
        for name, commit in self.saved.manifest["branches"].items():
            now = self.repo.commit(f"refs/heads/{name}")
            if now is None:
                self.repo.create_ref(f"refs/heads/{name}", commit, "headcount: restore")
            elif now != commit:
                self.notes.append(f"{name} is at {now}, was at {commit}, and was not moved")

    def _relink_submodules(self) -> None:
        """A submodule's work tree and git directory name each other by place, and the place is new."""
        old = self.saved.workspace
        for path, leaf in self.saved.content.items():
            name = from_tree(path)
            if leaf.mode == LINK or _is_git_link(name):
                continue  # it is what it was, wherever it leads
            if path.startswith(FILES) and name.endswith(b"/.git"):
                self._relink_work_tree(name, old.path, old.git_dir or "")
            if name.startswith(STATE + b"modules/") and name.endswith(b"/config"):
                self._relink_git_dir(name, old.path, old.git_dir or "")

    def _relink_work_tree(self, name: bytes, old_path: str, old_git_dir: str) -> None:
        target, path = self._place(name)
        named = os.fsdecode(target.read(path, _LINK_BYTES)).removeprefix("gitdir:").strip()
        was_in = os.path.dirname(os.path.join(old_path, os.fsdecode(path)))
        inside = _inside(os.path.join(was_in, named), old_git_dir)
        if inside is not None:
            link = os.fsencode(f"gitdir: {os.path.join(self.git_dir, inside)}\n")
            target.write_file(path, [link], replace=True)

    def _relink_git_dir(self, name: bytes, old_path: str, old_git_dir: str) -> None:
        target, path = self._place(name)
        if is_long(target.root, path):
            return  # git cannot read it there
        place = os.fsdecode(os.path.join(target.root, path))
        config = Git(executable=self.repo.git.executable)
        # One that git cannot read was broken before, and is restored so.
        named = config.run("config", "--file", place, "core.worktree", ok=range(256)).text
        was_in = os.path.dirname(os.path.join(old_git_dir, os.fsdecode(path)))
        inside = _inside(os.path.join(was_in, named), old_path) if named else None
        if inside is not None:
            config.run("config", "--file", place, "core.worktree", os.path.join(self.target, inside))

    def _key(self, path: bytes) -> tuple[bytes, bytes]:
        target, name = self._place(path)
        return target.root, name


def _find_usable(
    saved: Saved, archive_directory: str, receipt: Salvage | None = None
) -> tuple[Archive | None, str]:
    """The archive of its private files, or why it cannot be used."""
    private = find_private(archive_directory, saved.ref, saved.manifest, receipt)
    problems = check_private(saved.manifest, private)
    return (None, problems[0]) if problems else (private, "")


def _write_private(
    target: Target,
    path: bytes,
    mode: int,
    link: bytes | None,
    chunks: Iterable[bytes],
    *,
    replace: bool = False,
) -> None:
    if link is not None:
        target.write_link(path, link, replace=replace)
    else:
        target.write_file(path, chunks, mode, replace=replace)


def _is_git_link(path: bytes) -> bool:
    """Return whether a decoded path is the worktree's own `.git`, or below it."""
    return path == _GIT_LINK or path.startswith(_GIT_LINK + b"/")


def _decoded(path: bytes) -> bytes:
    prefix, _, rest = path.partition(b"/")
    return prefix + b"/" + from_tree(rest)


def _sort(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "directory"
    return "100755" if mode & 0o100 else "100644"


def _inside(path: str, directory: str) -> str | None:
    """`path` relative to `directory`, if it is in it."""
    relative = os.path.relpath(os.path.normpath(path), os.path.normpath(directory))
    return None if relative.startswith(os.pardir) else relative


# --- carry -----------------------------------------------------------------------------------------------
#
# Continue from a salvage: write its files into a workspace that another member was just given.


_CONTINUE_LIMIT_S = 600.0


def carry_over(repo: Repository, saved: Saved, path: str, archive_directory: str = "") -> None:
    """Make the files below `path`, a fresh checkout of the salvage's HEAD, what they were in the salvage.

    Changes come uncommitted, as they were left; the index, stashes and operations stay with the salvage. A
    file is replaced by renaming, so that it is the old one or the new one at any moment.
    """
    saved.require_safe()
    repo = repo.until(_CONTINUE_LIMIT_S)
    head = read_tree(repo.git, saved.manifest["head"]) if saved.manifest["head"] else {}
    files = {
        from_tree(name.removeprefix(FILES)): leaf
        for name, leaf in saved.leaves.items()
        if name.startswith(FILES) and not _is_link_file(name)
    }
    directories = {parent for name in files for parent in _parents(name)}
    used = {part for name in files for part in name.split(b"/")}
    beside = next(name for name in (b".headcount-new%d" % n for n in count()) if name not in used)
    target = Target(os.fsencode(path), beside=beside)
    for name, leaf in head.items():
        # Of what is no longer there, and of a file or link that stands where a directory goes.
        if leaf.mode != "160000" and (name not in files or name in directories):
            target.delete(name)
    changed = {name: leaf for name, leaf in files.items() if leaf != head.get(name)}
    blobs = read_blobs(repo.git, (leaf.oid for leaf in changed.values()))
    for (name, leaf), blob in zip(changed.items(), blobs, strict=True):
        write_leaf(target, name, leaf, blob.chunks, replace=True)
    private, _ = _find_usable(saved, archive_directory)
    for name, mode, link, chunks in read_private(private) if private else ():
        if name.split(b"/")[0] != b".git":
            _write_private(target, name, mode, link, chunks, replace=True)


def _is_link_file(name: bytes) -> bool:
    """The new workspace has its own `.git`; what stood there stays with the salvage."""
    return from_tree(name.removeprefix(FILES)).split(b"/")[0] == b".git"


def _parents(path: bytes) -> list[bytes]:
    parts = path.split(b"/")
    return [b"/".join(parts[:n]) for n in range(1, len(parts))]
