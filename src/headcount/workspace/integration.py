"""The branch where reviewed work goes, and whether work is in it.

Merges are made in the object database: no worktree is needed, so nothing of the user's can be in the way,
and a branch that somebody has checked out is never moved under their feet.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from headcount.errors import Declined, GitError
from headcount.workspace.git import failure
from headcount.workspace.names import integration_name, shown
from headcount.workspace.repository import Repository

_TRIES = 5  # another process may merge at the same moment; each retry means that one of them got through


@dataclass(frozen=True, slots=True)
class Merged:
    """The branch now holds the work. `commit` is where it stands; `moved` is false if it held it before."""

    commit: str
    moved: bool


@dataclass(frozen=True, slots=True)
class Conflict:
    """Nothing was moved: these paths do not merge."""

    paths: tuple[str, ...]


def is_merged(repo: Repository, commit: str, target: str) -> bool:
    """`commit` is an ancestor of `target`, or merging it would change nothing, as after a squash."""
    if repo.is_ancestor(commit, target):
        return True
    tree, conflicts = _merge_tree(repo, target, commit)
    return not conflicts and tree == repo.tree(target)


def _merge_tree(repo: Repository, ours: str, theirs: str) -> tuple[str, tuple[str, ...]]:
    """The merged tree, and the paths in conflict. Histories with no common root conflict as a whole."""
    args = ("merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", ours, theirs)
    # In the user's checkout, because git reads attributes (`merge=union`) from files where it is called.
    answer = repo.git.on(repo.common_dir, repo.work_tree).run(*args, ok=(0, 1, 128))
    if answer.code == 128:
        if b"unrelated histories" in answer.err:
            return "", ("(unrelated histories)",)
        raise failure(args, answer)
    tree, *paths = (os.fsdecode(record) for record in answer.records())
    return tree, tuple(dict.fromkeys(shown(path) for path in paths if path)) if answer.code else ()


@dataclass(frozen=True, slots=True)
class Integration:
    """A team's integration branch. It may not exist yet in a repository without commits."""

    repo: Repository
    branch: str

    @classmethod
    def create(cls, repo: Repository, team: str, *, branch: str = "", base: str | None = None) -> Integration:
        """The team's branch, made from `base` (what is checked out) unless it is there; safe to repeat.

        A branch of our own that was taken over since, and is behind now, is brought up to `base`.
        """
        integration = cls(repo, branch or integration_name(team))
        integration._refuse_if_in_use()
        start = base or repo.head_commit()
        head = integration.head()
        if start and head and not branch and repo.is_ancestor(head, start):
            integration._move(head, start)
        if start and not head:
            repo.create_ref(integration.ref, start, f"headcount: integration of {team}")
        return integration

    @property
    def ref(self) -> str:
        return f"refs/heads/{self.branch}"

    def head(self) -> str | None:
        return self.repo.commit(self.ref)

    def is_merged(self, commit: str) -> bool:
        head = self.head()
        return head is not None and is_merged(self.repo, commit, head)

    def merge(self, commit: str, message: str = "") -> Merged | Conflict:
        """Merge `commit`; safe to repeat, and safe beside others who merge at the same time."""
        for _ in range(_TRIES):
            self._refuse_if_in_use()
            head = self.head()
            if head and self.repo.is_ancestor(commit, head):
                return Merged(head, moved=False)
            new = self._merge_commit(head, commit, message) if head else commit
            if isinstance(new, Conflict):
                return new
            if self._move(head or self.repo.zero, new):
                return Merged(new, moved=True)
        raise GitError(
            f"Did not merge {commit}", f"{self.branch} moved {_TRIES} times meanwhile", code="git-ref"
        )

    def _merge_commit(self, head: str, commit: str, message: str) -> str | Conflict:
        tree, conflicts = _merge_tree(self.repo, head, commit)
        if conflicts:
            return Conflict(conflicts)
        text = message or f"Merge {commit} into {self.branch}"
        return self.repo.git.text("commit-tree", tree, "-p", head, "-p", commit, "-m", text)

    def _move(self, old: str, new: str) -> bool:
        # Should it be a name for another branch by now, that one stays where it is.
        args = ("update-ref", "--no-deref", "-m", "headcount: merge", self.ref, new, old)
        moved = self.repo.git.run(*args, ok=(0, 128))
        if moved.code and (self.head() or self.repo.zero) == old:
            raise failure(("update-ref", self.ref), moved)
        return moved.code == 0

    def _refuse_if_in_use(self) -> None:
        where = self.repo.branch_in_use(self.branch)
        if where:
            raise Declined(
                f"Did not touch branch {self.branch}",
                f"it is checked out in {where}",
                ("Check out another branch there, or name another one as `branch` under `[integration]`",),
                code="branch-in-use",
            )
