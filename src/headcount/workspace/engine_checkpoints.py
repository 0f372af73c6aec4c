"""Checkpoints as the engine sees them (`ports.Checkpoints`).

An attempt on an unchanged workspace reads the times of all its files. After two such attempts in a row
headcount lets the kernel report changes, and further attempts cost nothing until it does. Every ten minutes
it reads the times all the same, because the kernel does not report writes through a memory mapping.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from headcount.errors import HeadcountError
from headcount.workspace.change_watch import ChangeWatch
from headcount.workspace.checkpoints import DIRECTORY, Checkpoints, Memory
from headcount.workspace.saving_rules import SavingRules

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headcount.domain.findings import Workspace
    from headcount.domain.policy import Policy
    from headcount.workspace.repository import Repository

_TRUST_S = 600.0


class EngineCheckpoints:
    def __init__(self, repo: Repository, home: str) -> None:
        self._repo = repo
        self._directory = os.path.join(home, DIRECTORY)
        self._watch = ChangeWatch()
        self._unchanged: dict[str, float] = {}  # by path: when an attempt last found nothing
        self._memories: dict[str, Memory] = {}  # by path

    def take(
        self, workspace: Workspace, policy: Policy, plan: Mapping[str, Any], why: str, limit_s: float
    ) -> None:
        path = workspace.path
        unchanged_at = self._unchanged.get(path)
        trusted = unchanged_at is not None and time.monotonic() < unchanged_at + _TRUST_S
        if trusted and self._watch.is_quiet(path):
            return
        private = SavingRules.of(policy, plan).private
        memory = self._memories.setdefault(path, Memory())
        store = Checkpoints(self._repo.until(limit_s), workspace, self._directory, private, memory)
        if workspace.git_dir is None or not store.is_there():
            return
        try:
            if unchanged_at is not None:
                self._watch.arm(path, store.list_directories())
            taken = store.take(why, max_mb=policy.checkpoint_max_mb, limit_s=limit_s)
        except BlockingIOError:
            return  # another one is being taken all the time
        except (HeadcountError, OSError) as error:
            self.forget(workspace)
            store.note_failure(getattr(error, "why", "") or str(error))
            return
        store.note_failure("")
        if taken is None:
            self._unchanged[path] = time.monotonic()
        else:
            self._forget_quiet(path)

    def forget(self, workspace: Workspace) -> None:
        self._memories.pop(workspace.path, None)
        self._forget_quiet(workspace.path)

    def _forget_quiet(self, path: str) -> None:
        self._unchanged.pop(path, None)
        self._watch.drop(path)
