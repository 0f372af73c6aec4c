"""Claude Code's own teams, observed: who is in them, who is alive, whose lead is dead, what is dirty.

Read only. What a lead says to its teammates is signed, and a teammate believes nobody else: that is a
safeguard, and headcount never imitates it. Files are read by Claude Code's own convention (`FILE.lock/` is a
directory while somebody writes, and stale after some seconds), and once more when they were caught half
written. On request a dirty worktree is salvaged; a process is ended only when the operator names it.
"""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from headcount.domain.findings import Workspace
from headcount.errors import Declined, GitError, HeadcountError, UsageError
from headcount.runtime.processes import read_command_line, read_process, send_signal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headcount.app.app import App
    from headcount.workspace.repository import Repository

_LOCK_STALE_S = 18.0
_PATIENCE_S = 1.0
_LOOK_AGAIN_S = 0.02


class Mate(NamedTuple):
    name: str
    cwd: str
    pane: str
    processes: tuple[str, ...]
    pids: tuple[int, ...]
    worktree: bool
    """A linked one, and so its own; else it works in the user's checkout, and that is not looked at."""
    issues: tuple[str, ...]


class NativeTeam(NamedTuple):
    name: str
    lead_alive: bool | None
    """None: this version does not say which process leads."""
    members: tuple[Mate, ...]

    @property
    def orphans(self) -> tuple[Mate, ...]:
        """Teammates that live on after their lead."""
        return tuple(mate for mate in self.members if mate.pids) if self.lead_alive is False else ()

    def as_dict(self) -> dict[str, Any]:
        return {
            "team": self.name,
            "status": "native",
            "leadAlive": self.lead_alive,
            "orphans": [mate.name for mate in self.orphans],
            "members": [mate._asdict() for mate in self.members],
        }


def observe(environ: Mapping[str, str]) -> list[NativeTeam]:
    """Every team in this user's Claude Code directory; what cannot be read is left out."""
    place = environ.get("CLAUDE_CONFIG_DIR") or f"{environ.get('HOME', '')}/.claude"
    try:
        names = sorted(os.listdir(f"{place}/teams"))
    except OSError:
        return []
    running = _agents()
    found = (_read_team(f"{place}/teams/{name}/config.json", running) for name in names)
    return [team for team in found if team is not None]


def salvage_native(app: App, name: str, environ: Mapping[str, str]) -> list[dict[str, Any]]:
    """Save what is dirty in the worktrees of one native team; nothing in them is touched."""
    app.check("sweep")
    return [
        _salvage(app, name, mate) for mate in _named(name, environ).members if mate.worktree and mate.issues
    ]


def end_native(app: App, name: str, pid: int, environ: Mapping[str, str]) -> dict[str, Any]:
    """SIGTERM to one process that the operator names, if it is a teammate whose lead is dead."""
    import signal

    app.check("sweep")
    # Read before it is looked at, so that what is signalled is what was looked at: the number may be reused.
    process = read_process(pid)
    team = _named(name, environ)
    mate = next((mate for mate in team.orphans if pid in mate.pids), None)
    if mate is None:
        why = (
            "its lead is alive"
            if team.lead_alive
            else "no process of that team whose lead is dead has this id"
        )
        raise Declined(
            f"Did not end process {pid}", why, ("See the processes with `headcount sweep --dry-run`",),
            code="not-an-orphan",
        )  # fmt: skip
    sent = process is not None and send_signal(process.identity, signal.SIGTERM)
    return {"team": name, "member": mate.name, "pid": pid, "signalled": sent}


# --- reading ---------------------------------------------------------------------------------------------


def _read_team(path: str, running: dict[str, list[tuple[int, str]]]) -> NativeTeam | None:
    config = read_patiently(path)
    if config is None:
        return None
    name = str(config.get("name") or os.path.basename(os.path.dirname(path)))
    lead = str(config.get("leadAgentId") or f"team-lead@{name}")
    mates = [entry for entry in config.get("members", []) if isinstance(entry, dict)]
    members = tuple(_mate(entry, running) for entry in mates if entry.get("agentId") != lead)
    return NativeTeam(name, _is_lead_alive(config.get("leadProcess")), members)


def read_patiently(path: str) -> dict[str, Any] | None:
    """None when it is not there, or stays unreadable: a writer holds the lock, or has not finished."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        if not _is_locked(path) or time.monotonic() > deadline:
            try:
                with open(path, encoding="utf-8") as file:
                    found = json.load(file)
                return found if isinstance(found, dict) else None
            except FileNotFoundError:
                return None
            except (OSError, ValueError):
                if time.monotonic() > deadline:
                    return None
        time.sleep(_LOOK_AGAIN_S)


def _is_locked(path: str) -> bool:
    try:
        return time.time() - os.stat(f"{path}.lock").st_mtime < _LOCK_STALE_S
    except OSError:
        return False


def _is_lead_alive(lead: Any) -> bool | None:
    """By pid and start time: a pid alone may be somebody else's by now."""
    if not isinstance(lead, dict) or not isinstance(lead.get("pid"), int):
        return None
    process = read_process(lead["pid"], with_mark=False)
    return process is not None and not process.dead and lead.get("procStart") in (None, str(process.start))


def _agents() -> dict[str, list[tuple[int, str]]]:
    """Processes by the agent that their command line says they are (`--agent-id name@team`)."""
    found: dict[str, list[tuple[int, str]]] = {}
    for pid in (int(entry) for entry in os.listdir("/proc") if entry.isdecimal()):
        words = read_command_line(pid)
        if "--agent-id" in words[:-1]:
            agent = words[words.index("--agent-id") + 1]
            found.setdefault(agent, []).append((pid, os.path.basename(words[0])))
    return found


def _mate(entry: Mapping[str, Any], running: dict[str, list[tuple[int, str]]]) -> Mate:
    here = running.get(str(entry.get("agentId")), [])
    cwd = str(entry.get("cwd") or "")
    worktree = os.path.isfile(f"{cwd}/.git")
    return Mate(
        str(entry.get("name")), cwd, str(entry.get("tmuxPaneId") or ""),
        tuple(f"{name} ({pid})" for pid, name in here), tuple(pid for pid, _ in here), worktree,
        _issues(cwd) if worktree else (),
    )  # fmt: skip


# --- worktrees -------------------------------------------------------------------------------------------


def _open(cwd: str) -> Repository:
    # Imported when a team of Claude Code's own was found: `status` calls `observe` each time.
    from headcount.app.adapters import make_commands
    from headcount.workspace.repository import Repository

    return Repository.open(cwd, reaper=make_commands().execute)


def _issues(cwd: str) -> tuple[str, ...]:
    from headcount.workspace.inspection import read_findings

    try:
        repository = _open(cwd)
        return tuple(read_findings(repository, _workspace("native", "mate", cwd, repository)).issues())
    except (HeadcountError, OSError) as error:
        return (f"could not be read: {getattr(error, 'why', '') or error}",)


def _workspace(team: str, member: str, cwd: str, repository: Repository) -> Workspace:
    """Its worktree as one of ours would be recorded; where it began is not known."""
    git_dir = repository.find_git_dir(cwd)
    if git_dir is None:
        raise GitError(f"git does not know the worktree {cwd}", code="git-worktree")
    git = repository.git.on(git_dir, cwd)
    branch = git.run("symbolic-ref", "--quiet", "--short", "HEAD", ok=(0, 1)).text or None
    return Workspace(team, member, 1, cwd, git_dir, branch)


def _salvage(app: App, team: str, mate: Mate) -> dict[str, Any]:
    from headcount.app.adapters import archive_directory
    from headcount.workspace.git_workspaces import EngineWorkspaces

    answer: dict[str, Any] = {"team": team, "member": mate.name, "worktree": mate.cwd, "salvage": None}
    try:
        repository = _open(mate.cwd)
        places = EngineWorkspaces(repository, f"{app.home}/worktrees", archive_directory(app))
        workspace = _workspace(f"native-{team}"[:50], mate.name, mate.cwd, repository)
        _, saved = places.salvage(workspace, app.settings.policy, {})
        answer["salvage"] = saved.ref if saved else None
    except (HeadcountError, OSError) as error:
        answer["problem"] = getattr(error, "why", "") or str(error)
    return answer


def _named(name: str, environ: Mapping[str, str]) -> NativeTeam:
    teams = {team.name: team for team in observe(environ)}
    if name not in teams:
        raise UsageError(
            f"Claude Code has no team {name!r} here",
            f"there are: {', '.join(teams) or 'none'}",
            code="unknown-team",
        )
    return teams[name]
