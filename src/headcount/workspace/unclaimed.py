"""Stashes that were made in a team and fit none of its workspaces: kept, and listed once for the team."""

from __future__ import annotations

import re
from collections.abc import Iterable

from headcount.domain.findings import Workspace
from headcount.workspace.names import encode
from headcount.workspace.reflog import Stash, read_ownership, read_stashes
from headcount.workspace.repository import Repository


def list_unclaimed(repo: Repository, team: str, workspaces: Iterable[Workspace]) -> list[Stash]:
    """Stashes on a branch of the team, or on no branch, that none of `workspaces` owns.

    A stash on any other branch is the user's, and not mentioned.
    """
    owners = [
        read_ownership(workspace.git_dir, repo.common_dir, workspace.branch, repo.exists)
        for workspace in workspaces
        if workspace.git_dir
    ]
    ours = re.compile(rf"(?:WIP on|On) (?:headcount/{re.escape(encode(team))}/[^:]+|\(no branch\)): ")
    return [
        stash
        for stash in read_stashes(repo.common_dir)
        if ours.match(stash.message) and not any(owner.owns_stash(stash) for owner in owners)
    ]
