"""Workspaces as the engine sees them (`ports.Workspaces`): git where there is a repository."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headcount.domain.findings import Salvage
from headcount.workspace.archive import archive
from headcount.workspace.findings import read_findings
from headcount.workspace.remove import Refused, remove, remove_directory
from headcount.workspace.repository import Repository
from headcount.workspace.salvage import salvage
from headcount.workspace.worktrees import Workspaces

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headcount.domain.findings import Findings, GoneProof, Workspace
    from headcount.domain.policy import Policy

ARCHIVED = "archive:"  # in the place of a ref, for what git does not hold


class EngineWorkspaces:
    """`plan` is the start's own: `base`, `detached`, `workspace`, `integration`, `require_merged`, `sync`."""

    def __init__(self, repo: Repository | None, root: str, archive_directory: str) -> None:
        self._repo = repo
        self._made = Workspaces(repo, root)
        self._archive_directory = archive_directory

    def create(self, team: str, member: str, generation: int, plan: Mapping[str, Any]) -> Workspace:
        return self._made.create(
            team,
            plan.get("workspace") or member,
            generation,
            base=plan.get("base"),
            detached=bool(plan.get("detached")),
        )

    def read(self, workspace: Workspace, policy: Policy, plan: Mapping[str, Any]) -> Findings:
        return read_findings(
            self._repo,
            workspace,
            integration=plan.get("integration"),
            require_merged=bool(plan.get("require_merged")),
            sync_command=plan.get("sync") or "",
            timeout_s=policy.inspect_timeout_s,
        )

    def salvage(self, workspace: Workspace, policy: Policy) -> Salvage | None:
        findings = read_findings(self._repo, workspace, timeout_s=policy.inspect_timeout_s)
        if findings.spotless:
            return None
        if self._repo is None or workspace.git_dir is None:
            return self._archive(workspace)
        return salvage(
            self._repo,
            workspace,
            findings=findings,
            max_mb=policy.salvage_max_mb,
            ignored_max_mb=policy.salvage_ignored_max_mb,
            timeout_s=policy.salvage_timeout_s,
        )

    def remove(self, workspace: Workspace, proof: GoneProof, plan: Mapping[str, Any]) -> str | None:
        if self._repo is None or workspace.git_dir is None:
            gone = remove_directory(workspace, proof, archive(workspace, self._archive_directory))
        else:
            gone = remove(self._repo, workspace, proof, integration=plan.get("integration"))
        return "; ".join(gone.reasons) if isinstance(gone, Refused) else None

    def _archive(self, workspace: Workspace) -> Salvage:
        kept = archive(workspace, self._archive_directory)
        return Salvage(
            ref=f"{ARCHIVED}{kept.path}",
            commit=kept.sha256,
            team=workspace.team,
            member=workspace.member,
            generation=workspace.generation,
            files=kept.entries,
            bytes=kept.bytes,
        )
