"""Pending acts, in the transaction that begins or ends them: which are over, which wait, and the job for one.

A job holds all that its performer needs, because a performer sees no store.
"""

from __future__ import annotations

import secrets
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from headcount.domain import task_prompts
from headcount.domain.names import IN_PROMPT
from headcount.engine import held_environment
from headcount.engine.job import HUB, PROCESS, Job
from headcount.engine.ordered_starts import ROSTER
from headcount.engine.receipt import export, tell_complete
from headcount.ports import Identity
from headcount.protocol.effects import ActKind, Note
from headcount.protocol.member import Activity, State
from headcount.protocol.team import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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
_FACTS_FOR_CLOSING = ("start", "workspace", "proof", "finalized", "removed", "salvage", "findings")
# One of these that hangs must not delay a salvage or the closing.
_LANES_OF_THEIR_OWN = (ActKind.NUDGE, ActKind.NOTIFY, ActKind.RUN_GATE, ActKind.CLOSE_STEP)
_AFTER_ITS_REPORT = (State.ASKED, State.INSPECTING)


class Given(NamedTuple):
    """Facts from the creation of a team. Only its policy can change, and then a driver is rung."""

    policy: Policy
    environment: Mapping[str, Any]  # where it is held: its performer reads it
    git_config: Mapping[str, Any]
    hub: str = ""  # where its saved work must be, as a URL; "": nowhere else

    @property
    def for_every_job(self) -> dict[str, Any]:
        return {GIT_CONFIG: self.git_config, HUB: self.hub}


def read_given(tx: Tx, team_id: str, policy_of: Callable[[Mapping[str, Any]], Policy]) -> Given:
    settings = tx.team_settings(team_id)
    return Given(
        policy_of(settings),
        tx.fact(team_id, "", held_environment.FACT) or {},
        tx.fact(team_id, "", GIT_CONFIG) or {},
        str(settings.get(HUB) or ""),
    )


def make_job(tx: Tx, team: Team, act: Act, given: Given, world: World, tries: int) -> Job:
    member, held = team.members.get(act.about), given.environment
    job = partial(Job, act, team, given.policy, world, member, tries=tries, held=held)
    about = act.about
    if act.kind in _TIMELESS:
        text = _review_text(tx, team, act) if act.kind is ActKind.ASK_REVIEW else ""
        start = given.for_every_job
        return job(everyone=_everyone(tx, team, act), start=start, text=text)
    start = {**(tx.fact(team.id, about, "start") or {}), **given.for_every_job}
    job = partial(job, start=start, workspace=tx.fact(team.id, about, "workspace"))
    if act.kind is ActKind.START:
        seal, process = _new_seal(tx, team, about, str(start.get("hold") or ""))
        return job(token=_new_token(tx, team, about), seal=seal, process=process)
    read = act.kind is ActKind.NUDGE and has_read_mail(tx, team, about)
    return job(process=tx.fact(team.id, about, PROCESS) or {}, mail_read=read)


def with_git_config(tx: Tx, team_id: str, start: Mapping[str, Any]) -> dict[str, Any]:
    """Add git's configuration as it was when the team began: it says which programs our git may run."""
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
    if act.kind is ActKind.RESUME:  # a member that was asked after it must be awake to answer
        return team.members[act.about].activity is Activity.PAUSED
    return act.kind not in _TIMELESS and team.members[act.about].epoch != act.epoch


def is_held(team: Team, act: Act) -> bool:
    """Whether a gate must wait: it can take long, and may not be wanted after a stand-down by a person.
    Under the run's own cleanup it does not wait: a repeat of that needs the gates first."""
    if act.kind is not ActKind.RUN_GATE or team.status is Status.ACTIVE:
        return False
    request = team.team_request() or team.last_request
    return request is not None and request.by != "lead"


def has_read_mail(tx: Tx, team: Team, key: str) -> bool:
    """Return whether it has read its mail, or has it in the prompt of its turn."""
    if not tx.count_unread(team.id).get(key):
        return True
    shown = (tx.fact(team.id, key, IN_PROMPT) or {}).get("ids", ())
    return all(one.id in shown for one in tx.inbox(team.id, [key], unread=True))


def report_undelivered(tx: Tx, team: Team, act: Act) -> None:
    """Write to the journal that a superseded nudge was not delivered, and that its mail is unread.

    A member that has reported something after the nudge was ordered needs it no more.
    """
    if act.kind is not ActKind.NUDGE:
        return
    member = team.members[act.about]
    reported = member.state in _AFTER_ITS_REPORT and member.answer != "unanswered"
    if not reported and not has_read_mail(tx, team, act.about):
        tx.note(team.id, [Note("nudge_undelivered", act.about, {"text": act.data.get("text", "")})])


def _new_token(tx: Tx, team: Team, key: str) -> str:
    """Make its token. The store must know the hash before the process can use it; a repeat makes another."""
    token = secrets.token_urlsafe(24)
    tx.add_token(Identity(team.id, key, team.members[key].role), token)
    return token


def _new_seal(tx: Tx, team: Team, key: str, hold: str) -> tuple[bytes, Mapping[str, Any]]:
    """Make the secret of its keeper. The store must know its digest before the keeper can use it. A repeat
    adds one more, because a keeper that was started before has the earlier one. `hold` is what its terminal
    shows while nothing may be typed there; an engine that takes over after a crash needs it, too."""
    seal = secrets.token_bytes(16)
    known = tx.fact(team.id, key, PROCESS) or {}
    process = {**known, "hold": hold, "seals": [*known.get("seals", ()), sha256(seal).hexdigest()]}
    tx.put_fact(team.id, key, PROCESS, process)
    return seal, process


def _everyone(tx: Tx, team: Team, act: Act) -> dict[str, Any]:
    """The facts of all members, for the acts that need them."""
    names = {ActKind.CLOSE_STEP: _FACTS_FOR_CLOSING, ActKind.ASK_REVIEW: ("workspace",)}.get(act.kind, ())
    everyone: dict[str, Any] = {name: tx.facts(team.id, name) for name in names}
    if act.data.get("step") == "archive":
        tell_complete(tx, team)
        everyone["export"] = export(tx, team)
    return everyone
