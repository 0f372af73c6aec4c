"""Making workspaces, and knowing them again.

A workspace is a worktree of the user's repository on a branch of its own. What was made is written down in
two places that go with it: the reason of git's lock on the worktree, set in the same moment that git makes
it, which also keeps `git worktree prune` and a careless `git worktree remove` away; and a record in its
private git directory, written last, so that its presence says "complete". Making one twice, or again after
a crash, gives the same one. Nothing that is found in the way is reset, cleaned or reused: it may hold
work.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace

from headcount.domain.findings import Workspace
from headcount.errors import Declined, GitError
from headcount.workspace.carry import carry_over
from headcount.workspace.files import exclusive, write_durably
from headcount.workspace.names import branch_name, encode, numbered, parse_salvage_ref
from headcount.workspace.repository import Repository, first_line
from headcount.workspace.verify import Saved, read_saved

RECORD = "headcount.json"
LOCK = "headcount.lock"


@dataclass(frozen=True, slots=True)
class Workspaces:
    """All workspaces of one repository (None: no git, plain directories), below one root directory."""

    repo: Repository | None
    root: str

    def create(
        self, team: str, member: str, generation: int, *, base: str | None = None, detached: bool = False
    ) -> Workspace:
        """The workspace of this incarnation, made unless it is there.

        It begins at `base` (default: what is checked out in the main worktree), on a new branch
        `headcount/<team>/<member>`, or, for a reviewer, `detached`. A branch or directory that an earlier
        generation left keeps what it holds; the new one gets the next free name. If `base` is a salvage, it
        begins where that one stood, with the files as they were left.
        """
        wanted = Workspace(team, member, generation, "")
        os.makedirs(os.path.join(self.root, encode(team)), mode=0o700, exist_ok=True)
        if self.repo is None:
            return self._create_directory(wanted)
        saved = read_saved(self.repo, base) if base and parse_salvage_ref(base) else None
        start = saved.manifest["head"] if saved else base or self.repo.head_commit()
        return _Maker(self.repo, self.root, wanted, saved).make(start, detached)

    def find(self, team: str, member: str, generation: int) -> Workspace | None:
        """The workspace of this incarnation, if `create` has made one, or had begun to."""
        wanted = Workspace(team, member, generation, "")
        if self.repo is None:
            path = _place(self.root, team, member, generation)
            return replace(wanted, path=path) if os.path.isdir(path) else None
        return _Maker(self.repo, self.root, wanted, None).find()

    def _create_directory(self, wanted: Workspace) -> Workspace:
        # A plain directory has no git directory to keep a record in, so the generation is in its name.
        path = _place(self.root, wanted.team, wanted.member, wanted.generation)
        os.makedirs(path, mode=0o700, exist_ok=True)
        return replace(wanted, path=path)

    def list(self) -> list[Workspace]:
        """Every complete workspace of ours that git knows of, by its record; no other worktree."""
        if self.repo is None:
            return []
        found = (read_record(self.repo, path) for path in self.repo.work_trees())
        inside = os.path.realpath(self.root) + os.sep
        return [ours for ours in found if ours and os.path.realpath(ours.path).startswith(inside)]


def read_record(repo: Repository, path: str) -> Workspace | None:
    """The record of the workspace at `path`; None if there is none, or if it is about another place."""
    git_dir = repo.find_git_dir(path)
    if git_dir is None:
        return None
    try:
        with open(os.path.join(git_dir, RECORD), encoding="utf-8") as file:
            workspace = Workspace.from_dict(json.load(file))
    except (FileNotFoundError, ValueError, TypeError):
        return None
    return workspace if os.path.realpath(workspace.path) == os.path.realpath(path) else None


def lock_reason(workspace: Workspace) -> str:
    return f"headcount {encode(workspace.team)}/{encode(workspace.member)}/{workspace.generation}"


def _place(root: str, team: str, member: str, n: int) -> str:
    return os.path.join(os.path.realpath(root), encode(team), numbered(encode(member), n))


@dataclass(frozen=True, slots=True)
class _Maker:
    repo: Repository
    root: str
    wanted: Workspace
    saved: Saved | None

    def make(self, base: str | None, detached: bool) -> Workspace:
        for n in range(1, 10_000):
            path = _place(self.root, self.wanted.team, self.wanted.member, n)
            git_dir = self.repo.find_git_dir(path)
            if git_dir and first_line(os.path.join(git_dir, "locked")) == lock_reason(self.wanted):
                return read_record(self.repo, path) or self._complete(path, git_dir, base)
            if not git_dir and not os.path.lexists(path):
                return self._begin(path, base, detached)
        raise Declined(
            f"Did not make a workspace for {self.wanted.member}", f"too many are left in {self.root}"
        )

    def find(self) -> Workspace | None:
        for n in range(1, 10_000):
            path = _place(self.root, self.wanted.team, self.wanted.member, n)
            if not os.path.lexists(path):
                return None
            git_dir = self.repo.find_git_dir(path)
            if git_dir and first_line(os.path.join(git_dir, "locked")) == lock_reason(self.wanted):
                return read_record(self.repo, path) or self._complete(path, git_dir, "HEAD")
        return None

    def _begin(self, path: str, base: str | None, detached: bool) -> Workspace:
        # git itself fails when it meets a worktree that another git is just making.
        with exclusive(os.path.join(self.repo.common_dir, LOCK)):
            self._add(path, base, detached)
        git_dir = self.repo.find_git_dir(path)
        if git_dir is None:
            raise GitError(f"git does not know the worktree {path} that it made", code="git-worktree")
        return self._complete(path, git_dir, base)

    def _add(self, path: str, base: str | None, detached: bool) -> None:
        start = base or self._empty_commit()
        # Without a commit there is no branch to make yet; `_complete` points HEAD at it.
        how = ["--detach"] if detached or not base else ["-b", self._free_branch()]
        lock = ["--lock", "--reason", lock_reason(self.wanted)]
        self.repo.git.run("worktree", "add", "--quiet", "--no-checkout", *lock, *how, path, start)

    def _complete(self, path: str, git_dir: str, base: str | None) -> Workspace:
        """Fill it and write the record. Nobody worked in it yet, so what is half filled is overwritten."""
        git = self.repo.git.on(git_dir, path)
        if base:
            base = git.text("rev-parse", "HEAD")
            git.run("read-tree", "--reset", "-u", "HEAD")
        else:
            git.run("symbolic-ref", "HEAD", f"refs/heads/{self._free_branch()}")
            git.run("read-tree", "--empty")
        if self.saved:
            carry_over(self.repo, self.saved, path)
        branch = git.run("symbolic-ref", "--quiet", "--short", "HEAD", ok=(0, 1)).text or None
        made = replace(self.wanted, path=path, git_dir=git_dir, branch=branch, base=base)
        write_durably(os.path.join(git_dir, RECORD), json.dumps(made.as_dict()).encode())
        return made

    def _empty_commit(self) -> str:
        # `worktree add --orphan` came with git 2.42. A commit that no ref will ever name does as well.
        tree = self.repo.git.run("mktree", stdin=b"").text
        return self.repo.git.text("commit-tree", tree, "-m", "headcount: an empty start")

    def _free_branch(self) -> str:
        for n in range(1, 10_000):
            branch = branch_name(self.wanted.team, self.wanted.member, n)
            # A branch without a commit is no ref yet, and may still be somebody's.
            if not self.repo.commit(f"refs/heads/{branch}") and not self.repo.branch_in_use(branch):
                return branch
        raise Declined(f"Did not make a branch for {self.wanted.member}", "too many are left of that name")
