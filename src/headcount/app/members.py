"""One member: its processes, what it prints, its terminal, pausing it."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from headcount.app.adapters import make_runtimes
from headcount.app.resident import ensure_driven
from headcount.app.team_start import wait_for
from headcount.domain.names import show
from headcount.engine.state_files import log_path
from headcount.errors import Declined, UsageError
from headcount.protocol import events as ev
from headcount.protocol.member import State
from headcount.runtime.log import plain_text, read_log

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from headcount.app.app import App
    from headcount.protocol.member import Member

_CONFIRM_S = 30.0  # a checkpoint comes first


def find_member(app: App, name: str, team: str | None = None) -> tuple[str, Member, Mapping[str, Any]]:
    """Its team's name, the incarnation that `name` means, and how it was started.

    The operator can name a past generation of a team, `crew#1`; the name that is returned is then this one.
    """
    past = team if team and "#" in team and not app.caller.is_member else None
    with app.store.read() as tx:
        named = team or app.caller.is_member
        looked_in = [past or app.pick_team(team)] if named else tx.team_names()
        teams = [app.load(tx, team_name) for team_name in looked_in]
        found = [(team, member) for team in teams if (member := team.incarnation(name))]
        if len(found) == 1:
            team_found, member = found[0]
            return past or team_found.name, member, tx.fact(team_found.id, member.key, "start") or {}
    if found:
        raise UsageError(
            f"Which {show(name)}?",
            f"{' and '.join(team.name for team, _ in found)} have one with that name",
            ("Name it with --team TEAM",),
            code="which-team",
        )
    raise UsageError(
        f"There is no member {show(name)}",
        f"looked in {', '.join(looked_in) or 'no team: none is open'}",
        ("See the members with `headcount status`", "Name a closed team with --team TEAM"),
        code="unknown-member",
    )


def pause(app: App, name: str, team: str | None = None, *, resume: bool = False) -> dict[str, Any]:
    """Reaches every process of it, and says so only when each was seen to stand still (E2)."""
    app.check("pause")
    team_name, member, _ = find_member(app, name, team)
    if member.state is not State.RUNNING or resume is not (member.activity == "paused"):
        what = "resume" if resume else "pause"
        raise Declined(f"Did not {what} {name}", _why_not(member, resume), code=f"cannot-{what}")
    ensure_driven(app)
    with app.store.read() as tx:
        last = tx.recent(app.load(tx, team_name).id, 1)
    app.apply(team_name, ev.Resumed(member.key) if resume else ev.Paused(member.key))
    kind = "processes_resumed" if resume else "processes_paused"
    confirmed = _wait_note(app, team_name, member.key, kind, last[-1].seq if last else 0)
    return {"team": team_name, "member": member.name, "paused": not resume, "confirmed": confirmed}


def _why_not(member: Member, resume: bool) -> str:
    if member.state is not State.RUNNING:
        return f"it is {member.state}"
    return "it is not paused" if resume else "it is paused already"


def _wait_note(app: App, team_name: str, key: str, kind: str, since: int) -> bool:
    found: list[bool] = []

    def noted(team: Any) -> bool:
        with app.store.read() as tx:
            entries = tx.journal(team.id, since, kinds=(kind,))
        found.extend(bool(e.data["confirmed"]) for e in entries if e.about == key)
        return bool(found)

    wait_for(app, team_name, noted, _CONFIRM_S)
    return bool(found and found[-1])


def read_output(app: App, name: str, team: str | None = None, *, follow: bool = False) -> Iterator[str]:
    """Yield what a member printed, from the oldest output that is kept; with `follow`, until it is gone.

    It yields whole lines where it can, because a cut could divide a character or a control sequence. With
    `follow` it yields an empty text whenever there is nothing new, so that the caller can end it.
    """
    app.check("logs")
    team_name, member, start = find_member(app, name, team)
    offset, rest = 0, b""
    while True:
        try:
            chunk = read_log(find_log(app, team_name, member.key, start), offset)
        except FileNotFoundError:
            return
        if chunk.data:
            offset = chunk.end
            whole, newline, rest = (rest + chunk.data).rpartition(b"\n")
            yield plain_text(whole + newline)
            continue
        if rest:
            yield plain_text(rest)
            rest = b""
        with app.store.read() as tx:
            gone = app.load(tx, team_name).members[member.key].settled
        if not follow or gone:
            return
        yield ""
        time.sleep(0.2)


def find_log(app: App, team: str, key: str, start: Mapping[str, Any]) -> str:
    """The directory with what a member printed: with its records, or in the archive of a closed team."""
    there = f"{app.home}/run/{start.get('mark', '')}"
    if os.path.isdir(there):
        return there
    with app.store.read() as tx:
        archived = tx.fact(app.load(tx, team).id, "", "archive") or {}
    return log_path(str(archived.get("path", "")), key) if archived else there


def attach_command(app: App, name: str, team: str | None = None) -> list[str]:
    """The command that puts a person in front of its terminal."""
    app.check("attach")
    team_name, member, start = find_member(app, name, team)
    runtime = make_runtimes(app)["tmux"]
    handle = runtime.adopt(str(start["mark"])) if start.get("runtime") == "tmux" else None
    if handle is None or not member.live:
        raise Declined(
            f"Did not attach to {name}",
            "it is gone" if not member.live else "it runs without a terminal",
            (f"See its output with `headcount logs {name} --team {team_name}`",),
            code="no-terminal",
        )
    return list(runtime.attach_command(handle))
