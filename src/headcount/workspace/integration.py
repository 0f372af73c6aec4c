"""The branch that reviewed work is merged into, and the checkouts that gates run in.

headcount merges in the object database, without a worktree. So no file of the user is in the way, and a
branch that someone has checked out is never moved.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from headcount.errors import Declined, GitError
from headcount.tree_removal import remove_tree
from headcount.value_classes import dataclass
from headcount.workspace.git import failure
from headcount.workspace.ref_names import integration_name, numbered, shown
from headcount.workspace.repository import Repository

_TRIES = 5  # another process may merge at the same moment; each retry means that one of them got through
_WAIT_FOR_OTHERS = ("-c", "core.filesRefLockTimeout=5000")  # git itself waits 0.1 s for another's lock


@dataclass(frozen=True, slots=True)
class Merged:
    """The branch now holds the work. `commit` is where it stands; `moved` is false if it held it before."""

    commit: str
    moved: bool


@dataclass(frozen=True, slots=True)
class Conflict:
    """Nothing was moved: these paths do not merge."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rebased:
    """The branch is at `commit`. `kept` names the branch that has its earlier commits, if that is another."""

    commit: str
    kept: str | None


def is_merged(repo: Repository, commit: str, target: str) -> bool:
    """`commit` is an ancestor of `target`, or merging it would change nothing, as after a squash."""
    if repo.is_ancestor(commit, target):
        return True
    tree, conflicts = merge_trees(repo, target, commit)
    return not conflicts and tree == repo.tree(target)


def merge_trees(repo: Repository, ours: str, theirs: str) -> tuple[str, tuple[str, ...]]:
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
            f"Did not merge {commit}", f"{self.branch} moved {_TRIES} times during the merge", code="git-ref"
        )

    def follow(self, commit: str) -> None:
        """Move to `commit`, which another host made, if that has everything that is on the branch here."""
        head = self.head()
        if head is None:
            self.repo.create_ref(self.ref, commit, "headcount: from the hub")
        elif self.repo.is_ancestor(head, commit):
            self._refuse_if_in_use()
            self._move(head, commit)

    def count_missing(self, commit: str) -> int:
        """How many commits of `commit` the branch lacks."""
        return int(self.repo.git.text("rev-list", "--count", commit, "--not", self.ref)) if self.head() else 0

    def rebase_onto(self, commit: str) -> Rebased | Conflict:
        """Make the branch begin at `commit`. Safe to repeat.

        If `commit` has everything that is on the branch, as after a squash merge, the branch moves there, and
        its commits stay on another branch. Otherwise its work is merged onto `commit`.
        """
        self._refuse_if_in_use()
        head = self.head()
        if head is None or self.repo.is_ancestor(commit, head):
            return Rebased(head or commit, None)
        if self.repo.is_ancestor(head, commit):
            new, kept = commit, None
        elif is_merged(self.repo, head, commit):
            new, kept = commit, self._keep(head)
        else:
            merged = self._merge_commit(commit, head, f"Merge {self.branch} onto {commit}")
            if isinstance(merged, Conflict):
                return merged
            new, kept = merged, None
        if not self._move(head, new):
            raise GitError(f"Did not move {self.branch}", "another process has moved it", code="git-ref")
        return Rebased(new, kept)

    def _keep(self, head: str) -> str:
        """The name of a new branch at `head`. A member's branch has no such name."""
        for n in range(1, 10_000):
            name = numbered(f"{self.branch}.old", n)
            if self.repo.commit(f"refs/heads/{name}") == head:
                return name
            if self.repo.create_ref(f"refs/heads/{name}", head, f"branch: Created from {self.branch}"):
                return name
        raise GitError(f"Did not keep {self.branch}", "too many branches of that name exist", code="git-ref")

    def _merge_commit(self, head: str, commit: str, message: str) -> str | Conflict:
        tree, conflicts = merge_trees(self.repo, head, commit)
        if conflicts:
            return Conflict(conflicts)
        text = message or f"Merge {commit} into {self.branch}"
        return self.repo.git.text("commit-tree", tree, "-p", head, "-p", commit, "-m", text)

    def _move(self, old: str, new: str) -> bool:
        # Should it be a name for another branch by now, that one stays where it is.
        args = ("update-ref", "--no-deref", "-m", "headcount: merge", self.ref, new, old)
        git = replace(self.repo.git, settings=(*self.repo.git.settings, *_WAIT_FOR_OTHERS))
        moved = git.run(*args, ok=(0, 128))
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


# --- gates -----------------------------------------------------------------------------------------------
#
# Checkouts that gates run in, and the removal of those that a killed engine has left.
#
# A checkout is a linked worktree outside of the user's, so that no file above it counts for a build. The
# engine that uses it holds a lock on `<state>/gates/<name>.lock`, which names it. The kernel frees the
# lock when the engine dies, so a checkout whose lock is free has no user.


_PREFIX = "headcount-gate-"
_NAME = re.compile(r"[0-9a-f]{16}\.lock")
_PLACE_BYTES = 4096


@contextmanager
def make_checkout(repo: Repository, records: str, branch: str) -> Iterator[str]:
    """A directory with what is on `branch`, for as long as the block lasts."""
    os.makedirs(records, mode=0o700, exist_ok=True)
    name = secrets.token_hex(8)
    lock = f"{records}/{name}.lock"
    place = f"{os.path.realpath(tempfile.gettempdir())}/{_PREFIX}{name}"
    # Locked under another name first: nobody must take it for one that was left.
    fd = os.open(f"{lock}.new", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        os.write(fd, os.fsencode(place))
        os.rename(f"{lock}.new", lock)
        try:
            os.mkdir(place, 0o700)
            yield _fill(repo, f"{place}/tree", branch)
        finally:
            _remove(repo, place)
            os.unlink(lock)
    finally:
        os.close(fd)


def _fill(repo: Repository, tree: str, branch: str) -> str:
    repo.git.run("worktree", "add", "--quiet", "--detach", "--no-checkout", tree, branch)
    git_dir = repo.find_git_dir(tree)
    assert git_dir is not None
    repo.git.on(git_dir, tree).run("read-tree", "--reset", "-u", "HEAD")
    return tree


def find_left(records: str) -> list[str]:
    """The places of checkouts whose engine is dead."""
    return [place for _, place in _free_locks(records)]


def remove_left(repo: Repository, records: str) -> list[str]:
    """Remove the checkouts whose engine is dead, and git's entries of them; return their places."""
    removed = []
    for lock, place in _free_locks(records):
        _remove(repo, place)
        with suppress(FileNotFoundError):
            os.unlink(lock)
        removed.append(place)
    return removed


def _free_locks(records: str) -> Iterator[tuple[str, str]]:
    """Each is held for as long as it is looked at, so that two who sweep do not meet."""
    names = sorted(filter(_NAME.fullmatch, os.listdir(records))) if os.path.isdir(records) else []
    for name in names:
        with suppress(FileNotFoundError, BlockingIOError):
            fd = os.open(f"{records}/{name}", os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                place = os.fsdecode(os.read(fd, _PLACE_BYTES))
                # Anybody can write such a file; only what is called as it is was made by us.
                if os.path.basename(place) == f"{_PREFIX}{name.removesuffix('.lock')}":
                    yield f"{records}/{name}", place
            finally:
                os.close(fd)


def _remove(repo: Repository, place: str) -> None:
    """git's entry first, in one rename: a git of the user's that lists worktrees never sees half of it."""
    for at in repo.linked():
        if at.path == f"{place}/tree":
            aside = tempfile.mkdtemp(prefix="headcount.removing.", dir=repo.common_dir)
            with suppress(FileNotFoundError):
                os.rename(at.git_dir, f"{aside}/worktree")
            remove_tree(aside)
    remove_tree(place)
