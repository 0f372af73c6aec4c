"""Create teams, and start their members."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from headcount.agents.launch import check_agent
from headcount.app.adapters import find_hub_url, find_repository, read_checked_out
from headcount.app.known_repositories import remember
from headcount.app.member_start import Plan, check_clients, find_worktrees, make_start, read_account
from headcount.app.notifier import read_ways
from headcount.app.trust import TRUSTED, read_trust, trusted_root
from headcount.domain.environment import build_environment
from headcount.domain.names import check_member_name, check_size, check_team_name, show
from headcount.engine import held_environment
from headcount.engine.apply import apply
from headcount.engine.cycling import open_handover, with_handover
from headcount.engine.delivery import deliver
from headcount.engine.job import HUB
from headcount.engine.pending_acts import GIT_CONFIG
from headcount.engine.writing import first_mail, new_mail
from headcount.errors import Declined, UsageError
from headcount.protocol import events as ev
from headcount.protocol.authority import CALLER_OF_ROLE, REVIEWER
from headcount.protocol.happened import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headcount.app.app import App
    from headcount.domain.policy import Policy
    from headcount.ports import Tx
    from headcount.protocol.member import Member
    from headcount.protocol.team import Team


ORIGINS = "origins"  # in the settings of a team


def create_team(
    app: App,
    name: str,
    description: str = "",
    *,
    mode: str = "up",
    agent: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> Team:
    """Exclusive: two at once make one team and one refusal (B8). It keeps the numbers of this moment."""
    app.check("team_create")
    check_team_name(name)
    check_size("description", description, app.limits.description_bytes)
    if agent is not None:
        check_agent(agent)
    find_worktrees(app.home, app.settings.workspace.directory)  # refused before anything is made
    settings = {
        "policy": asdict(_placed_commands(app)),
        ORIGINS: _origins(app),
        "limits": asdict(app.limits),
        "mode": mode,
        "agent": agent,
        "allow": list(app.settings.agents.allow),
        "deny": list(app.settings.agents.deny),
        HUB: find_hub_url(app),
        TRUSTED: read_trust(app, os.environ if environ is None else environ),
    }
    repo = find_repository(app)
    git_config = repo.record_config().as_fact() if repo is not None else {}
    notified = read_ways(app.settings.notify)
    with app.store.write(team=name) as tx:
        team = tx.create_team(name, description, settings)
        held = held_environment.hold(app.home, team.id, _environment(environ or {}), notified)
        tx.put_fact(team.id, "", held_environment.FACT, held)
        tx.put_fact(team.id, "", GIT_CONFIG, git_config)
    app.store.ring(["engine"])
    remember(app.home)
    return team


def make_first_team(app: App, name: str) -> str | None:
    """Create a team if none is open; None if one is. Of two callers at once, one creates it."""
    with app.store.read() as tx:
        if tx.team_names():
            return None
    try:
        return create_team(app, name, environ=os.environ).name
    except Declined as declined:
        if declined.code == "team-exists":
            return None
        raise


def _origins(app: App) -> dict[str, str]:
    """Where each key of the policy was set, for `headcount set`."""
    given = app.settings.origins.items()
    return {key.removeprefix("policy."): origin for key, origin in given if key.startswith("policy.")}


def _placed_commands(app: App) -> Policy:
    return place_commands(app, app.settings.policy)


def place_commands(app: App, policy: Policy) -> Policy:
    """A relative command in the settings is meant from where they are; the engine runs it elsewhere."""
    table = app.settings.notify
    if table.has_way or "notify.kinds" in app.settings.origins:
        policy = replace(policy, notify=policy.notify or table.command, notify_kinds=table.kinds)
    if app.checkout == app.root:
        return policy
    judge = policy.judge if isinstance(policy.judge, str) else _from(app.checkout, policy.judge)
    return replace(policy, judge=judge, notify=_from(app.checkout, policy.notify))


def _from(place: str, command: Sequence[str]) -> tuple[str, ...]:
    relative = bool(command) and "/" in command[0]
    return (os.path.join(place, command[0]), *command[1:]) if relative else tuple(command)


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Members answer with the `headcount` command, and must find it when ours was called by its path."""
    kept = build_environment(environ)
    path, ours = kept.get("PATH", os.defpath), os.path.dirname(sys.executable)
    if shutil.which("headcount", path=path) is None and os.path.exists(f"{ours}/headcount"):
        kept["PATH"] = f"{path}{os.pathsep}{ours}"
    return kept


def spawn(app: App, team_name: str, plan: Plan) -> Member:
    """Write the intent: from here on the engine starts it, or undoes what it could not finish."""
    return spawn_all(app, team_name, [plan])[0]


def spawn_all(app: App, team_name: str, plans: Sequence[Plan]) -> list[Member]:
    """Write the intents of several starts in one transaction. Raises when the rules refuse one of them; the
    others are started."""
    app.check("spawn")
    trusted = trusted_root(app)
    placed = []
    for plan in plans:
        check_member_name(plan.name)
        _check_client(app, team_name, plan)
        placed.append(_placed(app, team_name, plan._replace(trusted=trusted, checkout=app.checkout)))
    with app.turn(team_name) as (tx, team, policy):
        if len(team.members) + len(placed) > app.limits.members:
            raise _not_started(placed[-1].name, team_name, "too-many-members", _too_many(app))
        applied = apply(tx, team, [_order(app, tx, team, plan) for plan in placed], policy, app.make_start)
        spawns = [e for e in applied.ready.happened if isinstance(e, Refused) and e.action == "spawn"]
        refused = {plan.name: e for plan in placed for e in spawns if e.about in ("", plan.name)}
        members = []
        for plan in placed:
            member = applied.team.latest(plan.name)
            if plan.name not in refused and member is not None:
                _plan_start(app, tx, applied.team, member, plan)
                members.append(member)
    app.ring(applied)
    for name, event in refused.items():
        raise _not_started(name, team_name, event.code, event.why)
    return members


def _order(app: App, tx: Tx, team: Team, plan: Plan) -> ev.Spawn:
    planned = plan._replace(agent=plan.agent or _agent_of_team(app, tx, team.id, plan))
    account = read_account(app, planned)
    return ev.Spawn(plan.name, plan.role, plan.task, plan.awaits_review, app.caller.who, account)


def _too_many(app: App) -> str:
    return f"a team has at most {app.limits.members:,} members"


def _not_started(name: str, team_name: str, code: str, why: str) -> Declined:
    hint = f"See who is there with `headcount status {team_name}`"
    return Declined(f"Did not start {show(name)}", why, (hint,), code=code)


def _plan_start(app: App, tx: Tx, team: Team, member: Member, plan: Plan) -> None:
    """What the engine needs to start it, in the transaction of the intent."""
    plan = plan._replace(agent=plan.agent or _agent_of_team(app, tx, team.id, plan))
    tx.put_fact(team.id, member.key, "plan", plan._asdict())
    if plan.detached:
        tx.put_fact(team.id, member.key, "reviewing", {"commit": plan.base})
    plan = plan._replace(prompt=with_handover(plan.prompt, open_handover(tx, team.id, plan.name)))
    start = make_start(app.home, app.settings, team, member, plan._asdict())
    tx.put_fact(team.id, member.key, "start", start)
    if plan.prompt:
        deliver(tx, new_mail(team, first_mail(member, plan.prompt)))


def _placed(app: App, team_name: str, plan: Plan) -> Plan:
    """With the very commit that was meant. A reviewer's verdict binds to the one that it looks at."""
    if plan.base is None:
        repo = find_repository(app) if app.checkout != app.root else None
        return plan._replace(base=read_checked_out(app, repo)) if repo is not None else plan
    commit = _last_seen(app, team_name, plan.base)
    if commit is None:
        repo = find_repository(app)
        commit = repo.commit(plan.base) if repo is not None else None
    if commit is None:
        raise UsageError(
            f"Did not start {show(plan.name)}",
            f"{show(plan.base)} is neither a commit nor an inspected member",
            ("See the branches with `git branch --all`",),
            code="unknown-commit",
        )
    return plan._replace(base=commit, detached=CALLER_OF_ROLE[plan.role] == REVIEWER)


def _last_seen(app: App, team_name: str, name: str) -> str | None:
    """Where a member stood when its workspace was last read."""
    with app.store.read() as tx:
        team = app.load(tx, team_name)
        member = team.latest(name)
        found = tx.fact(team.id, member.key, "findings") if member is not None else None
    return found.get("head") if found is not None else None


def _check_client(app: App, team_name: str, plan: Plan) -> None:
    """Outside of any transaction: a client is asked for its version, and that takes a moment.

    A member that starts another has the decisions of the team's beginning: it could change the files.
    """
    with app.store.read() as tx:
        team_id = app.load(tx, team_name).id
        agent = plan.agent or _agent_of_team(app, tx, team_id, plan)
        trusted = tx.team_settings(team_id).get(TRUSTED, [])
    if not app.caller.is_member:
        trusted = read_trust(app, os.environ)
    check_clients(app, [plan._replace(agent=agent)], trusted)


def _agent_of_team(app: App, tx: Tx, team_id: str, plan: Plan) -> str | None:
    """What the team was created with, for members of whom neither their plan nor the settings say more."""
    known = plan.command or plan.name in app.settings.agents.workers
    return None if known else tx.team_settings(team_id).get("agent")
