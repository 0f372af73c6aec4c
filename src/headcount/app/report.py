"""Read the history of each member and task of a team, open or closed, from its journal."""

from __future__ import annotations

import shlex
import time
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from headcount.app.adapters import find_repository
from headcount.app.doing import DoingReader
from headcount.app.journal_sentences import tell, whom
from headcount.app.member_checkpoints import read_strips
from headcount.app.report_summary import summarize
from headcount.app.stand_down_answer import report as read_stand_down
from headcount.app.task_run import read_run
from headcount.app.team_status import read_costs, read_limits, roster
from headcount.app.timeline import read_timeline
from headcount.domain.findings import Workspace
from headcount.engine.pending_acts import GIT_CONFIG
from headcount.errors import GitError, UsageError
from headcount.protocol.team import Status
from headcount.workspace.git_settings import Recorded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from headcount.app.app import App
    from headcount.app.team_status import MemberStatus
    from headcount.app.timeline import Lane
    from headcount.ports import Entry, Tx
    from headcount.protocol.member import Member
    from headcount.protocol.team import Team
    from headcount.workspace.repository import Repository

Facts = dict[str, dict[str, "Mapping[str, Any]"]]
_FACTS = ("workspace", "findings", "proof", "salvage", "usage")
_NOT_WORK = ("idle", "paused", "limited")
_BEFORE_A_STAND_DOWN = 0.02  # of its length, so that the picture begins with what was before


def pick_any(app: App, name: str | None) -> str:
    """As `pick_team`, and a closed team too: `NAME`, `NAME#2` for a generation, or the only one there was."""
    if name and "#" in name and not app.caller.is_member:
        return name
    if name or app.caller.is_member:
        return app.pick_team(name)
    with app.store.read() as tx:
        names, every = tx.team_names(), sorted(set(tx.team_names(closed=True)))
    if names or not every:
        return app.pick_team(name)
    if len(every) == 1:
        return every[0]
    raise UsageError(
        "Which team?",
        f"these are closed: {', '.join(every)}",
        ("Name it as the argument",),
        code="which-team",
    )


def read_report(app: App, team_name: str) -> dict[str, Any]:
    """Everything that the report shows, as values; `headcount report --json` prints it as it is."""
    app.check("status")
    with app.store.read() as tx:
        team = app.load(tx, team_name)
        journal = tx.journal(team.id)
        facts: Facts = {name: tx.facts(team.id, name) for name in _FACTS}
        report = {
            **_about(team, journal),
            "tasks": [task.as_dict() for task in tx.tasks(team.id)],
            "standDowns": _stand_downs(tx, team, journal),
            **read_costs(tx, facts["usage"]),
            "limits": read_limits(tx, team),
            "escalations": [asdict(e) for e in team.escalations.values()],
            "unreadMail": _unread(tx, team),
            "warnings": _warnings(team, journal),
        }
        has_run = team.run is not None
        recorded = Recorded.from_fact(tx.fact(team.id, "", GIT_CONFIG))
        # After the end its name, and with it the place of these files, may be another team's.
        keys = team.members if team.status is not Status.SHUTDOWN else ()
        doing = DoingReader(app.home, team.name).read(keys, lambda key: tx.fact(team.id, key, "start"))
    lanes = read_timeline(journal).lanes
    until = report["ended"] or time.time()
    report["members"] = [
        _member(row, member, lanes.get(member.key), facts, until)
        for row, member in zip(roster(team), team.members.values(), strict=True)
    ]
    strips = read_strips(app, team_name, facts["workspace"])
    repo = find_repository(app)
    repo = repo.as_recorded(recorded) if repo is not None else None
    for key, member in zip(team.members, report["members"], strict=True):
        member["checkpoints"] = strips.get(key, [])
        member["doing"] = doing.get(key)
        member |= _made(repo, key, facts)
        for saved in member["salvage"]:
            saved["lost"] = repo is not None and _is_lost(repo, saved)
    report["run"] = _run(app, team_name, journal) if has_run else None
    report["story"] = tell_story(journal)
    return {"summary": summarize(report, until), **report}


def tell_story(journal: Iterable[Entry]) -> list[dict[str, Any]]:
    """Return the entries that matter to a person, as sentences."""
    told = ((entry, tell(entry)) for entry in journal)
    return [
        {"seq": e.seq, "at": e.at, "who": whom(e), "kind": e.kind, "what": what} for e, what in told if what
    ]


def describe_salvage(ref: str, fact: Mapping[str, Any] | None) -> dict[str, Any]:
    """One salvage: what is in it, and the command that makes the workspace again."""
    fact = fact or {}
    return {
        "ref": ref,
        "commit": fact.get("commit"),
        "files": fact.get("files"),
        "bytes": fact.get("bytes"),
        "leftOut": list(fact.get("left_out", ())),
        "private": fact.get("private"),
        "skipped": list(fact.get("skipped", ())),
        "restore": f"headcount salvage restore {shlex.quote(ref)} DIR",
    }


def _about(team: Team, journal: Sequence[Entry]) -> dict[str, Any]:
    began = journal[0].at if journal else None
    closed = next((e.at for e in reversed(journal) if e.kind == "shutdown"), None)
    ended = closed if team.status is Status.SHUTDOWN else None
    return {
        "team": team.name,
        "teamId": team.id,
        "description": journal[0].data.get("description", "") if journal else "",
        "status": str(team.status),
        "began": began,
        "ended": ended,
        "seconds": round(ended - began, 3) if ended is not None and began is not None else None,
        "archive": next((e.data["path"] for e in reversed(journal) if e.kind == "archived"), None),
    }


def _member(
    row: MemberStatus, member: Member, lane: Lane | None, facts: Facts, until: float
) -> dict[str, Any]:
    workspace = facts["workspace"].get(member.key)
    drawn = lane.as_dict(until) if lane else {"spans": [], "marks": []}
    return {
        **row,
        "answerReason": member.answer_reason,
        "branch": workspace.get("branch") if workspace else None,
        "findings": facts["findings"].get(member.key),
        "processes": facts["proof"].get(member.key),
        "usage": facts["usage"].get(member.key),
        "salvage": [describe_salvage(ref, facts["salvage"].get(ref)) for ref in member.refs],
        "seconds": _seconds(drawn["spans"]),
        **drawn,
    }


def _made(repo: Repository | None, key: str, facts: Facts) -> dict[str, Any]:
    """Return the commits of a member and the size of its change; None if that is not known any more."""
    from headcount.app.review import Made, find_head

    fact, found = facts["workspace"].get(key), facts["findings"].get(key)
    workspace = Workspace.from_dict(fact) if fact else None
    if repo is None or workspace is None or workspace.git_dir is None:
        return {"commits": [], "change": None}
    with suppress(GitError):
        head = find_head(repo, workspace) or repo.commit((found or {}).get("head") or "")
        if head == workspace.base:
            return {"commits": [], "change": None}
        if head is not None and workspace.base is not None:
            made = Made(workspace.team, key, workspace.base, head, workspace.branch or "", repo)
            return {"commits": made.log(), "change": made.change()}
    return {"commits": None, "change": None}


def _is_lost(repo: Repository, saved: Mapping[str, Any]) -> bool:
    """A ref can be gone while its objects are there. Then the receipt still leads to them."""
    names = (saved["ref"], saved["commit"])
    return saved["ref"].startswith("refs/") and not any(name and repo.commit(name) for name in names)


def _seconds(spans: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Return how long a member worked, and how long it was idle, paused or at a usage limit."""
    found = {"working": 0.0, **dict.fromkeys(_NOT_WORK, 0.0)}
    for span in spans:
        found[span["state"] if span["state"] in _NOT_WORK else "working"] += span["to"] - span["from"]
    return {name: round(seconds, 3) for name, seconds in found.items()}


def _stand_downs(tx: Tx, team: Team, journal: Sequence[Entry]) -> list[dict[str, Any]]:
    """Every one that was asked for, with how it ended and the window of time in which to look at it."""
    found = []
    for entry in (e for e in journal if e.kind == "stand_down"):
        answer = read_stand_down(tx, team, entry.data["request"])
        seconds = answer["seconds"]
        found.append(
            {
                "requestId": entry.data["request"],
                "at": entry.at,
                "from": entry.at - _BEFORE_A_STAND_DOWN * seconds if seconds else entry.at,
                "to": entry.at + seconds if seconds is not None else None,
                "by": entry.data.get("by", ""),
                "reason": entry.data.get("reason", ""),
                "targets": entry.data["targets"],
                "wholeTeam": entry.data.get("whole_team", False),
                "status": answer["status"],
                "seconds": seconds,
                "rejectedBy": answer.get("rejectedBy", []),
            }
        )
    return found


def _unread(tx: Tx, team: Team) -> list[dict[str, Any]]:
    return [
        {"id": m.id, "from": m.sender, "to": m.to, "meantFor": m.bounced_from, "subject": m.subject}
        for m in tx.inbox(team.id, None, unread=True)
    ]


def _warnings(team: Team, journal: Sequence[Entry]) -> list[str]:
    noted = [
        f"{e.about}: {e.data['text']}" if e.about else e.data["text"] for e in journal if e.kind == "warning"
    ]
    texts = {e.data["text"] for e in journal if e.kind == "warning"}
    return [*noted, *(w for w in team.warnings if w not in texts)]


def _run(app: App, team_name: str, journal: Sequence[Entry]) -> dict[str, Any]:
    gates = [{"at": e.at, **e.data} for e in journal if e.kind == "gate"]
    reviews = [{"at": e.at, "task": e.about, **e.data} for e in journal if e.kind == "task_reviewed"]
    return {**read_run(app, team_name), "gates": gates, "reviews": reviews}
