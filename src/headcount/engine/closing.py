"""Closing a team, step by step: finalizers, workspaces, archive, tombstone. Each step is repeatable.

The order matters. A finalizer releases what uses a workspace before the workspace is removed, and a workspace
is removed only through the gate. The archive is complete on disk before the tombstone says that the team is
closed. headcount checks each salvage of the receipt twice: before a removal, and before the tombstone.
"""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headcount.domain.findings import GoneProof, Salvage, Workspace
from headcount.engine import held_environment, hub_copies
from headcount.engine.job import Job, Outcome
from headcount.engine.pending_acts import GIT_CONFIG
from headcount.engine.state_files import archive_path, log_path
from headcount.engine.writing import utc_now
from headcount.errors import HeadcountError
from headcount.protocol import events as ev
from headcount.protocol.bound import CLOSE_AT_ONCE
from headcount.protocol.effects import Note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_LOG = logging.getLogger(__name__)


def perform_step(job: Job) -> Outcome:
    """Failed when anything of it failed; what did succeed is not done again by a repeat."""
    step = str(job.act.data["step"])
    try:
        problems, notes, facts = _STEPS[step](job)
    except (HeadcountError, OSError) as error:
        problems, notes, facts = [getattr(error, "why", "") or str(error)], [], {}
    ended = ev.StepEnded(step, job.act.epoch, not problems, "; ".join(problems))
    return Outcome((ended,), facts, tuple(notes))


# problems, notes, facts
_Result = tuple[list[str], list[Note], dict[tuple[str, str], "Mapping[str, Any]"]]


def _finalizers(job: Job) -> _Result:
    """What a member brought up besides processes is released by the command that it declared for it."""
    done = set(job.everyone.get("finalized", {}).get("", {}).get("keys", ()))
    wanted = [
        (key, index, argv)
        for key, start in job.everyone["start"].items()
        for index, argv in enumerate(start.get("finalizers", ()))
        if f"{key}/{index}" not in done
    ]
    run = job.world.executor.map
    results = run(lambda item: _run_finalizer(job, item[0], item[2]), wanted, CLOSE_AT_ONCE)
    done |= {f"{key}/{index}" for (key, index, _), why in zip(wanted, results, strict=True) if not why}
    notes = [
        Note("finalizer", key, {"command": list(argv), "failed": why})
        for (key, _, argv), why in zip(wanted, results, strict=True)
    ]
    return [why for why in results if why], notes, {("", "finalized"): {"keys": sorted(done)}}


def _run_finalizer(job: Job, key: str, argv: list[str]) -> str:
    """Why it failed, or nothing."""
    workspace = job.everyone["workspace"].get(key, {}).get("path", "")
    env = {**job.environment, "HEADCOUNT_TEAM": job.team.name, "HEADCOUNT_ABOUT": key}
    try:
        place = workspace if job.world.files.is_directory(workspace) else job.world.home
        done = job.world.commands.run(argv, cwd=place, timeout_s=job.policy.finalizer_timeout_s, env=env)
    except OSError as error:
        return f"finalizer {argv[0]} of {key}: {error}"
    if done.returncode == 0:
        return ""
    last = done.stderr.strip().rpartition("\n")[2]
    return f"finalizer {argv[0]} of {key} ended with code {done.returncode}" + (f": {last}" if last else "")


def _workspaces(job: Job) -> _Result:
    """Each through the gate. Several may share one: then the last incarnation's proof counts."""
    job.world.workspaces.remove_left_checkouts()
    removed = set(job.everyone.get("removed", {}).get("", {}).get("paths", ()))
    last_user = {
        w["path"]: (key, w) for key, w in job.everyone["workspace"].items() if w["path"] not in removed
    }
    removing = job.world.executor.map
    kept = removing(lambda item: _remove(job, *item), list(last_user.values()), CLOSE_AT_ONCE)
    problems: list[str] = []
    if job.team.run is not None and (away := hub_copies.push_branch(job, job.team.run.crew.integration)):
        problems.append(away)
    notes: list[Note] = []
    for (key, workspace), why in zip(last_user.values(), kept, strict=True):
        if why and job.world.files.exists(workspace["path"]):
            problems.append(f"kept {workspace['path']}: {why}")
        elif why:
            problems.append(f"removed {workspace['path']}: {why}")
        else:
            removed.add(workspace["path"])
            notes.append(Note("workspace_removed", key, {"path": workspace["path"]}))
    return problems, notes, {("", "removed"): {"paths": sorted(removed)}}


def _remove(job: Job, key: str, workspace: Mapping[str, Any]) -> str:
    member = job.team.members[key]
    if member.unread:
        return f"its last read failed: {member.unread}"
    if lost := _check_saved(job, member.refs):
        return "; ".join(lost)
    proof, start = job.everyone["proof"].get(key, {}), job.everyone["start"][key]
    gone = GoneProof(
        job.team.name,
        str(workspace["member"]),
        # Of a shared one it is the team's, and by now everybody who worked in it is gone.
        int(workspace["generation"]) if start.get("workspace") else member.generation,
        str(proof.get("method", "never started")),
        utc_now(),
    )
    try:
        skipped = job.everyone.get("findings", {}).get(key, {}).get("skipped", ())
        plan = {**start, **job.start, "skipped": skipped}
        about = replace(job, member=member, workspace=workspace, start=plan)
        _, away = hub_copies.try_copy(about, job.policy.salvage_timeout_s / 2)
        if away:
            return away
        return job.world.workspaces.remove(Workspace.from_dict(workspace), gone, job.policy, plan) or ""
    except (HeadcountError, OSError) as error:
        return getattr(error, "why", "") or str(error)


def _check_saved(job: Job, refs: Iterable[str]) -> list[str]:
    """Problems with what the receipt says was saved."""
    facts = job.everyone.get("salvage", {})
    saved = [Salvage.from_dict(facts[ref]) for ref in refs if ref in facts]
    found = job.world.executor.map(lambda one: _check_one(job, one), saved, CLOSE_AT_ONCE)
    return [problem for problems in found for problem in problems] + hub_copies.find_lost(job, saved)


def _check_one(job: Job, saved: Salvage) -> list[str]:
    try:
        return job.world.workspaces.check_saved(saved)
    except (HeadcountError, OSError) as error:
        return [f"{saved.ref} could not be checked: {getattr(error, 'why', '') or error}"]


def _archive(job: Job) -> _Result:
    """Write everything there was to disk, under a name that is used once."""
    files, place = job.world.files, archive_path(job.world.home, job.team.name, job.team.generation)
    if not files.is_directory(place):
        export = job.everyone["export"]
        files.write_directory(place, {name: _encode(name, export[name]) for name in export})
    return [], [Note("archived", "", {"path": place})], {("", "archive"): {"path": place}}


def _tombstone(job: Job) -> _Result:
    """Check everything that the receipt names once more. Then move the team's own files to its archive,
    unless an earlier step failed and the team is not deleted. The members' environment, git's configuration
    and the settings of clients may hold keys, so they are removed."""
    held_environment.forget(job.held)
    lost = _check_saved(job, [ref for member in job.team.members.values() for ref in member.refs])
    team_files = f"{job.world.home}/teams/{job.team.name}"
    archive = archive_path(job.world.home, job.team.name, job.team.generation)
    _remove_copies(job)
    _remove_client_settings(job, team_files)
    if not lost and not job.team.warnings and job.world.files.is_directory(archive):
        job.world.files.move_directory(team_files, f"{archive}/team")
    if not lost and job.world.files.is_directory(archive):
        _remove_records(job, archive)
    return lost, [], {("", held_environment.FACT): {}, ("", GIT_CONFIG): {}}


def _remove_copies(job: Job) -> None:
    """An engine that was killed has left copies of checkpoints at the hub, whose members are saved there."""
    saved = {key for key, member in job.team.members.items() if not (member.unread or member.here)}
    places = [Workspace.from_dict(w) for key, w in job.everyone["workspace"].items() if key in saved]
    if job.hub is not None and job.world.checkpoints is not None:
        limit_s = job.policy.salvage_timeout_s / 4
        job.world.checkpoints.remove_copies(places, job.hub, limit_s)


def _remove_client_settings(job: Job, team_files: str) -> None:
    """Each client has a directory with copies of the user's settings, and may have written a login there. Of
    it only the conversations stay, as the archive of what was said."""
    for key, start in job.everyone["start"].items():
        directory = f"{team_files}/clients/{key.replace('#', '-')}"
        try:
            job.world.files.keep_only(directory, start.get("conversations", ()))
        except OSError:
            _LOG.warning("settings of the client of %s of %s stay", key, job.team.name, exc_info=True)


def _remove_records(job: Job, archive: str) -> None:
    """The processes are proved gone, and the proofs are in the store. What members printed goes to the
    archive; the other records of their starts are removed."""
    for key, start in job.everyone["start"].items():
        runtime = job.world.runtimes.get(str(start.get("runtime", "plain")))
        if runtime is None or not start.get("mark"):
            continue
        try:
            runtime.discard(str(start["mark"]), log_path(archive, key))
        except (HeadcountError, OSError):
            _LOG.warning("the records of %s of %s stay", key, job.team.name, exc_info=True)


def _encode(name: str, content: Any) -> bytes:
    if name.endswith(".jsonl"):
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in content)
    else:
        text = json.dumps(content, ensure_ascii=False, indent=1)
    return text.encode(errors="surrogatepass")


_STEPS: dict[str, Callable[[Job], _Result]] = {
    "finalizers": _finalizers,
    "workspaces": _workspaces,
    "archive": _archive,
    "tombstone": _tombstone,
}
