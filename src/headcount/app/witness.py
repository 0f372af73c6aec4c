"""What the witness does by hand: look, judge, speak, see, hand over."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeVar

from headcount.app.adapters import make_runtimes, make_workspaces
from headcount.app.app import policy_of
from headcount.app.members import find_log, find_member
from headcount.domain.findings import Findings, Workspace
from headcount.domain.names import WITNESS
from headcount.domain.templates import WITNESS_HANDOFF
from headcount.engine.cycling import HANDOVER, kind_of, put_handover
from headcount.engine.delivery import deliver
from headcount.engine.handoff_note import compose
from headcount.engine.job import PROCESS
from headcount.engine.pending_acts import has_read_mail, with_git_config
from headcount.errors import Declined, UsageError
from headcount.ports import Mail
from headcount.protocol import events as ev
from headcount.protocol.effects import Act, ActKind, Note
from headcount.protocol.mailboxes import channel
from headcount.protocol.member import State
from headcount.protocol.team import Status
from headcount.runtime.log import plain_text, read_tail

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from headcount.app.app import App
    from headcount.ports import Handle, Runtime, Tx
    from headcount.protocol.member import Member
    from headcount.protocol.team import Team

T = TypeVar("T")
_TAIL_BYTES = 16_384


def findings(app: App, name: str, team: str | None = None, *, live: bool = True) -> dict[str, Any]:
    """Return the contents of a workspace: read now, or by the last inspection."""
    app.check("findings")
    team_name, member, start = find_member(app, name, team)
    with app.store.read() as tx:
        found = app.load(tx, team_name)
        place = tx.fact(found.id, member.key, "workspace")
        last = tx.fact(found.id, member.key, "findings")
        policy = policy_of(tx.team_settings(found.id))
        start = with_git_config(tx, found.id, start)
    if live:
        workspace = _workspace(member, place)
        read = make_workspaces(app).read(workspace, policy, start)
    elif last is not None:
        read = Findings.from_dict(last)
    else:
        raise Declined(f"{member.key} was not inspected yet", "it has not signalled done", code="no-findings")
    return {
        "team": team_name, "member": member.name, "generation": member.generation, "live": live,
        "issues": read.issues(), **read.as_dict(),
    }  # fmt: skip


def _workspace(member: Member, place: Mapping[str, Any] | None) -> Workspace:
    if place is not None and os.path.isdir(place["path"]):
        return Workspace.from_dict(place)
    raise Declined(
        f"{member.key} has no workspace",
        "it was removed" if place is not None else "it was never started",
        ("See its salvages with `headcount salvage list`",),
        code="no-workspace",
    )


def verdict(
    app: App, name: str, clean: bool, issues: Sequence[str] = (), team: str | None = None
) -> dict[str, Any]:
    """Judge the findings that the witness was sent. Everything is salvaged whatever it says."""
    app.check("verdict")
    team_name, meant, _ = find_member(app, name, team)
    with app.turn(team_name) as (tx, found, _):
        member = found.members.get(meant.key)
        if member is None or member.state is not State.INSPECTING or not member.judging:
            raise Declined(
                f"No verdict on {name} is due",
                f"it is {member.state if member else 'not there'}; findings are mailed to the witness first",
                (f"Inspect it with `headcount witness findings {name}`",),
                code="no-verdict-wanted",
            )
        named = tuple(issues) or (() if clean else _last_issues(tx, found.id, member.key))
        tx.add_input(found.id, ev.Judged(member.key, clean, named, by=app.caller.who))
    app.store.ring(["engine"])
    return {"member": name, "verdict": "clean" if clean else "dirty", "issues": list(named)}


def _last_issues(tx: Tx, team_id: str, key: str) -> tuple[str, ...]:
    last = tx.fact(team_id, key, "findings")
    return tuple(Findings.from_dict(last).issues()) if last else ()


# --- speaking and seeing ---------------------------------------------------------------------------------


def nudge(app: App, name: str, text: str, team: str | None = None) -> dict[str, Any]:
    """Send the text by mail, which is durable, and show it. Delivered means that the client took it (E10).

    Otherwise the engine tries again at the member's next pause, and reports the result.
    """
    app.check("nudge")
    if not text.strip():
        raise UsageError("A nudge needs a text", "text is empty", code="missing-text")
    team_name, member, start = _find_live(app, name, team)
    with app.store.write(team=team_name) as tx:
        team_id = app.load(tx, team_name).id
        mail = Mail("", team_id, app.caller.sender, member.key, "Nudge", text, priority="high")
        mail_id, _ = deliver(tx, mail)
    app.store.ring([channel(team_id, member.key)])
    from headcount.app.member_checkpoints import take_checkpoint

    take_checkpoint(app, team_id, member.key, "before a nudge")
    act = Act(ActKind.NUDGE, member.key, member.epoch, {"tag": mail_id, "text": text})
    taken = _with_processes(
        app, team_id, member, start, lambda runtime, handle: runtime.nudge(handle, text, tag=act.id), False
    )
    with app.store.write(team=team_name) as tx:
        # The mail may have woken it before the text arrived: then it has that in its prompt.
        taken = taken or has_read_mail(tx, app.load(tx, team_name), member.key)
        if taken:
            tx.note(team_id, [Note("nudged", member.key, {"text": text, "by": app.caller.who})])
        else:
            tx.add_acts(team_id, [act])
    app.store.ring(["engine"])
    return {"member": name, "messageId": mail_id, "delivered": taken}


def capture(app: App, name: str, team: str | None = None) -> dict[str, Any]:
    """What it shows: the end of its terminal, or of its output. That of a gone one is kept with its log."""
    app.check("capture")
    team_name, member, start = find_member(app, name, team)
    if member.live:
        with app.store.read() as tx:
            team_id = app.load(tx, team_name).id
        screen = _with_processes(
            app, team_id, member, start, lambda runtime, handle: runtime.capture(handle), ""
        )
    else:
        screen = _last_lines(find_log(app, team_name, member.key, start))
    return {
        "team": team_name, "member": name, "generation": member.generation, "state": str(member.state),
        "screen": screen,
    }  # fmt: skip


def _last_lines(place: str) -> str:
    try:
        return plain_text(read_tail(place, _TAIL_BYTES))
    except FileNotFoundError:
        return ""


def _find_live(app: App, name: str, team: str | None) -> tuple[str, Member, Mapping[str, Any]]:
    team_name, member, start = find_member(app, name, team)
    if not member.live:
        raise Declined(f"{member.key} is gone", "it can no longer receive anything", code="gone")
    return team_name, member, start


def _with_processes(
    app: App,
    team_id: str,
    member: Member,
    start: Mapping[str, Any],
    use: Callable[[Runtime, Handle], T],
    otherwise: T,
) -> T:
    """Its processes go by their record on disk, so any process of ours can speak to them. The store knows
    what its terminal shows while nothing may be typed there."""
    with app.store.read() as tx:
        known = tx.fact(team_id, member.key, PROCESS)
    runtimes = make_runtimes(app)
    runtime: Runtime = runtimes["tmux"] if start.get("runtime") == "tmux" else runtimes["plain"]
    try:
        handle = runtime.adopt(str(start["mark"]), known) if start.get("mark") else None
        if handle is None:
            return otherwise
        try:
            return use(runtime, handle)
        finally:
            handle.close()
    finally:
        for each in (runtimes["plain"], runtimes["tmux"]):
            each.close()


# --- handing over ----------------------------------------------------------------------------------------


def handoff(
    app: App,
    member: str | None = None,
    remarks: str = "",
    next_steps: Sequence[str] = (),
    team: str | None = None,
) -> dict[str, Any]:
    """The note for the next session, composed from the journal: durable as mail and as a fact (D15, D16)."""
    app.check("handoff")
    if member is not None:
        team, named, _ = find_member(app, member, team)
        member = named.name
    name = app.pick_team(team)
    with app.store.write(team=name) as tx:
        found = app.load(tx, name)
        if found.status is Status.SHUTDOWN:
            raise Declined(f"{name} is shut down", "there is no member to hand over to", code="team-closed")
        whose = _whose(found, member)
        kind, key = (kind_of(whose), whose.key) if whose else ("witness_cycle", WITNESS)
        subject, body = compose(tx, found, remarks, tuple(next_steps), kind, whose)
        mail = Mail("", found.id, app.caller.sender, WITNESS, subject, body, template=WITNESS_HANDOFF)
        mail_id, _ = deliver(tx, mail)
        if whose is not None:
            put_handover(tx, found, whose, body)
        else:
            tx.put_fact(found.id, WITNESS, HANDOVER, {"note": body, "open": True, "from": WITNESS})
        tx.note(found.id, [Note("handover", key, {"mail": mail_id, "remarks": remarks})])
    app.store.ring([channel(found.id, WITNESS)])
    return {"messageId": mail_id, "from": key, "subject": subject, "body": body}


def _whose(team: Team, name: str | None) -> Member | None:
    """The incarnation that hands over; None for the witness's office if that is no process."""
    if name is not None:
        return team.latest(name)
    return next((m for m in team.live() if m.role == WITNESS), None)
