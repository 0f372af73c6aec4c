"""Leftovers of crashed runs: processes, terminal sessions, worktrees. Adopted, or ended by the same rules.

Leftovers of a live member of an open team are adopted: an engine is started, and finds them. All others are
salvaged first, then ended, proved, and removed through the gate. Nothing without a mark of this state
directory is touched. `--discard` deletes files by name that a salvage could not take.
"""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

from headcount.app.adapters import make_runtimes, make_workspaces
from headcount.app.lock import is_driven
from headcount.app.resident import ensure_driven
from headcount.domain.findings import GoneProof
from headcount.engine.writing import utc_now
from headcount.errors import HeadcountError, UsageError
from headcount.runtime.mark import parse_mark
from headcount.workspace.git_workspaces import EngineWorkspaces
from headcount.workspace.integration import find_left
from headcount.workspace.remove import discard_path, find_mounted_in, measure

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headcount.app.adapters import Runtimes
    from headcount.app.app import App
    from headcount.domain.findings import Workspace


class Orphan(NamedTuple):
    """Something of ours that no open team knows."""

    mark: str | None
    processes: tuple[str, ...]
    workspace: Workspace | None


def sweep(app: App, *, dry_run: bool = False, discard: Iterable[str] = ()) -> dict[str, Any]:
    """Return what was found, and what was done about it. The paths to `discard` are deleted first."""
    app.check("sweep")
    discarded = _discard(app, discard, dry_run=dry_run)
    found, open_teams = _orphans(app)
    adopts = bool(open_teams) and not is_driven(app.home)
    answer: dict[str, Any] = {
        "openTeams": open_teams,
        "adopted": open_teams if adopts else [],
        "orphans": [_describe(orphan) for orphan in found],
        "checkouts": find_left(f"{app.home}/gates"),
        "discarded": discarded,
        "dryRun": dry_run,
    }
    if dry_run:
        return answer
    if adopts:
        ensure_driven(app)
    answer["checkouts"] = make_workspaces(app).remove_left_checkouts()
    runtimes = make_runtimes(app)
    _adopt_all(runtimes)
    answer["ended"] = [_end(app, orphan, runtimes) for orphan in found]
    runtimes["plain"].remove_left_cgroups()
    return answer


def _discard(app: App, paths: Iterable[str], *, dry_run: bool) -> list[dict[str, Any]]:
    """Delete what the operator names inside workspaces that were kept. The journal has it first.

    All paths are checked before the first is deleted.
    """
    # The directory above may be named through a link. The last part may be a link, which is deleted itself.
    wanted = [os.path.split(os.path.abspath(path)) if path else ("", "") for path in paths]
    named = {os.path.join(os.path.realpath(above), name) if name else name for above, name in wanted}
    places = [path for path in sorted(named) if not any(path.startswith(f"{other}/") for other in named)]
    kept = [orphan for orphan in _orphans(app)[0] if orphan.workspace is not None] if places else []
    chosen = [(path, _find_kept(path, kept)) for path in places]
    answers = []
    for path, workspace in chosen:
        answers.append({"path": path, **measure(path)})
        if not dry_run:
            _record(app, workspace, "discarded", answers[-1])
            discard_path(path)
    return answers


def _find_kept(path: str, kept: Iterable[Orphan]) -> Workspace:
    """The kept workspace around a path that may be deleted."""
    why = "it is not inside a workspace that was kept after its team closed"
    for orphan in kept:
        workspace = orphan.workspace
        if workspace is None or not path.startswith(f"{workspace.path}/"):
            continue
        why = "" if os.path.lexists(path) else "it does not exist"
        if orphan.processes:
            why = f"{', '.join(orphan.processes)} is alive there"
        if os.path.relpath(path, workspace.path).split(os.sep)[0] == ".git":
            why = "git needs it to know the worktree"
        if not os.path.islink(path) and (mounted := find_mounted_in(path)):
            why = f"{mounted[0]} is mounted in it"
        if not why:
            return workspace
    hint = "See what was kept with `headcount sweep --dry-run`"
    raise UsageError(f"Did not delete {path or 'an empty path'}", why, (hint,), code="not-kept")


def _record(app: App, workspace: Workspace, kind: str, data: dict[str, Any]) -> None:
    """Write it into the journal of the workspace's team, if the store knows that one."""
    with app.store.write(team=workspace.team) as tx:
        team = tx.load_team(workspace.team)
        if team is not None:
            tx.add_entry(team.id, kind, f"{workspace.member}#{workspace.generation}", data)


def _adopt_all(runtimes: Runtimes) -> None:
    """Make every keeper known to the runtime. An unknown one puts the end of the orphans in doubt."""
    runtime = runtimes["plain"]
    for mark in runtime.list_marked():
        handle = runtime.adopt(mark)
        if handle is not None:
            handle.close()


class _Known(NamedTuple):
    """What is somebody's in an open team, and so not ours to sweep."""

    teams: list[str]
    marks: set[str]
    paths: set[str]
    starting: set[str]  # teams in which a workspace may be made just now: its path is known only afterwards

    def claims(self, workspace: Workspace) -> bool:
        return workspace.path in self.paths or workspace.team in self.starting


def _read_known(app: App) -> _Known:
    with app.store.read() as tx:
        known = _Known(tx.team_names(), set(), set(), set())
        for name in known.teams:
            team = app.load(tx, name)
            workspaces = tx.facts(team.id, "workspace")
            known.marks.update(str(start["mark"]) for start in tx.facts(team.id, "start").values())
            known.paths.update(str(workspace["path"]) for workspace in workspaces.values())
            if any(not m.settled and m.key not in workspaces for m in team.members.values()):
                known.starting.add(name)
    return known


def _orphans(app: App) -> tuple[list[Orphan], list[str]]:
    """Looked for first, asked about second: whoever is started meanwhile was not there, or is known."""
    if not os.path.isdir(app.home):
        return [], []  # nothing was ever started here
    marked = make_runtimes(app)["plain"].list_marked()
    places = make_workspaces(app).find_all()
    known = _read_known(app)
    by_owner = {(w.team, w.member, w.generation): w for w in places if not known.claims(w)}
    orphans = []
    for mark, processes in marked.items():
        if mark in known.marks:
            continue
        parsed = parse_mark(mark)
        assert parsed is not None
        workspace = by_owner.pop((parsed.team, parsed.member, parsed.generation), None)
        orphans.append(Orphan(mark, tuple(f"{p.name} ({p.pid})" for p in processes), workspace))
    return orphans + [Orphan(None, (), workspace) for workspace in by_owner.values()], known.teams


def _describe(orphan: Orphan) -> dict[str, Any]:
    return {
        "mark": orphan.mark,
        "processes": list(orphan.processes),
        "workspace": orphan.workspace.path if orphan.workspace else None,
    }


def _end(app: App, orphan: Orphan, runtimes: Runtimes) -> dict[str, Any]:
    """Save, end, prove, save what changed since, remove; at the first failure nothing further is done."""
    answer = {
        **_describe(orphan),
        "salvage": None,
        "skipped": [],
        "gone": orphan.mark is None,
        "removed": False,
        "problem": None,
    }
    workspaces = make_workspaces(app)
    policy = app.settings.policy
    try:
        _save(workspaces, orphan, policy, answer)
        if orphan.mark is not None:
            proof = _stop(runtimes, orphan.mark, policy.stop_grace_s)
            answer["gone"] = proof
            if not proof:
                answer["problem"] = "something of it is still alive"
                return answer
            _save(workspaces, orphan, policy, answer)
        if orphan.workspace is not None:
            owner = orphan.workspace
            gone = GoneProof(owner.team, owner.member, owner.generation, "by sweep", utc_now())
            if answer["skipped"]:  # no receipt lists it
                _record(app, owner, "skipped", {"paths": answer["skipped"]})
            answer["problem"] = workspaces.remove(owner, gone, policy, {"skipped": answer["skipped"]})
            answer["removed"] = answer["problem"] is None
    except (HeadcountError, OSError) as error:
        answer["problem"] = getattr(error, "why", "") or str(error)
    return answer


def _save(workspaces: EngineWorkspaces, orphan: Orphan, policy: Any, answer: dict[str, Any]) -> None:
    if orphan.workspace is not None:
        findings, saved = workspaces.salvage(orphan.workspace, policy, {})
        answer["salvage"] = saved.ref if saved else answer["salvage"]
        answer["skipped"] = [asdict(one) for one in findings.skipped]


def _stop(runtimes: Runtimes, mark: str, grace_s: float) -> bool:
    runtime = runtimes["plain"]
    handle = runtime.adopt(mark) or runtime.adopt_by_mark(mark)
    return runtime.stop(handle, grace_s, grace_s).empty
