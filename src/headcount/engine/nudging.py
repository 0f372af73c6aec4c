"""A nudge as an act: in front of the member when it pauses, once; or reported as not delivered (E10, E11)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.engine.job import Job, Outcome
from headcount.protocol.effects import Act, ActKind, Note
from headcount.protocol.member import State

if TYPE_CHECKING:
    from headcount.ports import Tx
    from headcount.protocol.team import Team

# After each try that failed; two minutes in all. Whoever is busy for longer is told by its mail.
_TRY_AGAIN_S = (1, 2, 4, 8, 15, 30, 60)
_AFTER_ITS_WORD = (State.ASKED, State.INSPECTING)


def nudge(job: Job) -> Outcome:
    """Its mail was there first: whoever has read that need not be disturbed, unless it is urgent."""
    text, urgent = str(job.act.data.get("text", "")), bool(job.act.data.get("urgent"))
    if job.mail_read and not urgent:
        return Outcome(notes=(_told("nudged", job.act, by="mail"),))
    if job.handle is not None and job.runtime.nudge(job.handle, text, urgent=urgent, tag=job.act.id):
        return Outcome(notes=(_told("nudged", job.act, by=str(job.start.get("runtime", "plain"))),))
    if job.handle is not None and job.tries < len(_TRY_AGAIN_S):
        return Outcome(again_s=_TRY_AGAIN_S[job.tries])
    return Outcome(notes=(_told("nudge_undelivered", job.act),))


def has_read_mail(tx: Tx, team: Team, key: str) -> bool:
    return not tx.count_unread(team.id).get(key)


def report_lost(tx: Tx, team: Team, act: Act) -> None:
    """It was moved on before it could be told, and has not read the mail either: never lost in silence.

    By a word of its own it has answered what it was to be told, however it came to know of it.
    """
    if act.kind is not ActKind.NUDGE:
        return
    member = team.members[act.about]
    spoke = member.state in _AFTER_ITS_WORD and member.answer != "unanswered"
    if not spoke and not has_read_mail(tx, team, act.about):
        tx.note(team.id, [_told("nudge_undelivered", act)])


def _told(kind: str, act: Act, **how: object) -> Note:
    return Note(kind, act.about, {"text": act.data.get("text", ""), **how})
