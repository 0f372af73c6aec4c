"""Where the work of members stands that they have committed, and what of the user's they do not see."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from headcount.app.adapters import checkout_git_dir, find_repository
from headcount.errors import GitError

if TYPE_CHECKING:
    from collections.abc import Container

    from headcount.app.app import App


class Made(NamedTuple):
    """Commits of one incarnation, on a branch that is there."""

    member: str
    branch: str
    commits: int


def read_made(app: App, team_id: str, names: Container[str]) -> list[Made]:
    """Return the unmerged commits of the named members, from the last inspections of their workspaces."""
    with app.store.read() as tx:
        found = tx.facts(team_id, "findings")
    there = _branches(app)
    made = [
        Made(key.partition("#")[0], findings["branch"], findings["commits_ahead"] or 0)
        for key, findings in found.items()
    ]
    return [one for one in made if one.commits and one.branch in there and one.member in names]


def _branches(app: App) -> set[str]:
    with suppress(GitError):  # it is only told: nothing has failed for it
        repo = find_repository(app)
        if repo is not None:
            refs = repo.git.text("for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads")
            return set(refs.split("\n"))
    return set()


def read_start(app: App) -> str | None:
    """Return the commit that members start from, such as "2c8cd3ac (main)"; None before the first commit."""
    with suppress(GitError):
        repo = find_repository(app)
        if repo is not None:
            git_dir = checkout_git_dir(app, repo) or repo.common_dir
            git = repo.git.on(git_dir, app.checkout)
            commit = git.text("rev-parse", "--short=8", "--verify", "HEAD")
            return f"{commit} ({git.text('rev-parse', '--abbrev-ref', 'HEAD')})"
    return None


def count_unseen(app: App) -> int:
    """Return how many files of the user's checkout have changes that members do not see."""
    with suppress(GitError):
        repo = find_repository(app)
        git_dir = checkout_git_dir(app, repo) if repo is not None else None
        if repo is not None and (git_dir is not None or repo.work_tree is not None):
            place = app.checkout if git_dir is not None else repo.work_tree
            from headcount.workspace.git_state import read_status

            status = read_status(repo.git.on(git_dir or repo.common_dir, place))
            return len(status.changed) + len(status.conflicts) + len(status.untracked)
    return 0
