"""A user's repository and members' workspaces in it, with real git."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from headcount.domain.findings import Findings, GoneProof, Salvage, Workspace
from headcount.workspace.inspection import read_findings
from headcount.workspace.repository import Repository
from headcount.workspace.salvage import salvage
from headcount.workspace.worktrees import Workspaces


def git(where: Path | str, *args: str, ok: bool = True) -> str:
    """What a member or a user does by hand, as somebody."""
    who = ["-c", "user.name=ann", "-c", "user.email=ann@example.org", "-c", "protocol.file.allow=always"]
    done = subprocess.run(["git", *who, *args], cwd=where, capture_output=True, check=False, timeout=60)
    assert not ok or done.returncode == 0, done.stderr.decode()
    return done.stdout.decode("utf-8", "surrogateescape").strip("\n")


@dataclass
class World:
    top: Path
    repo: Repository
    workspaces: Workspaces

    def member(self, name: str = "alice", generation: int = 1, *, team: str = "t") -> Workspace:
        return self.workspaces.create(team, name, generation)

    def findings(self, workspace: Workspace, **options: object) -> Findings:
        return read_findings(self.repo, workspace, **options)  # type: ignore[arg-type]

    def kinds(self, workspace: Workspace) -> set[str]:
        return {item.kind.value for item in self.findings(workspace).items}

    def salvage(self, workspace: Workspace, **options: object) -> Salvage:
        return salvage(self.repo, workspace, **options)  # type: ignore[arg-type]


def gone(workspace: Workspace, **changes: object) -> GoneProof:
    fields = {"team": workspace.team, "member": workspace.member, "generation": workspace.generation}
    return GoneProof(**{**fields, "how": "a test", "when": "2024-01-01T00:00:00+00:00", **changes})  # type: ignore[arg-type]


def open_world(top: Path) -> World:
    repo = Repository.open(str(top))
    return World(top, repo, Workspaces(repo, str(top / ".headcount" / "worktrees")))


def loosen(world: World, saved: Salvage) -> None:
    """Turn a salvage into what an older version wrote: loose objects, and no pack."""
    packs = Path(world.repo.objects) / "pack"
    content = (packs / f"{saved.pack}.pack").read_bytes()
    for file in packs.glob(f"{saved.pack}.*"):
        file.unlink()
    subprocess.run(
        ["git", "unpack-objects", "-q"], cwd=world.top, input=content, capture_output=True, check=True
    )


def work(world: World, name: str = "alice") -> tuple[str, Salvage]:
    member = world.member(name)
    (Path(member.path) / "new.txt").write_text("new\n")
    return member.path, world.salvage(member)
