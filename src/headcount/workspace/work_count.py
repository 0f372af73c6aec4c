"""Count the commits and changed files of members for `headcount status`, at little cost.

`headcount status` is called often, so this imports next to nothing and starts two processes for each member.
Only an inspection finds everything that is unsaved.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from headcount.domain.findings import Workspace
from headcount.errors import GitError
from headcount.workspace.git import Git
from headcount.workspace.git_settings import Recorded

if TYPE_CHECKING:
    from collections.abc import Mapping

_ALL_S = 1.0


class Work(NamedTuple):
    """The commits of a member since its base, and its changed files. None: not known."""

    commits_ahead: int | None
    files_changed: int | None


NOT_KNOWN = Work(None, None)


def count_work(
    places: Mapping[str, Mapping[str, Any]], git_config: Mapping[str, Any] | None
) -> dict[str, Work]:
    """Count in each workspace, with one deadline for all. Both arguments are facts of the store.

    A member can change git's configuration, so git runs with the one that was recorded.
    """
    git = Git(recorded=Recorded.from_fact(git_config), reaper=_run_no_program)
    until = time.monotonic() + _ALL_S
    return {key: _count(git, Workspace.from_dict(place), until) for key, place in places.items()}


def _count(git: Git, workspace: Workspace, until: float) -> Work:
    left_s = until - time.monotonic()
    if workspace.git_dir is None or workspace.base is None or left_s <= 0:
        return NOT_KNOWN
    git = git.on(workspace.git_dir, workspace.path).until(left_s)
    ahead = None
    try:
        ahead = int(git.text("rev-list", "--count", f"{workspace.base}..HEAD"))
        changed = git.run("status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=all")
    except (GitError, OSError, ValueError):
        return Work(ahead, None)
    return Work(ahead, len(changed.records()))


def _run_no_program(*_: object, **__: object) -> Any:
    """Refuse to run the filters of a repository: a count is not worth it."""
    raise InterruptedError("a count runs no filter")
