"""Checkpoints as the engine sees them (`ports.Checkpoints`).

An attempt on an unchanged workspace reads the times of all its files. After two such attempts in a row
headcount lets the kernel report changes, and further attempts cost nothing until it does. Every ten minutes
it reads the times all the same, because the kernel does not report writes through a memory mapping.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from headcount.errors import HeadcountError
from headcount.workspace.change_watch import ChangeWatch
from headcount.workspace.checkpoints import DIRECTORY, Checkpoints, Memory
from headcount.workspace.hub import list_own_branches
from headcount.workspace.saving_rules import SavingRules

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headcount.domain.findings import Workspace
    from headcount.domain.policy import Policy
    from headcount.ports import Hub
    from headcount.workspace.repository import Repository

_TRUST_S = 600.0


class EngineCheckpoints:
    def __init__(self, repo: Repository, home: str) -> None:
        self._repo = repo
        self._directory = os.path.join(home, DIRECTORY)
        self._watch = ChangeWatch()
        self._unchanged: dict[str, float] = {}  # by path: when an attempt last found nothing
        self._memories: dict[str, Memory] = {}  # by path
        self._pushed: dict[str, str] = {}  # by the path of a store: the commit that a hub has

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

    def push(self, workspaces: Iterable[Workspace], hub: Hub, limit_s: float) -> None:
        stores = [Checkpoints(self._repo, one, self._directory) for one in workspaces if one.git_dir]
        latest = [(store, store.commit) for store in stores]
        new = [(store, commit) for store, commit in latest if commit != self._pushed.get(store.path, "")]
        if not new:
            return
        refs, why = {store.ref: commit for store, commit in new}, ""
        try:
            for store, _ in new:
                refs.update(list_own_branches(self._repo.until(limit_s), store.workspace))
            hub.push(refs, limit_s, [store.objects for store, _ in new])
            self._pushed.update({store.path: commit for store, commit in new})
        except (HeadcountError, OSError) as error:
            why = getattr(error, "why", "") or str(error)
        for store, _ in new:
            store.note_failure(why)

    def remove_copies(self, workspaces: Iterable[Workspace], hub: Hub, limit_s: float) -> None:
        stores = [Checkpoints(self._repo, one, self._directory) for one in workspaces if one.git_dir]
        for store in stores:
            self._pushed.pop(store.path, None)
        with suppress(HeadcountError):
            hub.delete([store.ref for store in stores], limit_s)

    def _forget_quiet(self, path: str) -> None:
        self._unchanged.pop(path, None)
        self._watch.drop(path)
