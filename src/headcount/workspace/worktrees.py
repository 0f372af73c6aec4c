"""Create workspaces, and recognise them again.

A workspace is a worktree of the user's repository on a branch of its own. headcount records it in two
places that are deleted with it. The first is the reason of git's lock on the worktree, written together
with the worktree; the lock also keeps `git worktree prune` and `git worktree remove` away. The second is
a record in its private git directory, written last, so its presence means "complete". Creating a
workspace twice, or again after a crash, returns the same one. headcount never resets, cleans or reuses a
directory that is in the way, because it may hold work.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from threading import BoundedSemaphore

from headcount.domain.findings import Checkout, Workspace
from headcount.errors import Declined, GitError
from headcount.value_classes import dataclass
from headcount.workspace.disk_scan import read_boot_time, try_recording
from headcount.workspace.git import NAME_AND_ADDRESS
from headcount.workspace.ref_names import branch_name, encode, numbered, parse_salvage_ref
from headcount.workspace.repository import Linked, Repository, first_line
from headcount.workspace.restore import carry_over
from headcount.workspace.safe_files import NotAFile, exclusive, read_file, write_durably
from headcount.workspace.verify import Saved, read_saved

RECORD = "headcount.json"
LOCK = "headcount.lock"
_RECORD_BYTES = 1 << 20
_ON_BRANCH = "ref: refs/heads/"
_LOCK_LOOKS = 20
_LOCK_LOOK_S = 0.1
# Each checkout keeps a processor and the disk busy. More of them at once make all of them late.
_CHECKOUTS = BoundedSemaphore(2 * (os.cpu_count() or 1))


@dataclass(frozen=True, slots=True)
class Workspaces:
    """All workspaces of one repository (None: no git, plain directories), below one root directory."""

    repo: Repository | None
    root: str
    archive: str = ""  # the directory with private files of salvages

    def create(
        self,
        team: str,
        member: str,
        generation: int,
        *,
        base: str | None = None,
        detached: bool = False,
        timeout_s: float = 240.0,
        shared_names: bool = False,
    ) -> Workspace:
        """The workspace of this incarnation, made unless it is there. Writing its files may take `timeout_s`.

        It begins at `base` (default: what is checked out in the main worktree), on a new branch
        `headcount/<team>/<member>`, or, for a reviewer, `detached`. A branch or directory that an earlier
        generation left keeps what it holds; the new one gets the next free name. If `base` is a salvage, it
        begins where that one stood, with the files as they were left. With `shared_names` the generation is
        in the name of the branch: two hosts do not see which names the other has used.
        """
        wanted = Workspace(team, member, generation, "")
        os.makedirs(os.path.join(self.root, encode(team)), mode=0o700, exist_ok=True)
        if self.repo is None:
            # A plain directory has no git directory to keep a record in, so the generation is in its name.
            path = _place(self.root, wanted.team, wanted.member, wanted.generation)
            os.makedirs(path, mode=0o700, exist_ok=True)
            return replace(wanted, path=path)
        saved = read_saved(self.repo, base) if base and parse_salvage_ref(base) else None
        start = saved.manifest["head"] if saved else self._start(base)
        linked = self.repo.linked()
        maker = _Maker(self.repo, self.root, wanted, linked, saved, timeout_s, self.archive, shared_names)
        return maker.make(start, detached)

    def _start(self, base: str | None) -> str | None:
        assert self.repo is not None
        commit = self.repo.commit(base or "HEAD")
        if base and commit is None:
            raise GitError("Did not make a workspace", f"{base} is not a commit", code="git-worktree")
        return commit

    def find(self, team: str, member: str, generation: int, *, finish: bool = True) -> Workspace | None:
        """The workspace of this incarnation, if `create` has completed it. `finish` completes a half-made
        one; without it, a half-made one is None."""
        wanted = Workspace(team, member, generation, "")
        if self.repo is None:
            path = _place(self.root, team, member, generation)
            return replace(wanted, path=path) if os.path.isdir(path) else None
        return _Maker(self.repo, self.root, wanted, self.repo.linked()).find(finish)

    def list(self, name: str = "") -> list[Workspace]:
        """Every complete workspace of ours that git knows of, by its record; no other worktree. It is below
        the root, or below a directory called `name` that is the root of others."""
        if self.repo is None:
            return []
        found = (read_record(self.repo, path) for path in self.repo.work_trees())
        inside = os.path.realpath(self.root) + os.sep
        ours = [record for record in found if record]
        here = [at for at in ours if os.path.realpath(at.path).startswith(inside)]
        there = [at for at in ours if at not in here and name and at.path.split(os.sep)[-3:-2] == [name]]
        return sorted(here + there, key=lambda at: at.path)


def read_record(repo: Repository, path: str) -> Workspace | None:
    """The record of the workspace at `path`; None if there is none, or if it is about another place."""
    git_dir = repo.find_git_dir(path)
    if git_dir is None:
        return None
    try:
        record = json.loads(read_file(os.path.join(git_dir, RECORD), _RECORD_BYTES))
        workspace = Workspace.from_dict(record)
    except (FileNotFoundError, NotAFile, ValueError, TypeError):
        return None
    return workspace if os.path.realpath(workspace.path) == os.path.realpath(path) else None


def lock_reason(workspace: Workspace) -> str:
    return f"headcount {encode(workspace.team)}/{encode(workspace.member)}/{workspace.generation}"


def _place(root: str, team: str, member: str, n: int) -> str:
    return os.path.join(os.path.realpath(root), encode(team), numbered(encode(member), n))


def _describe_checkout(path: str, git_dir: str) -> Checkout:
    recorded = try_recording(path)
    if recorded.now_ns is None:
        return Checkout(0, 0, recorded.umask)
    # git's side of the worktree was made before the first file of it.
    began_ns = os.stat(os.path.join(git_dir, "commondir")).st_ctime_ns
    return Checkout(began_ns, recorded.now_ns, recorded.umask, read_boot_time())


def _wait_unlocked(lock: str) -> None:
    """Of a git that filled a workspace which nobody worked in yet. One that was killed leaves it for ever."""
    for _ in range(_LOCK_LOOKS):
        if not os.path.lexists(lock):
            return
        time.sleep(_LOCK_LOOK_S)
    with suppress(FileNotFoundError):
        os.unlink(lock)


@dataclass(frozen=True, slots=True)
class _Maker:
    repo: Repository
    root: str
    wanted: Workspace
    linked: list[Linked]
    saved: Saved | None = None
    timeout_s: float = 240.0
    archive: str = ""
    shared_names: bool = False

    def make(self, base: str | None, detached: bool) -> Workspace:
        for path, git_dir in self._places():
            if git_dir and self._is_ours(git_dir):
                return read_record(self.repo, path) or self._resume(path, git_dir)
            if not git_dir and not os.path.lexists(path) and is_free(self.repo, path):
                return self._begin(path, base, detached)
        raise Declined(f"Did not make a workspace for {self.wanted.member}", f"too many exist in {self.root}")

    def find(self, finish: bool) -> Workspace | None:
        for path, git_dir in self._places():
            if git_dir and self._is_ours(git_dir):
                made = read_record(self.repo, path)
                return self._resume(path, git_dir) if made is None and finish else made
            if not git_dir and not os.path.lexists(path) and is_free(self.repo, path):
                return None
        return None

    def _places(self) -> Iterator[tuple[str, str | None]]:
        """Where it may be, in order, and git's side of what is there; the directory itself may be missing."""
        known = {at.real: at.git_dir for at in self.linked}
        for n in range(1, 10_000):
            path = _place(self.root, self.wanted.team, self.wanted.member, n)
            yield path, known.get(path)

    def _is_ours(self, git_dir: str) -> bool:
        return first_line(os.path.join(git_dir, "locked")) == lock_reason(self.wanted)

    def _begin(self, path: str, base: str | None, detached: bool) -> Workspace:
        if base and can_link(self.repo):
            return self._complete(path, self._link(path, base, detached), base)
        # git itself fails when it meets a worktree that another git is just making.
        with exclusive(os.path.join(self.repo.common_dir, LOCK)):
            self._add(path, base, detached)
        git_dir = self.repo.find_git_dir(path)
        if git_dir is None:
            raise GitError(f"git does not know the worktree {path} that it made", code="git-worktree")
        return self._complete(path, git_dir, base)

    def _link(self, path: str, commit: str, detached: bool) -> str:
        head = commit if detached else f"ref: refs/heads/{self._make_branch(commit)}"
        return link(self.repo, path, head, commit, lock_reason(self.wanted))

    def _make_branch(self, commit: str) -> str:
        """Whoever creates the ref has the name: two who choose at the same moment do not get the same one."""
        # A branch without a commit is no ref yet, and may still be somebody's.
        in_use = self.repo.own_refs().union(*(at.refs for at in self.linked))
        for branch in self._branch_names():
            ref = f"refs/heads/{branch}"
            if ref not in in_use and self.repo.create_ref(ref, commit, f"branch: Created from {commit}"):
                return branch
        raise self._no_branch()

    def _add(self, path: str, base: str | None, detached: bool) -> None:
        start = base or self._empty_commit()
        # Without a commit there is no branch to make yet; `_complete` points HEAD at it.
        how = ["--detach"] if detached or not base else ["-b", self._free_branch()]
        lock = ["--lock", "--reason", lock_reason(self.wanted)]
        self.repo.git.run("worktree", "add", "--quiet", "--no-checkout", *lock, *how, path, start)

    def _resume(self, path: str, git_dir: str) -> Workspace:
        """What is checked out in the user's worktree may be another commit since: it goes on from its own."""
        ensure_link(path, git_dir)
        _wait_unlocked(os.path.join(git_dir, "index.lock"))
        head = self.repo.git.on(git_dir, path).run("rev-parse", "--verify", "--quiet", "HEAD", ok=(0, 1))
        return self._complete(path, git_dir, head.text or None)

    def _complete(self, path: str, git_dir: str, base: str | None) -> Workspace:
        """Fill it and write the record. Nobody worked in it yet, so what is half filled is overwritten."""
        git = self.repo.git.on(git_dir, path)
        if base:
            with _CHECKOUTS:
                replace(git, timeout_s=self.timeout_s).run("read-tree", "--reset", "-u", "HEAD")
        else:
            git.run("symbolic-ref", "HEAD", f"refs/heads/{self._free_branch()}")
            git.run("read-tree", "--empty")
            with suppress(FileNotFoundError):  # the empty start is nobody's work
                os.truncate(os.path.join(git_dir, "logs", "HEAD"), 0)
        checkout = _describe_checkout(path, git_dir)
        if self.saved:
            carry_over(self.repo, self.saved, path, self.archive)
        head = first_line(os.path.join(git_dir, "HEAD")) or ""
        branch = head.removeprefix(_ON_BRANCH) if head.startswith(_ON_BRANCH) else None
        made = replace(self.wanted, path=path, git_dir=git_dir, branch=branch, base=base, checkout=checkout)
        write_durably(os.path.join(git_dir, RECORD), json.dumps(made.as_dict()).encode())
        return made

    def _empty_commit(self) -> str:
        # `worktree add --orphan` came with git 2.42. A commit that no ref will ever name does as well.
        tree = self.repo.git.run("mktree", stdin=b"").text
        return self.repo.git.text("commit-tree", tree, "-m", "headcount: an empty start")

    def _free_branch(self) -> str:
        for branch in self._branch_names():
            if not self.repo.commit(f"refs/heads/{branch}") and not self.repo.branch_in_use(branch):
                return branch
        raise self._no_branch()

    def _branch_names(self) -> Iterator[str]:
        at = self.wanted
        if self.shared_names:
            own = branch_name(at.team, at.member, at.generation)
            return (numbered(own, n) for n in range(1, 10_000))
        return (branch_name(at.team, at.member, n) for n in range(1, 10_000))

    def _no_branch(self) -> Declined:
        return Declined(
            f"Did not make a branch for {self.wanted.member}", "too many branches of that name exist"
        )


# --- linking ---------------------------------------------------------------------------------------------
#
# A linked worktree, made without `git worktree add`, which looks at every other worktree several times:
# the thousandth took five times as long as the first, and they could only be made one after the other
# (docs/decisions/0085).
#
# The files are git's own (gitrepository-layout), and a test compares them with what the installed git writes.
# They are made aside and renamed into place, so nobody ever sees half of them, and two who make one for the
# same path cannot both succeed.


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
                f"Did not make the worktree {git_dir}", "another process is creating it", code="git-worktree"
            ) from error
    raise GitError(f"Did not make the worktree {git_dir}", "its directory vanished", code="git-worktree")


def _write(path: str, content: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "x", encoding="utf-8", errors="surrogateescape") as file:
        file.write(content)
