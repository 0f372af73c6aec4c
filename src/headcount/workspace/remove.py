"""The one gate through which a workspace goes.

Nothing else in headcount deletes a workspace, resets one or cleans one. The gate looks at this very
moment, whatever was found before, and refuses unless the processes are proved gone and every byte is
reachable from a ref, or in the archive, that was read back. Then it deletes exactly what it looked at,
entry by entry: what appeared, or was written, in between is not deleted, and the removal is refused half
way rather than forced.

A crash in the middle is survived by a list of what was verified, written before the first deletion. A
repeat goes on from the list.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shlex
import shutil
import stat
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress

from headcount.domain.findings import Archive, Findings, GoneProof, Skipped, Workspace
from headcount.errors import GitError, WorldError
from headcount.shared_look import SharedLook
from headcount.value_classes import dataclass
from headcount.workspace.archive import find_private, verify_archive
from headcount.workspace.disk_scan import Node, list_directory, read_node
from headcount.workspace.inspection import read_findings
from headcount.workspace.left_branches import delete_empty
from headcount.workspace.objects import find_broken
from headcount.workspace.ref_names import parse_salvage_ref, shown
from headcount.workspace.repository import WITHDRAWN, Repository, first_line
from headcount.workspace.safe_files import reach, write_durably
from headcount.workspace.saving_rules import SavingRules
from headcount.workspace.snapshot import MB, OVER_IGNORED, OVER_LIMIT
from headcount.workspace.verify import Saved, find_differences, list_salvage, read_saved
from headcount.workspace.worktrees import lock_reason, read_record

_VERIFIED = "headcount.removing"
_PASSING_S = 1.5  # for a process in the workspace to leave by itself
_SHOWN = 5  # paths or problems in one message
_LIMITS = ("salvage_max_mb", "salvage_ignored_max_mb")  # in the order of the manifest


@dataclass(frozen=True, slots=True)
class Removed:
    """Gone. `salvage` is the ref that holds what it held, None if there was nothing to save."""

    path: str
    salvage: str | None = None
    branch_deleted: str | None = None
    branch_left: str | None = None  # why its branch could not be deleted


@dataclass(frozen=True, slots=True)
class Refused:
    """The workspace is still there, for these reasons."""

    reasons: tuple[str, ...]


def remove(
    repo: Repository,
    workspace: Workspace,
    proof: GoneProof,
    *,
    integration: str | None = None,
    timeout_s: float = 300.0,
    rules: SavingRules | None = None,
    listed: Collection[Skipped] = (),
    archive_directory: str = "",
) -> Removed | Refused:
    """Remove a worktree, and its branch if that is an ancestor of branch `integration` or has no commit of
    its own. Safe to repeat.

    Build output that `rules` skip may go without a salvage only as it is `listed` in the receipt.
    """
    reasons = _who_is_there(workspace, proof) + _whose_is_it(repo, workspace)
    if reasons:
        return Refused(tuple(reasons))
    repo = repo.until(timeout_s)
    gate = _Gate(repo, workspace, timeout_s, rules or SavingRules(), frozenset(listed), archive_directory)
    passed = gate.resume() or gate.look()
    if isinstance(passed, Refused):
        return passed
    gate.withdraw()
    left = _delete(workspace.path, passed.nodes)
    if left:
        gate.look_anew()
        return Refused(tuple(f"{shown(os.fsdecode(path))} appeared or changed meanwhile" for path in left))
    gate.forget()
    try:
        branch = _delete_branch(repo, workspace, integration)
    except GitError as error:
        return Removed(workspace.path, passed.salvage, None, error.why)
    return Removed(workspace.path, passed.salvage, branch)


def remove_directory(workspace: Workspace, proof: GoneProof, kept: Archive) -> Removed | Refused:
    """Remove a plain directory that is in the archive, byte for byte, at this moment."""
    reasons = _who_is_there(workspace, proof)
    if not os.path.lexists(workspace.path):
        return Refused(tuple(reasons)) if reasons else Removed(workspace.path)
    nodes = list_directory(os.fsencode(workspace.path), lambda _: False).nodes
    reasons += verify_archive(kept, workspace)
    if reasons:
        return Refused(tuple(reasons))
    left = _delete(workspace.path, nodes)
    return (
        Refused(tuple(f"{shown(os.fsdecode(path))} appeared meanwhile" for path in left))
        if left
        else Removed(workspace.path)
    )


def measure(path: str) -> dict[str, int]:
    """How many files are at and below `path`, and how many bytes they have."""
    if not _is_directory(path):
        return {"files": 1, "bytes": os.lstat(path).st_size}
    nodes = list_directory(os.fsencode(path), lambda _: False).nodes
    sizes = [node.size for node in nodes if not node.is_directory]
    return {"files": len(sizes), "bytes": sum(sizes)}


def discard_path(path: str) -> None:
    """Delete what the operator named. Links are deleted, not followed."""
    if not _is_directory(path):
        os.unlink(path)
        return
    left = _delete(path, list_directory(os.fsencode(path), lambda _: False).nodes)
    if left:
        raise WorldError(f"Could not delete all of {path}", f"{shown(os.fsdecode(left[0]))} is still there")


def _is_directory(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _who_is_there(workspace: Workspace, proof: GoneProof) -> list[str]:
    reasons = [f"{who} is alive" for who in proof.alive]
    if not proof.covers(workspace) and not reasons:
        reasons.append(
            f"the proof is about {proof.team}/{proof.member} {proof.generation}, not about who works here"
        )
    reasons += [f"{shown(place)} is mounted in it" for place in find_mounted_in(workspace.path)]
    # A `git status` of an editor or a prompt, or of headcount itself, is there for a moment only.
    deadline = time.monotonic() + _PASSING_S
    while (standing := list(_standing_in(workspace.path))) and time.monotonic() < deadline:
        time.sleep(0.05)
    return reasons + [f"process {pid} ({name}) has its working directory in it" for pid, name in standing]


def find_mounted_in(path: str) -> list[str]:
    """What stands there is somebody else's, and only shown in the workspace: not ours to delete."""
    real = os.fsencode(os.path.realpath(path))
    places = (_unescaped(line.split(b" ")[4]) for line in _read_mounts())
    return [os.fsdecode(place) for place in places if place == real or place.startswith(real + b"/")]


def _read_mounts() -> list[bytes]:
    try:
        with open("/proc/self/mountinfo", "rb") as file:
            return file.read().splitlines()
    except FileNotFoundError:
        return []  # another system than Linux


def _unescaped(place: bytes) -> bytes:
    r"""A blank, for one, is written as \040 there."""
    return re.sub(rb"\\([0-7]{3})", lambda octal: bytes([int(octal[1], 8)]), place)


def _standing_in(path: str) -> Iterator[tuple[int, str]]:
    """Processes whose working directory is inside: a user's shell counts, whoever started it."""
    real = os.path.realpath(path)
    for pid, cwd in _WHO_STANDS_WHERE.fresh():
        if cwd == real or cwd.startswith(real + os.sep):
            try:
                with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
                    yield int(pid), shown(file.read().strip())
            except OSError:
                continue  # it ended


def _read_working_directories() -> list[tuple[str, str]]:
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc") if os.path.isdir("/proc") else []):
        try:
            found.append((pid, os.readlink(f"/proc/{pid}/cwd")))
        except OSError:
            continue  # it ended, or is another user's
    return found


# Many workspaces are removed at once, and each is asked about at the very moment of its removal.
_WHO_STANDS_WHERE = SharedLook(_read_working_directories)


def _whose_is_it(repo: Repository, workspace: Workspace) -> list[str]:
    if workspace.git_dir is None or not os.path.isdir(workspace.git_dir):
        # Already removed, or git's side of it is gone; in the second case nothing is deleted by guess.
        return ["git no longer knows this worktree"] if os.path.lexists(workspace.path) else []
    if read_record(repo, workspace.path) != workspace:
        return ["it is not the workspace that was recorded"]
    if os.path.islink(workspace.path) or os.path.realpath(workspace.path) != workspace.path:
        return ["its path leads somewhere else"]
    lock = first_line(os.path.join(workspace.git_dir, "locked"))
    return [] if lock is None or lock == lock_reason(workspace) else [f"it is locked: {shown(lock)}"]


@dataclass(frozen=True, slots=True)
class _Passed:
    """Exactly these entries were looked at, and are saved."""

    nodes: list[Node]
    salvage: str | None


@dataclass(frozen=True, slots=True)
class _Gate:
    repo: Repository
    workspace: Workspace
    timeout_s: float
    rules: SavingRules
    listed: frozenset[Skipped]
    archive_directory: str

    @property
    def _list(self) -> str:
        return os.path.join(self.workspace.git_dir or "", _VERIFIED)

    def resume(self) -> _Passed | None:
        """What an earlier call verified before it was cut off. None if there was none, or none that can be
        read: then it is looked at anew."""
        if not os.path.exists(self._list):
            return None if os.path.isdir(self.workspace.git_dir or "") else _Passed([], None)
        try:
            with open(self._list, encoding="ascii") as file:
                data = json.load(file)
            nodes = [
                Node(os.fsencode(path), mode, size, tuple(stamp)) for path, mode, size, stamp in data["nodes"]
            ]
            return _Passed(nodes, data["salvage"])
        except (ValueError, KeyError, TypeError):
            return None

    def look(self) -> _Passed | Refused:
        # Listed first, judged second: what is written after the listing no longer matches it.
        listing = list_directory(os.fsencode(self.workspace.path), lambda _: False)
        if listing.unreadable:
            return Refused(tuple(f"{shown(os.fsdecode(path))}: {why}" for path, why in listing.unreadable))
        findings = read_findings(self.repo, self.workspace, timeout_s=self.timeout_s, rules=self.rules)
        # Without a salvage, only the receipt says what goes unsaved: exactly that, and not a file more.
        unlisted = set(findings.skipped) - self.listed
        found = None if findings.spotless and not unlisted else self._find_salvage(findings, unlisted)
        if isinstance(found, Refused):
            return found
        passed = _Passed(listing.nodes, found)
        nodes = [[os.fsdecode(node.path), node.mode, node.size, node.stamp] for node in passed.nodes]
        write_durably(self._list, json.dumps({"nodes": nodes, "salvage": passed.salvage}).encode("ascii"))
        return passed

    def _find_salvage(self, findings: Findings, unlisted: Iterable[Skipped]) -> str | Refused:
        """A salvage of this workspace that holds it as it is now, whole."""
        why: list[str] = []
        for ref, _ in reversed(list_salvage(self.repo, self.workspace.team)):
            key = parse_salvage_ref(ref)
            if key and key[1] == self.workspace.member and key[2] >= self.workspace.generation:
                saved = read_saved(self.repo, ref)
                if saved.manifest["left_out"]:
                    # Whatever else there is: these must be decided about first.
                    return Refused(tuple(_explain_left_out(self.workspace, saved)))
                problems = self._problems(saved)
                if not problems:
                    return ref
                why += [f"{ref}: {problem}" for problem in problems[:_SHOWN]]
        new = [f"{one.path} is not in the receipt as it is now" for one in unlisted]
        return Refused((*_unsaved(findings), *new, *(why or ["nothing of it was saved"])))

    def _problems(self, saved: Saved) -> list[str]:
        broken = find_broken(self.repo.git, self.repo.hash_name, saved.leaves.values())
        private = find_private(self.archive_directory, saved.ref, saved.manifest)
        return broken or find_differences(self.repo, saved, self.workspace, private, self.timeout_s)

    def withdraw(self) -> None:
        """Take the worktree off git's list: git skips one without `gitdir`, and reads nothing else of it.

        A git that has just read `gitdir` reads the rest at once, long before `forget` takes that away.
        """
        with suppress(FileNotFoundError):
            os.rename(*self._gitdir_names)

    @property
    def _gitdir_names(self) -> tuple[str, str]:
        git_dir = self.workspace.git_dir or ""
        return os.path.join(git_dir, "gitdir"), os.path.join(git_dir, WITHDRAWN)

    def look_anew(self) -> None:
        """Undo what `look` and `withdraw` did: what is left was not on the list, and must be saved first."""
        listed, withdrawn = self._gitdir_names
        if os.path.lexists(withdrawn):
            os.rename(withdrawn, listed)
        if os.path.lexists(self._list):
            os.unlink(self._list)

    def forget(self) -> None:
        """Remove git's own record of the worktree, whose directory is gone.

        `git worktree remove` would first inspect every other worktree, and delete file by file what another
        git may be reading.
        """
        git_dir = self.workspace.git_dir or ""
        if not os.path.isdir(git_dir):
            return
        linked = os.path.join(self.repo.common_dir, "worktrees")
        if os.path.realpath(os.path.dirname(git_dir)) != os.path.realpath(linked):
            raise GitError(f"{git_dir} is not where git keeps worktrees", linked, code="git-worktree")
        aside = os.path.join(self.repo.common_dir, f"headcount.removed.{secrets.token_hex(8)}")
        os.rename(git_dir, aside)
        shutil.rmtree(aside)


def _explain_left_out(workspace: Workspace, saved: Saved) -> list[str]:
    """What the salvage does not hold, and the ways out."""
    left = sorted(saved.manifest["left_out"], key=lambda one: -one[1])
    too_large = {why: [one for one in left if one[2] == why] for why in (OVER_IGNORED, OVER_LIMIT)}
    others = [f"{path} was left out: {why}" for path, _, why in left if why not in too_large]
    large = [one for ones in too_large.values() for one in ones]
    if not large:
        return others
    named = ", ".join(f"{path} ({_mb(size)})" for path, size, _ in large[:_SHOWN])
    named += f" and {len(large) - _SHOWN} more" if len(large) > _SHOWN else ""
    settings = [
        f"{key} to {limit // MB + 1 + sum(size for _, size, _ in too_large[why]) // MB}"
        for key, limit, why in zip(_LIMITS, saved.manifest["limits"], (OVER_LIMIT, OVER_IGNORED), strict=True)
        if too_large[why]
    ]
    places = (shlex.quote(os.path.join(workspace.path, path.rstrip("/"))) for path, _, _ in large[:_SHOWN])
    return [
        f"{saved.ref} does not hold {named}: over the limit of a salvage. "
        f"To delete: `headcount sweep --discard {' '.join(places)}`. "
        f"To save: raise {' and '.join(settings)} in headcount.toml, then `headcount sweep`. "
        "To keep: leave the workspace as it is",
        *others,
    ]


def _mb(size: int) -> str:
    return f"{size / MB:,.1f} MB"


def _unsaved(findings: Findings) -> list[str]:
    quiet = [item for item in findings.items if not item.dirty]
    return findings.issues() + ([f"{len(quiet)} to be saved, {quiet[0].what} first"] if quiet else [])


def _delete(root: str, nodes: list[Node]) -> list[bytes]:
    """Delete these entries and the root, children first; what is not as listed stays, and is returned."""
    place = os.fsencode(root)
    if not os.path.lexists(place):
        return []
    for node in nodes:
        _make_writable(place, node)
    children_first = sorted(nodes, key=lambda node: node.path, reverse=True)
    left = [node.path for node in children_first if not _delete_one(place, node)]
    if not left:
        left = os.listdir(place)
    if not left:
        os.rmdir(place)
    return left


def _make_writable(root: bytes, node: Node) -> None:
    """A directory that was read-only, so that it can be emptied; not what a link in its place leads to."""
    if not node.is_directory or node.mode & 0o300 == 0o300:
        return
    with suppress(FileNotFoundError, NotADirectoryError), reach(root, node.path) as (fd, name):
        if stat.S_ISDIR(os.lstat(name, dir_fd=fd).st_mode):
            os.chmod(name, 0o700, dir_fd=fd)


def _delete_one(root: bytes, node: Node) -> bool:
    try:
        with reach(root, node.path) as (fd, name):
            if node.is_directory:
                os.rmdir(name, dir_fd=fd)
            elif read_node(root, node.path).stamp == node.stamp:
                os.unlink(name, dir_fd=fd)
            else:
                return False
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _delete_branch(repo: Repository, workspace: Workspace, integration: str | None) -> str | None:
    """Only an ancestor of the integration branch, or one without a commit of its own: every commit of it is
    reachable elsewhere."""
    branch = workspace.branch
    if not branch or branch == integration:
        return None
    if integration:
        target, tip = repo.commit(f"refs/heads/{integration}"), repo.commit(f"refs/heads/{branch}")
        if target and tip and repo.is_ancestor(tip, target) and not repo.branch_in_use(branch):
            # Should it be a name for another branch by now, it is the name that goes.
            repo.git.run("update-ref", "--no-deref", "-d", f"refs/heads/{branch}", tip)
            return branch
    return branch if delete_empty(repo, branch, workspace.base) else None
