"""Workspaces as the engine sees them (`ports.Workspaces`): git where there is a repository."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any

from headcount.domain.findings import Archive, Salvage, Skipped
from headcount.domain.policy import Policy
from headcount.errors import HeadcountError, UsageError
from headcount.workspace.archive import archive, verify_archive
from headcount.workspace.bring_files import bring
from headcount.workspace.git_settings import Recorded, remove_left_directories
from headcount.workspace.hub import list_own_branches
from headcount.workspace.inspection import read_findings
from headcount.workspace.integration import Conflict, Integration, make_checkout, remove_left
from headcount.workspace.packing import put_back
from headcount.workspace.ref_names import HEADS
from headcount.workspace.remove import Refused, remove, remove_directory
from headcount.workspace.repository import Repository
from headcount.workspace.safe_files import write_durably
from headcount.workspace.salvage import salvage
from headcount.workspace.saving_rules import SavingRules
from headcount.workspace.verify import check
from headcount.workspace.worktrees import Workspaces

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from headcount.domain.findings import Findings, GoneProof, Workspace
    from headcount.ports import Hub

_SHARED = "_shared-"  # no member's name begins so
ARCHIVED = "archive:"  # in the place of a ref, for what git does not hold


class EngineWorkspaces:
    """`plan` is the start's own: `base`, `detached`, `workspace`, `integration`, `require_merged`, `sync`;
    `worktrees` (where they are), `setup`, `copy`, `submodules` and `checkout` (where files are copied from);
    `salvage_private` and `salvage_skip`, the worker's own patterns; `hub`, its URL; `git_config`, the
    configuration that was recorded when the team began; and for a removal `skipped`, the build output that
    the receipt lists."""

    def __init__(self, repo: Repository | None, root: str, archive_directory: str, name: str = "") -> None:
        """`name` is that of the directories outside of the repository in which workspaces may be, too."""
        self._opened = repo
        self._recorded: dict[Recorded | None, Repository] = {}
        self._root = root
        self._name = name
        self._gates = f"{os.path.dirname(root)}/gates"
        self._archive_directory = archive_directory
        self._sharing = Lock()
        self._setting_up: dict[str, Lock] = {}

    def _repo(self, plan: Mapping[str, Any]) -> Repository | None:
        """One for each team, because many who start at once share one look at the worktrees."""
        if self._opened is None:
            return None
        recorded = Recorded.from_fact(plan.get("git_config"))
        return self._recorded.setdefault(recorded, self._opened.as_recorded(recorded))

    def _made(self, plan: Mapping[str, Any]) -> Workspaces:
        return Workspaces(self._repo(plan), str(plan.get("worktrees") or self._root), self._archive_directory)

    def create(self, team: str, member: str, generation: int, plan: Mapping[str, Any]) -> Workspace:
        """`generation` is the member's, or, of a shared one, the team's."""
        make = partial(
            self._made(plan).create,
            base=plan.get("base"),
            detached=bool(plan.get("detached")),
            timeout_s=float(plan.get("checkout_timeout_s") or Policy().checkout_timeout_s),
            shared_names=bool(plan.get("hub")),
        )
        if not plan.get("workspace"):
            return make(team, member, generation)
        with self._sharing:  # those who share one may be started at once; the first makes it
            return make(team, _owner(member, plan), generation)

    def set_up(
        self,
        workspace: Workspace,
        plan: Mapping[str, Any],
        run: Callable[[str | Sequence[str]], None],
        tell: Callable[[str], None],
    ) -> None:
        ready = _ready_file(workspace)
        with self._setting_up.setdefault(workspace.path, Lock()):
            if os.path.exists(ready):
                return
            repo = self._repo(plan) if workspace.git_dir else None
            git = repo.git.on(workspace.git_dir, workspace.path) if repo and workspace.git_dir else None
            if plan.get("copy"):
                for line in bring(str(plan["checkout"]), workspace.path, plan["copy"], git):
                    tell(line)
            if plan.get("submodules") and git is not None:
                run(("git", "submodule", "update", "--init", "--recursive"))
            if plan.get("setup"):
                run(str(plan["setup"]))
            write_durably(ready, b"")

    def find_all(self) -> list[Workspace]:
        """Every workspace of this state directory that git knows of, wherever it is."""
        return Workspaces(self._opened, self._root).list(self._name)

    def find(
        self, team: str, member: str, generation: int, plan: Mapping[str, Any], *, finish: bool = True
    ) -> Workspace | None:
        return self._made(plan).find(team, _owner(member, plan), generation, finish=finish)

    def read(self, workspace: Workspace, policy: Policy, plan: Mapping[str, Any]) -> Findings:
        return read_findings(
            self._repo(plan),
            workspace,
            integration=plan.get("integration"),
            require_merged=bool(plan.get("require_merged")),
            sync_command=plan.get("sync") or "",
            timeout_s=policy.inspect_timeout_s,
            rules=SavingRules.of(policy, plan),
        )

    def salvage(
        self, workspace: Workspace, policy: Policy, plan: Mapping[str, Any]
    ) -> tuple[Findings, Salvage | None]:
        repo, rules = self._repo(plan), SavingRules.of(policy, plan)
        findings = read_findings(repo, workspace, timeout_s=policy.inspect_timeout_s, rules=rules)
        if findings.spotless:
            return findings, None
        if repo is None or workspace.git_dir is None:
            return findings, self._archive(workspace)
        return findings, salvage(
            repo,
            workspace,
            findings=findings,
            max_mb=policy.salvage_max_mb,
            ignored_max_mb=policy.salvage_ignored_max_mb,
            timeout_s=policy.salvage_timeout_s,
            rules=rules,
            archive_directory=self._archive_directory,
        )

    def list_branches(self, workspace: Workspace, plan: Mapping[str, Any]) -> dict[str, str]:
        repo = self._repo(plan)
        return list_own_branches(repo, workspace) if repo is not None else {}

    def remove(
        self, workspace: Workspace, proof: GoneProof, policy: Policy, plan: Mapping[str, Any]
    ) -> str | None:
        repo = self._repo(plan)
        if repo is None or workspace.git_dir is None:
            if not os.path.lexists(workspace.path):
                return None  # by an earlier try, which has archived it
            gone = remove_directory(workspace, proof, archive(workspace, self._archive_directory))
            with suppress(FileNotFoundError):
                os.unlink(_ready_file(workspace))
        else:
            gone = remove(
                repo,
                workspace,
                proof,
                integration=plan.get("integration"),
                timeout_s=policy.salvage_timeout_s,
                rules=SavingRules.of(policy, plan),
                listed=[Skipped.from_dict(one) for one in plan.get("skipped", ())],
                archive_directory=self._archive_directory,
            )
        if isinstance(gone, Refused):
            return "; ".join(gone.reasons)
        return (
            f"its branch {workspace.branch} was not deleted: {gone.branch_left}" if gone.branch_left else None
        )

    def check_saved(self, saved: Salvage) -> list[str]:
        """A ref that is gone while its objects are there, as after a `git fetch --prune`, is made again."""
        if saved.ref.startswith(ARCHIVED):
            return verify_archive(read_archive(saved))
        repo = self._git_repository({})
        put_back(repo, saved.ref, saved.commit)
        private = verify_archive(saved.private) if saved.private else []
        return check(repo, saved) + [f"{saved.ref}: {problem}" for problem in private]

    # --- for a run

    def merge(self, branch: str, commit: str, message: str, plan: Mapping[str, Any]) -> tuple[str, ...]:
        merged = Integration(self._git_repository(plan), branch).merge(commit, message)
        return merged.paths if isinstance(merged, Conflict) else ()

    def bring(self, name: str, hub: Hub, limit_s: float, plan: Mapping[str, Any]) -> None:
        repo = self._git_repository(plan)
        if not name.startswith("refs/"):
            hub.fetch(name, limit_s)
            return
        now = repo.commit(name)
        if now is not None and not name.startswith(HEADS):
            return
        try:
            there = hub.names([name], limit_s).get(name)
        except HeadcountError:
            if now is None:
                raise
            return
        if there is None or there == now:
            return
        hub.fetch(there, limit_s)
        if name.startswith(HEADS):
            Integration(repo, name.removeprefix(HEADS)).follow(there)
        else:
            put_back(repo, name, there)

    def show_commit(self, workspace: Workspace, commit: str, policy: Policy, plan: Mapping[str, Any]) -> bool:
        """Only what is spotless is moved, and git itself refuses to overwrite anything (C21)."""
        repo = self._git_repository(plan)
        rules = SavingRules.of(policy, plan)
        findings = read_findings(repo, workspace, timeout_s=policy.inspect_timeout_s, rules=rules)
        if not findings.spotless or workspace.git_dir is None or workspace.branch is not None:
            return False
        git = repo.git.on(workspace.git_dir, workspace.path)
        return git.run("checkout", "--quiet", "--detach", commit, ok=range(256)).code == 0

    def checkout(self, branch: str, plan: Mapping[str, Any]) -> AbstractContextManager[str]:
        """Outside of the user's worktrees; made by us a moment ago and used by nobody else, so it can go."""
        return make_checkout(self._git_repository(plan), self._gates, branch)

    def remove_left_checkouts(self) -> list[str]:
        """Those of gates whose engine was killed; where they were. Private configurations of git go, too."""
        remove_left_directories()
        return remove_left(self._opened, self._gates) if self._opened is not None else []

    def added_lines(self, base: str, branch: str) -> dict[str, int]:
        """Binary files have no lines, and are left out."""
        numstat = self._git_repository({}).git.run(
            "diff", "--numstat", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", f"{base}...{branch}"
        )
        rows = (record.split(b"\t", 2) for record in numstat.records())
        return {os.fsdecode(path): int(added) for added, _, path in rows if added != b"-" and int(added)}

    def _git_repository(self, plan: Mapping[str, Any]) -> Repository:
        repo = self._repo(plan)
        if repo is None:
            raise UsageError(
                "A run needs a git repository", "there is none here", ("Make one with `git init`",),
                code="no-repository",
            )  # fmt: skip
        return repo

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


def read_archive(saved: Salvage) -> Archive:
    """The tar file of a salvage that git does not hold."""
    return Archive(saved.ref.removeprefix(ARCHIVED), saved.commit, saved.files, saved.bytes)


def _ready_file(workspace: Workspace) -> str:
    """Written when a workspace was set up; goes with the workspace."""
    return f"{workspace.git_dir}/headcount.ready" if workspace.git_dir else f"{workspace.path}.ready"


def _owner(member: str, plan: Mapping[str, Any]) -> str:
    """A shared one has a name that no member can have, so it never is somebody's own (C15)."""
    return f"{_SHARED}{plan['workspace']}" if plan.get("workspace") else member
