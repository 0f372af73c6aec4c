"""Standing down: ask, see how far it is, decide what is escalated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headcount.app.app import policy_of
from headcount.app.stand_down_answer import describe_escalation, report, report_gone
from headcount.domain.input_checks import check_text
from headcount.domain.names import check_size, resolve_address, show
from headcount.errors import Declined, UsageError
from headcount.protocol.team import UNDECIDED, Status, why_not_stand_down

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from headcount.app.app import App
    from headcount.app.stand_down_answer import EscalationAnswer, StandDownAnswer
    from headcount.protocol.member import Member
    from headcount.protocol.team import Request, Team


def stand_down(
    app: App,
    team_name: str,
    names: Iterable[str] | None = None,
    reason: str = "",
    *,
    force: bool = False,
    keep_team: bool = False,
    now: bool = False,
) -> StandDownAnswer:
    """Open a stand-down, or join the open one, and return its progress.

    `now` implies `force`, and waits for no answer. The check, the step and the answer are one transaction.
    For a closed team the answer is its receipt, so a repeated request is not an error.
    """
    import uuid

    from headcount.engine.apply import apply
    from headcount.protocol.events import StandDown

    app.check("stand_down_team" if names is None else "stand_down_member")
    force = force or now
    if force:
        app.check("force")
    _check_reason(app, reason)
    request_id = str(uuid.uuid4())
    with app.turn(team_name) as (tx, team, policy):
        wanted, gone = _sort(team, names)
        if names is not None and not wanted:
            return report_gone(tx, team, gone)
        if team.status is Status.SHUTDOWN:
            return report(tx, team, None)
        _check_wanted(team, wanted)
        event = StandDown(request_id, wanted, reason, force, keep_team, by=app.caller.who, now=now)
        applied = apply(tx, team, [event], policy, app.make_start)
        answer = report(tx, applied.team, _request_for(applied.team, request_id, wanted), gone)
    app.ring(applied)
    return answer


def request_stand_down(app: App, to: str, reason: str, team: str | None = None) -> dict[str, Any]:
    """Ask one member to stand down; its team stays (A13: only the lead, the witness or the operator may)."""
    name = app.pick_team(team)
    member = resolve_address(to, name).partition("#")[0]
    answer = stand_down(app, name, [member], reason)
    mail = None
    if "alreadyGone" not in answer:
        with app.store.read() as tx:
            found = app.load(tx, name)
            latest = found.latest(member)
            mails = tx.inbox(found.id, [latest.key]) if latest else []
        # None for one that is not asked: it is idle, or past asking.
        wanted = ("shutdown_request", answer["requestId"])
        mail = next((m for m in mails if (m.type, m.request_id) == wanted), None)
    return {
        "messageId": mail.id if mail else None,
        "delivered": mail is not None,
        "requestId": answer["requestId"],
        "status": answer["status"],
    }


def status_of(
    app: App, team_name: str, request_id: str | None = None, gone: Sequence[str] = ()
) -> StandDownAnswer:
    """How a stand-down stands: the named one, the team's open one, or the team's last one."""
    with app.store.read() as tx:
        return report(tx, app.load(tx, team_name), request_id, gone)


def _sort(team: Team, names: Iterable[str] | None) -> tuple[tuple[str, ...] | None, list[str]]:
    """Who is to be stood down, by name (None: everyone), and who of those named is gone already."""
    if names is None:
        return None, []
    members = [_find(team, name) for name in dict.fromkeys(names)]
    return tuple(m.name for m in members if not m.settled), [m.key for m in members if m.settled]


def is_over(status: str) -> bool:
    """Return whether a stand-down with this status continues only when a person acts."""
    return status in ("shutdown", "rejected", "escalated", "stuck", "active")


def decide(
    app: App, escalation_id: str, decision: str, reason: str = "", team: str | None = None
) -> EscalationAnswer:
    """Decide an escalation. The first decision wins; a later one is refused with who decided what.

    Check and step are one transaction. Earlier reports of members are applied first, so the check sees the
    state in which the decision would be applied.
    """
    from headcount.protocol.events import Decided

    name = _team_of(app, escalation_id, team)
    app.check("decide")
    _check_reason(app, reason)
    applied = app.apply(name, Decided(escalation_id, decision, app.caller.who, reason))
    if applied.refused is not None:
        kind = UsageError if applied.refused.code.startswith("unknown") else Declined
        raise kind(
            f"Did not decide {show(escalation_id)}",
            applied.refused.why,
            ("See what is open, and what can be decided now, with `headcount escalations`",),
            code=applied.refused.code,
        )
    with app.store.read() as tx:
        policy = policy_of(tx.team_settings(applied.team.id))
    return describe_escalation(applied.team, escalation_id, policy)


def _check_reason(app: App, reason: str) -> None:
    check_text("reason", reason)
    check_size("reason", reason, app.limits.message_bytes)


def _team_of(app: App, escalation_id: str, team: str | None) -> str:
    """The named one, or the only one in which something of that name waits."""
    if team or app.caller.is_member:
        return app.pick_team(team)
    waiting = [one["team"] for one in escalations(app) if one["id"] == escalation_id]
    if len(waiting) > 1:
        raise UsageError(
            f"Which {show(escalation_id)}?",
            f"{' and '.join(waiting)} have one with that name",
            ("Name it with --team TEAM",),
            code="which-team",
        )
    if waiting:
        return str(waiting[0])
    with app.store.read() as tx:
        names = tx.team_names()
    if names:
        return app.pick_team(None)
    raise UsageError(
        f"Did not decide {show(escalation_id)}",
        "no team is open, so nothing waits for a decision",
        ("See what was decided in a closed team with `headcount escalations --all --team TEAM`",),
        code="unknown-escalation",
    )


def decide_call(escalation: EscalationAnswer) -> str:
    """The command that decides it, with what can be decided at this moment."""
    return f"headcount decide {escalation['id']} {'|'.join(escalation['decisions'])}"


def escalations(app: App, team: str | None = None, *, every: bool = False) -> list[EscalationAnswer]:
    """The open and the parked ones, or `every` one there was."""
    with app.store.read() as tx:
        names = [app.pick_team(team)] if team or app.caller.is_member else tx.team_names()
        found: list[EscalationAnswer] = []
        for name in names:
            there = app.load(tx, name)
            wanted = [e.id for e in there.escalations.values() if every or e.state in UNDECIDED]
            if wanted:
                policy = policy_of(tx.team_settings(there.id))
                found += [describe_escalation(there, escalation, policy) for escalation in wanted]
    return found


def _request_for(team: Team, request_id: str, names: tuple[str, ...] | None) -> str:
    """The id under which this was taken up: its own, or that of the request it joined (B3)."""
    if request_id in team.requests:
        return request_id
    for request in team.requests.values():
        if request.whole_team or _covers(request, names):
            return request.id
    return request_id


def _covers(request: Request, names: tuple[str, ...] | None) -> bool:
    covered = {key.partition("#")[0] for key in request.targets}
    return names is not None and covered >= set(names)


def _check_wanted(team: Team, names: tuple[str, ...] | None) -> None:
    refused = why_not_stand_down(team, names)
    if refused is not None:
        raise Declined(
            f"Did not stand down {', '.join(names or ())}",
            refused[1],
            (f"Stand the whole team down with `headcount down {team.name}`",),
            code=refused[0],
        )


def _find(team: Team, name: str) -> Member:
    member = team.incarnation(name)
    if member is not None:
        return member
    raise UsageError(
        f"There is no member {show(name)} in {team.name}",
        f"these are: {', '.join(dict.fromkeys(m.name for m in team.members.values())) or 'none'}",
        (f"See them with `headcount status {team.name}`",),
        code="unknown-member",
    )


def hint_for(answer: StandDownAnswer, call: str) -> str:
    """What to do next, for a person; `call` is the command that asks for the same again."""
    match answer["status"]:
        case "escalated":
            first = answer["escalations"][0]
            return f"Decide it with `{decide_call(first)}`"
        case "stuck":
            return f"Ask again with `{call}`: it goes on with what is alive"
        case "rejected":
            return f"Ask again later, or override with `{call} --force`"
        case "pending_shutdown":
            return f"Follow it with `{call}`"
        case _:
            return ""
