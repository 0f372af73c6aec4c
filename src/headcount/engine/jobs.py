"""From a pending act to a job: all that a thread needs for it, read in the transaction that begins it."""

from __future__ import annotations

import secrets
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from headcount.domain import task_prompts
from headcount.engine import held_environment
from headcount.engine.export import export, tell_complete
from headcount.engine.job import PROCESS, Job
from headcount.engine.nudging import has_read_mail
from headcount.engine.preparing import ROSTER
from headcount.ports import Identity
from headcount.protocol.effects import ActKind
from headcount.protocol.member import Activity
from headcount.protocol.team import Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headcount.domain.policy import Policy
    from headcount.engine.job import World
    from headcount.ports import Tx
    from headcount.protocol.effects import Act
    from headcount.protocol.team import Team

GIT_CONFIG = "git_config"
# Acts that make sense however far the member has moved on since.
_TIMELESS = frozenset(
    (ActKind.NOTIFY, ActKind.CLOSE_STEP, ActKind.MERGE, ActKind.ASK_REVIEW, ActKind.RUN_GATE)
)
_FACTS_FOR_CLOSING = (
    "start", "workspace", "proof", "finalized", "removed", "salvage", held_environment.FACT,
)  # fmt: skip
# One of these that hangs must delay nobody's salvage, and no cleanup.
_LANES_OF_THEIR_OWN = (ActKind.NUDGE, ActKind.NOTIFY, ActKind.RUN_GATE, ActKind.CLOSE_STEP)


def make_job(tx: Tx, team: Team, act: Act, policy: Policy, world: World, tries: int) -> Job:
    """The thread that performs it sees no store, so all of it is read now."""
    job = Job(act, team, policy, world, team.members.get(act.about), tries=tries)
    environment = held_environment.read(tx.fact(team.id, "", held_environment.FACT) or {})
    if act.kind in _TIMELESS:
        text = _review_text(tx, team, act) if act.kind is ActKind.ASK_REVIEW else ""
        start = with_git_config(tx, team.id, {"env": environment})
        return replace(job, everyone=_everyone(tx, team, act), start=start, text=text)
    start = with_git_config(tx, team.id, tx.fact(team.id, act.about, "start") or {})
    start["env"] = {**environment, **start.get("env", {})}
    job = replace(job, start=start, workspace=tx.fact(team.id, act.about, "workspace"))
    job = replace(job, process=tx.fact(team.id, act.about, PROCESS) or {})
    if act.kind is ActKind.START:
        seal, process = _new_seal(tx, team, act.about, str(start.get("hold") or ""))
        return replace(job, token=_new_token(tx, team, act.about), seal=seal, process=process)
    if act.kind is ActKind.NUDGE:
        return replace(job, mail_read=has_read_mail(tx, team, act.about))
    return job


def with_git_config(tx: Tx, team_id: str, start: Mapping[str, Any]) -> dict[str, Any]:
    """With git's configuration as it was when the team began, which says what programs our git may run."""
    return {**start, GIT_CONFIG: tx.fact(team_id, "", GIT_CONFIG) or {}}


def _review_text(tx: Tx, team: Team, act: Act) -> str:
    if "text" in act.data:  # ordered by an earlier version
        return str(act.data["text"])
    assert team.run is not None
    about = (tx.fact(team.id, "", ROSTER) or {})["tasks"][act.about]
    return task_prompts.another_round(team.run.tasks[act.about], about)


def lane_of(team: Team, act: Act) -> str:
    about = act.data["key"] if act.kind is ActKind.ASK_REVIEW else act.about  # it moves that one's workspace
    lane = f"{team.id}/{about}"
    return f"{lane}/{act.kind}/{act.data.get('step', '')}" if act.kind in _LANES_OF_THEIR_OWN else lane


def is_superseded(team: Team, act: Act) -> bool:
    """Whether the member, or the closing, has moved on from what this was ordered for."""
    if act.kind is ActKind.CLOSE_STEP:
        return act.epoch != team.close_epoch
    if act.kind is ActKind.RESUME:  # whoever was asked since must be awake to answer
        return team.members[act.about].activity is Activity.PAUSED
    return act.kind not in _TIMELESS and team.members[act.about].epoch != act.epoch


def is_held(team: Team, act: Act) -> bool:
    """A gate can take long. While somebody stands the team down it waits for how that ends: it may not be
    wanted any more. Not under the run's own cleanup: whoever tries that again wants the gates first."""
    if act.kind is not ActKind.RUN_GATE or team.status is Status.ACTIVE:
        return False
    request = team.team_request() or team.last_request
    return request is not None and request.by != "lead"


def _new_token(tx: Tx, team: Team, key: str) -> str:
    """Its hash must be known before the process can use it. After a crash there is simply a new one."""
    token = secrets.token_urlsafe(24)
    tx.add_token(Identity(team.id, key, team.members[key].role), token)
    return token


def _new_seal(tx: Tx, team: Team, key: str, hold: str) -> tuple[bytes, Mapping[str, Any]]:
    """The secret of its keeper. Its digest must be known before the keeper can use it; after a crash there is
    one more, because the keeper that was started before has the earlier one. And `hold`, what its terminal
    shows while nothing may be typed there: an engine that comes after a crash must know it, too."""
    seal = secrets.token_bytes(16)
    known = tx.fact(team.id, key, PROCESS) or {}
    process = {**known, "hold": hold, "seals": [*known.get("seals", ()), sha256(seal).hexdigest()]}
    tx.put_fact(team.id, key, PROCESS, process)
    return seal, process


def _everyone(tx: Tx, team: Team, act: Act) -> dict[str, Any]:
    """For acts that are not about one incarnation: what is known of all."""
    everyone: dict[str, Any] = {name: tx.facts(team.id, name) for name in _FACTS_FOR_CLOSING}
    if act.data.get("step") == "archive":
        tell_complete(tx, team)
        everyone["export"] = export(tx, team)
    return everyone
