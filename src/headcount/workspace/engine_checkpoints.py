"""Checkpoints as the engine sees them (`ports.Checkpoints`)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from headcount.errors import HeadcountError
from headcount.workspace.checkpoints import DIRECTORY, Checkpoints

if TYPE_CHECKING:
    from headcount.domain.findings import Workspace
    from headcount.domain.policy import Policy
    from headcount.workspace.repository import Repository


class EngineCheckpoints:
    def __init__(self, repo: Repository, home: str) -> None:
        self._repo = repo
        self._directory = os.path.join(home, DIRECTORY)

    def take(self, workspace: Workspace, policy: Policy, why: str, limit_s: float) -> None:
        store = Checkpoints(self._repo.until(limit_s), workspace, self._directory)
        if workspace.git_dir is None or not store.is_there():
            return
        try:
            store.take(why, max_mb=policy.checkpoint_max_mb, wait=False)
        except (HeadcountError, OSError) as error:
            store.note_failure(getattr(error, "why", "") or str(error))
        else:
            store.note_failure("")

    def forget(self, workspace: Workspace) -> None:
        """Nothing is kept in memory."""
