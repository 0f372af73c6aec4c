"""Make a workspace again as it was when it was saved.

Nothing that is there now is changed: the target must be empty, a branch that has moved on or is in use
stays as it is (the restored workspace then stands on a branch beside it), and stashes that are still on
the list are not put there again. What git itself keeps about a worktree's place is made new; all else is
written from the salvage, byte for byte.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field

from headcount.errors import GitError, UsageError
from headcount.workspace.git import Git
from headcount.workspace.names import from_tree, numbered, shown
from headcount.workspace.objects import LINK, read_blobs, write_leaf
from headcount.workspace.picture import FILES, STATE
from headcount.workspace.reflog import read_stashes
from headcount.workspace.repository import Repository
from headcount.workspace.verify import Saved, find_broken, read_saved

# A lock that a crash left is in the salvage as evidence; in a restored workspace it would only be in the way.
_NOT_RESTORED = {STATE + b"index.lock", STATE + b"HEAD.lock"}
# What `git worktree add` wrote and the salvage has in its own version.
_REPLACED = ("HEAD", "index", "ORIG_HEAD", "logs/HEAD")


@dataclass(frozen=True, slots=True)
class Restored:
    """`notes` say where the restored workspace is not exactly the old one, and why."""

    path: str
    branch: str | None
    notes: tuple[str, ...]


def restore(repo: Repository, ref: str, target: str) -> Restored:
    """Restore the salvage `ref` to `target`, which must not exist or be an empty directory."""
    saved = read_saved(repo, ref)
    target = os.path.realpath(target)
    if os.path.lexists(target) and (not os.path.isdir(target) or os.listdir(target)):
        raise UsageError(f"Did not restore to {shown(target)}", "it is not empty", code="target-not-empty")
    broken = find_broken(repo.git, repo.hash_name, saved.leaves.values())
    if broken:
        raise GitError(
            f"Did not restore {ref}", f"object {broken[0]} is missing or broken", code="salvage-differs"
        )
    # Without a commit of its own to stand on, the salvage serves: HEAD is replaced below.
    start = saved.manifest["head"] or saved.commit
    repo.git.run("worktree", "add", "--quiet", "--no-checkout", "--detach", target, start)
    git_dir = repo.find_git_dir(target)
    assert git_dir is not None
    try:
        return _Restoring(repo, saved, target, git_dir).restore()
    except BaseException:
        # Both were made a moment ago, and all that is in them came from the salvage.
        shutil.rmtree(target, ignore_errors=True)
        shutil.rmtree(git_dir, ignore_errors=True)
        raise


@dataclass(slots=True)
class _Restoring:
    repo: Repository
    saved: Saved
    target: str
    git_dir: str
    notes: list[str] = field(default_factory=list)

    def restore(self) -> Restored:
        for name in _REPLACED:
            if os.path.lexists(os.path.join(self.git_dir, name)):
                os.unlink(os.path.join(self.git_dir, name))
        self._write_leaves()
        self._write_directories()
        branch = self._restore_head()
        self._restore_branches()
        self._restore_stashes()
        self._relink_submodules()
        self._restore_modes()
        self.notes += [
            f"{shown(path)} was no file and is not there" for path in self.saved.manifest["special"]
        ]
        self.notes += [f"{path} was left out: {why}" for path, _, why in self.saved.manifest["left_out"]]
        return Restored(self.target, branch, tuple(self.notes))

    def _place(self, path: bytes) -> bytes:
        """Where a path of the salvage goes."""
        prefix, root = (FILES, self.target) if path.startswith(FILES) else (STATE, self.git_dir)
        return os.path.join(os.fsencode(root), path.removeprefix(prefix))

    def _write_leaves(self) -> None:
        wanted = {path: leaf for path, leaf in self.saved.content.items() if path not in _NOT_RESTORED}
        blobs = read_blobs(self.repo.git, (leaf.oid for leaf in wanted.values()))
        for (path, leaf), blob in zip(wanted.items(), blobs, strict=True):
            place = self._place(_decoded(path))
            os.makedirs(os.path.dirname(place), exist_ok=True)
            write_leaf(place, leaf, blob.chunks)

    def _write_directories(self) -> None:
        for path in self.saved.manifest["empty_directories"]:
            os.makedirs(self._place(os.fsencode(path)), exist_ok=True)

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

    def _restore_stashes(self) -> None:
        present = {stash.oid for stash in read_stashes(self.repo.common_dir)}
        for oid, message in reversed(self.saved.manifest["stashes"]):
            if oid not in present:
                self.repo.git.run("update-ref", "--create-reflog", "-m", message, "refs/stash", oid)

    def _relink_submodules(self) -> None:
        """A submodule's work tree and git directory name each other by place, and the place is new."""
        old = self.saved.workspace
        for path, leaf in self.saved.content.items():
            name = from_tree(path)
            if leaf.mode == LINK:
                continue  # it is what it was, wherever it leads
            if path.startswith(FILES) and name.endswith(b"/.git"):
                self._relink_work_tree(name, old.path, old.git_dir or "")
            if name.startswith(STATE + b"modules/") and name.endswith(b"/config"):
                self._relink_git_dir(name, old.path, old.git_dir or "")

    def _relink_work_tree(self, name: bytes, old_path: str, old_git_dir: str) -> None:
        place = os.fsdecode(self._place(name))
        with open(place, encoding="utf-8", errors="surrogateescape") as file:
            named = file.read().removeprefix("gitdir:").strip()
        was_in = os.path.dirname(os.path.join(old_path, os.fsdecode(name.removeprefix(FILES))))
        inside = _inside(os.path.join(was_in, named), old_git_dir)
        if inside is not None:
            with open(place, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(f"gitdir: {os.path.join(self.git_dir, inside)}\n")

    def _relink_git_dir(self, name: bytes, old_path: str, old_git_dir: str) -> None:
        place = os.fsdecode(self._place(name))
        config = Git(executable=self.repo.git.executable)
        # One that git cannot read was broken before, and is restored so.
        named = config.run("config", "--file", place, "core.worktree", ok=range(256)).text
        was_in = os.path.dirname(os.path.join(old_git_dir, os.fsdecode(name.removeprefix(STATE))))
        inside = _inside(os.path.join(was_in, named), old_path) if named else None
        if inside is not None:
            config.run("config", "--file", place, "core.worktree", os.path.join(self.target, inside))

    def _restore_modes(self) -> None:
        """Last, children before parents: a directory may have been read-only."""
        manifest = self.saved.manifest
        odd = {os.fsencode(path): mode for path, mode in manifest["odd_modes"].items()}
        modes = {self._place(path): mode for path, mode in odd.items()}
        for path in sorted(self._all_places(), reverse=True):
            if not os.path.lexists(path) or os.path.islink(path):
                continue
            sort = "directory" if os.path.isdir(path) else _sort(path)
            os.chmod(path, modes.get(path, manifest["modes"].get(sort, 0o755)))

    def _all_places(self) -> set[bytes]:
        roots = {os.fsencode(self.target), os.fsencode(self.git_dir)}
        places: set[bytes] = set()
        names = [*self.saved.content, *map(os.fsencode, self.saved.manifest["empty_directories"])]
        for path in names:
            place = self._place(path if path not in self.saved.content else _decoded(path))
            while place not in roots and place not in places:
                places.add(place)
                place = os.path.dirname(place)
        return places


def _decoded(path: bytes) -> bytes:
    prefix, _, rest = path.partition(b"/")
    return prefix + b"/" + from_tree(rest)


def _sort(path: bytes) -> str:
    return "100755" if os.lstat(path).st_mode & 0o100 else "100644"


def _inside(path: str, directory: str) -> str | None:
    """`path` relative to `directory`, if it is in it."""
    relative = os.path.relpath(os.path.normpath(path), os.path.normpath(directory))
    return None if relative.startswith(os.pardir) else relative
