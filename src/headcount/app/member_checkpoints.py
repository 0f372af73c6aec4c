"""Checkpoints of workspaces: list them, show what changed in one, and get files back.

Several incarnations can use one workspace: members share one, and the successor of a cycled member continues
in it. So a member's checkpoints are those of every workspace that the store names for it, and those that were
taken under its name. A checkpoint's id is MEMBER@NUMBER.
"""

from __future__ import annotations

import os
import re
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from headcount.app.adapters import find_repository
from headcount.app.app import policy_of
from headcount.domain.findings import Workspace
from headcount.domain.policy import Policy
from headcount.engine.checkpointing import WHILE_AN_ACT_WAITS_S
from headcount.errors import Declined, GitError, NotAllowed, UsageError
from headcount.protocol.authority import MEMBERS
from headcount.protocol.member import Activity
from headcount.workspace.checkpoint_restore import restore_in_place, restore_to
from headcount.workspace.checkpoints import DIRECTORY, Checkpoint, Checkpoints, list_stores, no_checkpoint
from headcount.workspace.engine_checkpoints import EngineCheckpoints
from headcount.workspace.git_settings import find_common_dir
from headcount.workspace.repository import Repository
from headcount.workspace.saving_rules import SavingRules

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headcount.app.app import App
    from headcount.app.session import Session

Row = dict[str, Any]
_AGO = re.compile(r"(\d+)([smhd])")
_UNIT_S = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_CLOCK = re.compile(r"\d{1,2}:\d{2}(:\d{2})?")


class _Found(NamedTuple):
    store: Checkpoints
    point: Checkpoint

    @property
    def id(self) -> str:
        return f"{self.store.workspace.member}@{self.point.number}"

    def row(self) -> Row:
        point = self.point
        return {
            "id": self.id,
            "number": point.number,
            "at": datetime.fromtimestamp(point.at, UTC).isoformat(timespec="milliseconds"),
            "why": point.why,
            "files": point.files,
            "head": point.head,
            "leftOut": list(point.left_out),
        }


def list_checkpoints(app: App, member: str | None = None, team: str | None = None) -> list[Row]:
    """One row for each workspace, with its checkpoints, oldest first."""
    app.check("checkpoints")
    stores = _stores_of(app, member, team) if member else _visible(app, _all_stores(app, team))
    return [_row(store) for store in stores]


def read_strips(app: App, team: str, workspaces: Mapping[str, Any]) -> dict[str, list[Row]]:
    """By incarnation, the checkpoints of its workspace, for page and report. `workspaces` are facts."""
    places = {key: _place(Workspace.from_dict(fact)) for key, fact in workspaces.items()}
    strips = {
        _place(store.workspace): [_Found(store, point).row() for point in _points(store)]
        for store in _all_stores(app, team)
        if _place(store.workspace) in places.values()
    }
    return {key: strips[place] for key, place in places.items() if place in strips}


def show_checkpoint(app: App, name: str, team: str | None = None) -> Row:
    """What changed since the checkpoint before it: a summary, and the difference."""
    app.check("checkpoints")
    member, at, number = name.rpartition("@")
    if not at or not member or not number.isdigit():
        raise UsageError(
            f"{name!r} is not the id of a checkpoint", "an id is MEMBER@NUMBER, such as alice@3",
            ("List them with `headcount checkpoints MEMBER`",), code="no-checkpoint",
        )  # fmt: skip
    found = _find(_stores_of(app, member, team), member, number)
    store, point = found
    return {
        "team": store.workspace.team,
        "member": store.workspace.member,
        "generation": store.workspace.generation,
        **found.row(),
        "stat": store.diff(point, "--stat=100"),
        "diff": store.diff(point),
    }


def restore_checkpoint(
    app: App,
    member: str,
    at: str,
    *,
    paths: Sequence[str] = (),
    into: str | None = None,
    team: str | None = None,
) -> Row:
    """Write files of a checkpoint to the new directory `into`, or without it into the workspace."""
    app.check("checkpoints")
    stores = _stores_of(app, member, team)
    found = _find(stores, member, at)
    store, point = found
    answer: Row = {"id": found.id, "at": found.row()["at"], "before": None}
    if into is not None:
        _check_target(app, store, into)
        done = restore_to(store, point, into, paths)
    else:
        app.check("restore")
        store = _find_at_rest(app, store, member)
        before = _Found(store, store.take("before a restore") or store.points()[-1])
        answer["before"] = before.id
        done = restore_in_place(store, point, before.point, paths)
    return {**answer, "path": done.path, "files": done.files, "notes": list(done.notes)}


def take_checkpoint(session: Session, team_id: str, key: str, why: str) -> None:
    """Take one now, if the team has checkpoints, for an occasion that the engine does not see."""
    with session.store.read() as tx:
        policy, fact = policy_of(tx.team_settings(team_id)), tx.fact(team_id, key, "workspace")
        plan = tx.fact(team_id, key, "start") or {}
    if fact is None or not fact.get("git_dir") or not policy.checkpoint_s:
        return
    workspace = Workspace.from_dict(fact)
    repo = Repository.find(find_common_dir(str(workspace.git_dir)))
    if repo is not None:
        EngineCheckpoints(repo, session.home).take(workspace, policy, plan, why, WHILE_AN_ACT_WAITS_S)


# --- whose, and which --------------------------------------------------------------------------------------


def _all_stores(app: App, team: str | None) -> list[Checkpoints]:
    repo = find_repository(app)
    directory = os.path.join(app.home, DIRECTORY)
    if repo is None or not os.path.isdir(directory):
        return []
    return list_stores(repo, directory, team and team.partition("#")[0])


def _visible(app: App, stores: list[Checkpoints]) -> list[Checkpoints]:
    """A worker or reviewer sees its own."""
    if app.caller.kind not in MEMBERS:
        return stores
    own = _places_of(app, app.caller.who.partition("#")[0], app.caller.team_name)
    return [store for store in stores if _place(store.workspace) in own]


def _stores_of(app: App, member: str, team: str | None) -> list[Checkpoints]:
    """The stores of a member or an incarnation; at least one."""
    if app.caller.is_member:
        team = app.pick_team(team)
    name, _, generation = member.partition("#")
    places = _places_of(app, member, team)
    stores = [
        store
        for store in _all_stores(app, team)
        if _place(store.workspace) in places
        or (store.workspace.member == name and generation in ("", str(store.workspace.generation)))
    ]
    if not stores:
        raise no_checkpoint(member, "yet", [])
    teams = sorted({store.workspace.team for store in stores})
    if len(teams) > 1:
        with app.store.read() as tx:
            still = [name for name in teams if name in tx.team_names()]
        if len(still) != 1:
            raise UsageError(
                f"Which {member}?", f"{' and '.join(teams)} have one with that name",
                ("Name it with --team TEAM",), code="which-team",
            )  # fmt: skip
        stores = [store for store in stores if store.workspace.team == still[0]]
    if len(_visible(app, stores)) < len(stores):
        app.check("checkpoints_of_others", stores[0].workspace.team)
    return stores


def _places_of(app: App, member: str, team: str | None) -> set[tuple[str, str, int]]:
    """The workspaces that an incarnation, or all of a name, worked in, as the state has them."""
    found = set()
    with app.store.read() as tx:
        for name in [team] if team else tx.team_names():
            loaded = tx.load_team(name)
            for key, fact in (tx.facts(loaded.id, "workspace") if loaded is not None else {}).items():
                if member in (key, key.partition("#")[0]):
                    found.add(_place(Workspace.from_dict(fact)))
    return found


def _place(workspace: Workspace) -> tuple[str, str, int]:
    return workspace.team, workspace.member, workspace.generation


def _find(stores: list[Checkpoints], member: str, at: str) -> _Found:
    """By number, by id, or the last one that was taken before or at a time."""
    found = sorted((_Found(s, p) for s in stores for p in _points(s)), key=lambda one: one.point.number)
    number = at.rpartition("@")[2]
    if number.isdigit():
        chosen = [one for one in found if one.point.number == int(number)]
    else:
        moment = _moment(at, time.time())
        chosen = [one for one in found if one.point.at <= moment]
    if not chosen:
        raise no_checkpoint(member, at if number.isdigit() else f"from {at}", [one.point for one in found])
    return chosen[-1]


def _moment(text: str, now: float) -> float:
    """A time of day (10:42), a date and time, or how long ago (5m)."""
    if ago := _AGO.fullmatch(text):
        return now - int(ago[1]) * _UNIT_S[ago[2]]
    try:
        if not _CLOCK.fullmatch(text):
            return datetime.fromisoformat(text).timestamp()
        today = datetime.fromtimestamp(now).date().isoformat()
        moment = datetime.fromisoformat(f"{today}T{text.zfill(len('10:42'))}")
        return (moment if moment.timestamp() <= now else moment - timedelta(days=1)).timestamp()
    except ValueError:
        raise UsageError(
            f"{text!r} is not a checkpoint or a time",
            "--at takes a number (3), an id (alice@3), a time (10:42, 2026-11-17T10:42) or an age (5m)",
            code="usage",
        ) from None


# --- whether it may be written -----------------------------------------------------------------------------


def _check_target(app: App, store: Checkpoints, into: str) -> None:
    """A member with permissions = "edit" runs this command unasked, and writes in its workspace only."""
    if not app.caller.is_member:
        return
    top, target = os.path.realpath(store.workspace.path), os.path.realpath(into)
    if app.caller.kind not in MEMBERS or os.path.commonpath([top, target]) != top:
        refusal = NotAllowed(
            f"Did not restore to {into}", "a member restores its own work, below its workspace",
            ("Name a new directory in the workspace with --into DIR",), code="not-allowed",
        )  # fmt: skip
        app.audit("restore", refusal)
        raise refusal


def _find_at_rest(app: App, store: Checkpoints, member: str) -> Checkpoints:
    """The store, to take a checkpoint with the rules of its team.

    Refused while a member is at work there: files would change under a running agent.
    """
    if not store.is_there():
        raise Declined(
            f"Did not restore into the workspace of {member}", f"{store.workspace.path} is gone",
            ("Restore to a new directory with --into DIR",), code="gone",
        )  # fmt: skip
    with app.store.read() as tx:
        team = tx.load_team(store.workspace.team)
        facts = tx.facts(team.id, "workspace") if team is not None else {}
        starts = tx.facts(team.id, "start") if team is not None else {}
        policy = policy_of(tx.team_settings(team.id)) if team is not None else Policy()
    if not any(fact["path"] == store.workspace.path for fact in facts.values()):
        # A member could have written the record in the store, so it is not trusted.
        raise Declined(
            f"Did not restore into the workspace of {member}",
            f"no member worked in {store.workspace.path}",
            ("Restore to a new directory with --into DIR",),
            code="gone",
        )
    for key, fact in facts.items():
        one = team.members.get(key) if team is not None else None
        busy = one is not None and not one.settled and one.activity is not Activity.PAUSED
        if busy and _place(Workspace.from_dict(fact)) == _place(store.workspace):
            raise Declined(
                f"Did not restore into the workspace of {member}",
                f"{key} is at work there",
                (
                    f"Pause it with `headcount pause {key.partition('#')[0]}`",
                    "Or restore to a new directory with --into DIR",
                ),
                code="at-work",
            )
    here = [key for key, fact in facts.items() if fact["path"] == store.workspace.path]
    return replace(store, private=SavingRules.of(policy, starts.get(here[-1], {})).private)


def _points(store: Checkpoints) -> list[Checkpoint]:
    """None of a store that cannot be read: it must not hide the others."""
    try:
        return store.points()
    except GitError:
        return []


def _row(store: Checkpoints) -> Row:
    points, failed = [], store.failure
    try:
        points = store.points()
    except GitError as error:
        failed = failed or error.why
    return {
        "team": store.workspace.team,
        "member": store.workspace.member,
        "generation": store.workspace.generation,
        "path": store.path,
        "bytes": store.size(),
        "failed": failed,
        "points": [_Found(store, point).row() for point in points],
    }
