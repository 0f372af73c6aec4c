"""Look at what a member made, compare it with another's, and merge it into the user's own branch.

headcount writes to a branch of the user only here, because the user said so. A merge is computed without a
work tree first. So a conflict, or a checkout with changes, leaves everything as it was.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import stat
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headcount.app.adapters import checkout_git_dir, find_repository
from headcount.app.members import find_member
from headcount.app.report import pick_any
from headcount.domain.findings import Workspace
from headcount.domain.names import show
from headcount.engine.pending_acts import GIT_CONFIG
from headcount.errors import Declined, GitError, UsageError
from headcount.value_classes import dataclass
from headcount.workspace.git_settings import Recorded
from headcount.workspace.git_state import read_status
from headcount.workspace.integration import merge_trees

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TypedDict

    from headcount.app.app import App
    from headcount.workspace.git import Git
    from headcount.workspace.repository import Repository

    class Merge(TypedDict):
        member: str
        branch: str
        """The user's own, which has the work now."""
        before: str
        commit: str
        commits: int
        unsaved: int
        """Files of the member's workspace that are in no commit, and so not merged."""


_SAFE = ("--no-ext-diff", "--no-textconv", "--no-color")
_COUNT = re.compile(r"(\d+) (file|insertion|deletion)")
_COUNTED = (("files", "file"), ("added", "insertion"), ("removed", "deletion"))


@dataclass(frozen=True, slots=True)
class Made:
    """What one incarnation made: the commits from `base` to `head`, and its workspace while that is there."""

    team: str
    key: str
    base: str
    head: str
    branch: str
    """Its own; "" where it never had one."""
    repo: Repository
    workspace: Workspace | None = None

    def diff(self, *options: str) -> str:
        """Everything since its base; with what is in no commit, as long as its workspace is there."""
        return self.read_diff(*options).decode("utf-8", "replace")

    def read_diff(self, *options: str, paths: Sequence[str] = ()) -> bytes:
        """The same as bytes, of these paths only."""
        only = ("--", *paths) if paths else ()  # `Git` takes every path literally
        if self.workspace is None or self.workspace.git_dir is None:
            return self.repo.git.run("diff", *_SAFE, *options, self.base, self.head, *only).out
        git = self.repo.git.on(self.workspace.git_dir, self.workspace.path)
        with tempfile.TemporaryDirectory(prefix="headcount-") as aside:
            index = os.path.join(aside, "index")
            git = git.with_index(index)  # its own index and its locks are not touched
            if not _copy_regular(os.path.join(self.workspace.git_dir, "index"), index):
                git.run("read-tree", self.head)
            # A repository inside of it without a commit, or a file that cannot be read, is left out.
            git.run("add", "--intent-to-add", "--ignore-errors", "--", ".", ok=range(256))
            return git.run("diff", *_SAFE, *options, self.base, *only).out

    def log(self) -> list[dict[str, str]]:
        """Its commits, the newest first."""
        names = ("commit", "author", "at", "subject")
        # No other character than NUL separates them safely: an author or a subject may hold it.
        shown = self.repo.git.run("log", "-z", "--format=%H%x00%an%x00%aI%x00%s", f"{self.base}..{self.head}")
        texts = iter([text.decode("utf-8", "replace") for text in shown.out.split(b"\0")])
        return [dict(zip(names, row, strict=True)) for row in zip(texts, texts, texts, texts, strict=False)]

    def change(self) -> dict[str, int]:
        """How large the change from `base` to `head` is: files, and lines added and removed."""
        shown = self.repo.git.run("diff", *_SAFE, "--shortstat", self.base, self.head).out.decode()
        counts = {word: int(number) for number, word in _COUNT.findall(shown)}
        return {name: counts.get(word, 0) for name, word in _COUNTED}

    def count_unsaved(self) -> int:
        if self.workspace is None or self.workspace.git_dir is None:
            return 0
        status = read_status(self.repo.git.on(self.workspace.git_dir, self.workspace.path))
        return len(status.changed) + len(status.conflicts) + len(status.untracked)


def find_made(app: App, name: str, team: str | None = None) -> Made:
    """Return the work of a member, or of the owner of a task. Without an open team, look in the last one."""
    app.check("status")
    with app.store.read() as tx:
        has_open = bool(tx.team_names())
    if team is None and not has_open and not app.caller.is_member:
        team = pick_any(app, None)
    try:
        team_name, member, _ = find_member(app, name, team)
    except UsageError:
        owner = _owner(app, name, team)
        if owner is None:
            raise
        team_name, member, _ = find_member(app, owner, team)
    with app.store.read() as tx:
        team_id = app.load(tx, team_name).id
        fact = tx.fact(team_id, member.key, "workspace")
        recorded = Recorded.from_fact(tx.fact(team_id, "", GIT_CONFIG))
    repo = find_repository(app)
    workspace = Workspace.from_dict(fact) if fact else None
    if repo is None or workspace is None or workspace.base is None:
        raise refuse_nothing(member.key, "it never had a workspace with a commit to begin from")
    repo = repo.as_recorded(recorded)
    head = find_head(repo, workspace) or workspace.base
    place = workspace if _is_there(workspace) else None
    return Made(team_name, member.key, workspace.base, head, workspace.branch or "", repo, place)


def find_head(repo: Repository, workspace: Workspace) -> str | None:
    """Return the last commit of a member: of its workspace while that is there, else of its branch."""
    head = repo.commit_of(str(workspace.git_dir)) if _is_there(workspace) else None
    return head or (repo.commit(f"refs/heads/{workspace.branch}") if workspace.branch else None)


def _is_there(workspace: Workspace) -> bool:
    return workspace.git_dir is not None and os.path.isdir(workspace.path)


def _owner(app: App, task: str, team: str | None) -> str | None:
    with app.store.read() as tx:
        names = [app.pick_team(team)] if team or app.caller.is_member else tx.team_names()
        found = [tx.find_task(app.load(tx, name).id, task) for name in names]
    return next((each.owner for each in found if each is not None and each.owner), None)


def compare(app: App, first: str, second: str, team: str | None = None) -> tuple[Made, Made, str]:
    """Two members, and how the commits of the second differ from those of the first."""
    one, other = find_made(app, first, team), find_made(app, second, team)
    shown = one.repo.git.run("diff", *_SAFE, one.head, other.head)
    return one, other, shown.out.decode("utf-8", "replace")


def merge(app: App, name: str, team: str | None = None, *, squash: bool = False) -> Merge:
    """Merge the commits of a member into the branch that is checked out where the command was called."""
    app.check("merge")
    made = find_made(app, name, team)
    log = made.log()
    if not log:
        raise refuse_nothing(made.key, "it has no commit of its own")
    git_dir = checkout_git_dir(app, made.repo)
    place = app.checkout if git_dir is not None else made.repo.work_tree
    if place is None:
        raise _refused(made.key, "this repository has no checkout", "Call it in a checkout")
    git = replace(made.repo.git.on(git_dir or made.repo.common_dir, place), timeout_s=600.0)
    with _merging(app.home):
        return _merge(made, git, place, log, squash)


@contextmanager
def _merging(home: str) -> Iterator[None]:
    """Wait for other merges of this repository: two `git merge` at once can tear a checkout."""
    fd = os.open(f"{home}/merge.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _merge(made: Made, git: Git, place: str, log: list[dict[str, str]], squash: bool) -> Merge:
    branch = git.run("symbolic-ref", "--quiet", "--short", "HEAD", ok=(0, 1)).text
    if not branch:
        raise _refused(made.key, "no branch is checked out here", "Check one out with `git switch BRANCH`")
    status = read_status(git)
    if status.changed or status.conflicts:
        count = len(status.changed) + len(status.conflicts)
        raise _refused(
            made.key, f"{place} has {count} changed file{'s' * (count != 1)}", "Commit or stash them first"
        )
    before = git.run("rev-parse", "--verify", "--quiet", "HEAD", ok=(0, 1)).text
    if not before:
        raise _refused(made.key, f"{branch} has no commit yet", "Commit something first")
    tree, conflicts = merge_trees(made.repo, before, made.head)
    if conflicts:
        raise _refused(
            made.key,
            f"it conflicts with {branch} in {', '.join(conflicts)}",
            f"Merge it by hand with `git merge {made.head}`",
        )
    parents = ["-p", before] if squash else ["-p", before, "-p", made.head]
    message = _message(made, log, branch, squash).encode("utf-8", "replace")
    git = git.with_env(**_identity(made))
    commit = git.run("commit-tree", tree, *parents, "-F", "-", stdin=message).text
    try:
        git.run("merge", "--quiet", "--ff-only", commit)
    except GitError as error:
        # A file that git does not track is in the way, or the branch has moved: git has changed nothing.
        again = f"Merge it by hand with `git merge {made.head}`"
        raise _refused(made.key, f"git did not move {branch}: {error.why}", again) from error
    return {
        "member": made.key, "branch": branch, "before": before, "commit": commit, "commits": len(log),
        "unsaved": made.count_unsaved(),
    }  # fmt: skip


def _copy_regular(source: str, target: str) -> bool:
    """Copy a file of a member, unless it is gone or something else, such as a link to a device."""
    try:
        fd = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return False
        with open(target, "wb") as copy:
            shutil.copyfileobj(file, copy)
    return True


def _identity(made: Made) -> dict[str, str]:
    """Return the user's name and address, as they were when the team began: the commit is the user's."""
    recorded = made.repo.git.recorded
    known = dict(recorded.entries) if recorded is not None else {}
    found = {}
    for role in ("AUTHOR", "COMMITTER"):
        for field, key in (("NAME", "user.name"), ("EMAIL", "user.email")):
            variable = f"GIT_{role}_{field}"
            if (
                value := os.environ.get(variable)
                or known.get(f"{role.lower()}.{field.lower()}")
                or known.get(key)
            ):
                found[variable] = value
    return found


def _message(made: Made, log: list[dict[str, str]], branch: str, squash: bool) -> str:
    subjects = "\n".join(f"* {one['subject']}" for one in reversed(log))
    how = (
        f"Work of {made.key} ({made.team})"
        if squash
        else f"Merge work of {made.key} ({made.team}) into {branch}"
    )
    return f"{how}\n\n{subjects}"


def refuse_nothing(key: str, why: str) -> Declined:
    return Declined(
        f"There is nothing of {show(key)} to look at", why,
        ("See the members with `headcount status`",), code="nothing-made",
    )  # fmt: skip


def _refused(key: str, why: str, hint: str) -> Declined:
    return Declined(f"Did not merge the work of {show(key)}", why, (hint,), code="not-merged")


def describe(made: Made) -> dict[str, Any]:
    return {
        "team": made.team,
        "member": made.key,
        "base": made.base,
        "head": made.head,
        "commits": made.log(),
    }
