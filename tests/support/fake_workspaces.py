"""Workspaces without git or a disk, for the simulator. They pass the same conformance suite as the real ones.

A **piece** stands for anything that can be lost: a changed file, a stash, a commit. It is `loose` while only
the workspace has it, and safe once it is committed, or in a salvage ref.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from headcount.domain.findings import Finding, Findings, GoneProof, Kind, Salvage, Workspace
from headcount.domain.policy import Policy
from headcount.errors import GitError
from headcount.ports import Hub

_WHEN = "2026-01-01T12:00:00+00:00"


@dataclass(slots=True)
class FakeWorkspace:
    value: Workspace
    loose: set[int] = field(default_factory=set)
    committed: set[int] = field(default_factory=set)
    at: str = "c0"
    there: bool = True

    @property
    def head(self) -> str:
        return f"{self.value.branch}-{max(self.committed)}" if self.committed else self.at


@dataclass(slots=True)
class FakeRepository:
    """What outlives an engine: the workspaces by path, and the refs."""

    workspaces: dict[str, FakeWorkspace] = field(default_factory=dict)
    refs: dict[str, frozenset[int]] = field(default_factory=dict)
    hub: dict[str, frozenset[int]] = field(default_factory=dict)  # what each ref at the hub has
    merged: set[str] = field(default_factory=set)
    on_call: Callable[[str], bool] = lambda name: False
    """Called before each call: it may raise, and True makes that call fail."""
    on_remove: Callable[[str], object] = lambda path: None

    def saved(self, workspace: Workspace) -> set[int]:
        refs = self.refs_of(workspace)
        return {piece for ref in refs for piece in self.refs[ref]}

    def refs_of(self, workspace: Workspace) -> list[str]:
        stem = f"refs/salvage/{workspace.team}/{workspace.member}/{workspace.generation}"
        return [ref for ref in self.refs if ref.rpartition(".")[0] == stem]


@dataclass(slots=True)
class FakeHub:
    """A hub that fails as the run wants it."""

    repository: FakeRepository
    here: str = "h1"

    def push(self, refs: Mapping[str, str], limit_s: float, objects: Iterable[str] = ()) -> dict[str, str]:
        if self.repository.on_call("push"):
            raise GitError("The hub does not have it", "no answer", code="hub-failed")
        for ref, commit in refs.items():
            new = self.repository.refs.get(ref) or self._committed(commit)
            # Nothing there is replaced: commits that do not continue a branch go beside it.
            self.repository.hub[ref] = self.repository.hub.get(ref, frozenset()) | new
        return {ref: ref for ref in refs}

    def _committed(self, commit: str) -> frozenset[int]:
        spaces = self.repository.workspaces.values()
        return frozenset(piece for space in spaces if space.head == commit for piece in space.committed)

    def names(self, refs: Iterable[str], limit_s: float) -> dict[str, str]:
        if self.repository.on_call("names"):
            raise GitError("The hub does not have it", "no answer", code="hub-failed")
        return {ref: ref for ref in refs if ref in self.repository.hub}

    def fetch(self, commit: str, limit_s: float) -> None:
        self.repository.on_call("fetch")

    def delete(self, refs: Iterable[str], limit_s: float) -> None:
        self.repository.on_call("delete")


class FakeWorkspaces:
    def __init__(self, repository: FakeRepository | None = None) -> None:
        self.repository = repository or FakeRepository()

    def create(self, team: str, member: str, generation: int, plan: Mapping[str, Any]) -> Workspace:
        path = f"/workspaces/{team}/{member}-{generation}"
        made = self.repository.workspaces.get(path)
        if self.repository.on_call("create") and made is None:
            raise GitError("Did not make the workspace", "no space left", code="workspace-failed")
        if made is None:
            branch = None if plan.get("detached") else f"headcount/{team}/{member}"
            base = str(plan.get("base") or "c0")
            value = Workspace(team, member, generation, path, f"{path}.git", branch, base)
            made = self.repository.workspaces[path] = FakeWorkspace(value, at=base)
        return made.value

    def set_up(
        self,
        workspace: Workspace,
        plan: Mapping[str, Any],
        run: Callable[[str | Sequence[str]], None],
        tell: Callable[[str], None],
    ) -> None:
        if self.repository.on_call("set_up"):
            raise GitError("Did not set it up", "the disk is full")
        if plan.get("setup"):
            run(str(plan["setup"]))

    def find(
        self, team: str, member: str, generation: int, plan: Mapping[str, Any], *, finish: bool = True
    ) -> Workspace | None:
        self.repository.on_call("find")
        made = self.repository.workspaces.get(f"/workspaces/{team}/{member}-{generation}")
        return made.value if made is not None and made.there else None

    def read(self, workspace: Workspace, policy: Policy, plan: Mapping[str, Any]) -> Findings:
        if self.repository.on_call("read"):
            raise GitError("Did not read the workspace", "no space left", code="unreadable")
        return self._findings(self._open(workspace))

    def salvage(
        self, workspace: Workspace, policy: Policy, plan: Mapping[str, Any]
    ) -> tuple[Findings, Salvage | None]:
        if self.repository.on_call("salvage"):
            raise GitError("Did not save the workspace", "no space left", code="salvage-failed")
        space = self._open(workspace)
        findings, refs = self._findings(space), self.repository.refs_of(workspace)
        if findings.spotless:
            return findings, None
        created = not refs or self.repository.refs[refs[-1]] != space.loose
        if created:
            stem = f"refs/salvage/{workspace.team}/{workspace.member}/{workspace.generation}"
            refs.append(f"{stem}.{len(refs) + 1}")
            self.repository.refs[refs[-1]] = frozenset(space.loose)
            self.repository.on_call("read back")
        who = (workspace.team, workspace.member, workspace.generation)
        return findings, Salvage(refs[-1], refs[-1], *who, len(space.loose), 1, created=created)

    def list_branches(self, workspace: Workspace, plan: Mapping[str, Any]) -> dict[str, str]:
        space = self.repository.workspaces.get(workspace.path)
        committed = space is not None and space.committed
        return {f"refs/heads/{workspace.branch}": space.head} if space is not None and committed else {}

    def remove(
        self, workspace: Workspace, proof: GoneProof, policy: Policy, plan: Mapping[str, Any]
    ) -> str | None:
        if self.repository.on_call("remove"):
            return "a program uses it"
        space = self.repository.workspaces.get(workspace.path)
        if space is None or not space.there:
            return None
        if not proof.covers(workspace):
            return "nobody has proved that it is unused"
        if space.loose - self.repository.saved(workspace):
            return "some of it is nowhere else"
        self.repository.on_remove(workspace.path)
        space.there = False
        return None

    def check_saved(self, saved: Salvage) -> list[str]:
        self.repository.on_call("check_saved")
        return [] if saved.ref in self.repository.refs else [f"{saved.ref} is gone"]

    def merge(self, branch: str, commit: str, message: str, plan: Mapping[str, Any]) -> tuple[str, ...]:
        if self.repository.on_call("merge"):
            return ("a file",)
        self.repository.merged.add(commit)
        return ()

    def bring(self, name: str, hub: Hub, limit_s: float, plan: Mapping[str, Any]) -> None:
        self.repository.on_call("bring")

    def show_commit(self, workspace: Workspace, commit: str, policy: Policy, plan: Mapping[str, Any]) -> bool:
        self.repository.on_call("show_commit")
        space = self._open(workspace)
        if space.loose or workspace.branch is not None:
            return False
        space.at = commit
        return True

    @contextmanager
    def checkout(self, branch: str, plan: Mapping[str, Any]) -> Iterator[str]:
        self.repository.on_call("checkout")
        yield "/gates/1"

    def remove_left_checkouts(self) -> list[str]:
        return []

    def added_lines(self, base: str, branch: str) -> dict[str, int]:
        return {}

    def _open(self, workspace: Workspace) -> FakeWorkspace:
        space = self.repository.workspaces.get(workspace.path)
        if space is None or not space.there:
            raise GitError("Did not read the workspace", "it is not there", code="unreadable")
        return space

    def _findings(self, space: FakeWorkspace) -> Findings:
        items = [
            Finding(Kind.UNTRACKED, f"piece {piece}", _WHEN, "status", f"piece-{piece}")
            for piece in sorted(space.loose)
        ]
        branch = space.value.branch
        return Findings(space.value.path, _WHEN, space.head, branch, len(space.committed), tuple(items))
