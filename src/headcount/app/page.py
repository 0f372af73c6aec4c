"""Read what the live page shows of a team, and the changes to the last view.

A view is read as a whole and compared with the one before. Rows that did not change are the same objects, so
comparing a thousand members costs next to nothing and a client that was slow is sent one patch, not many.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from headcount.app.app import policy_of
from headcount.app.closed_teams import closed_ids
from headcount.app.desk import read_needs
from headcount.app.doing import DoingReader
from headcount.app.journal_sentences import tell, whom
from headcount.app.member_checkpoints import read_strips
from headcount.app.progress import waits_for
from headcount.app.report import describe_salvage
from headcount.app.stand_down_answer import report as read_stand_down
from headcount.app.task_run import describe_run
from headcount.app.team_status import read_asks, read_costs, read_stopped, shown_activity
from headcount.app.timeline import Timeline
from headcount.domain.findings import Findings
from headcount.domain.names import show
from headcount.errors import UsageError
from headcount.protocol.member import limit_s
from headcount.protocol.team import decisions_now
from headcount.workspace.work_count import NOT_KNOWN, Work

if TYPE_CHECKING:
    from headcount.app.app import App
    from headcount.app.desk import Need
    from headcount.app.permissions import AskAnswer
    from headcount.app.team_status import Costs, Usage
    from headcount.app.timeline import Lane
    from headcount.domain.policy import Policy
    from headcount.ports import Entry, Mail, Tx
    from headcount.protocol.member import Member
    from headcount.protocol.team import Team

Row = dict[str, Any]
_MAIL = 200
_LOG = 400
_BODY = 4000


class View(NamedTuple):
    """`about`, `members` and so on as they are sent; rows by key, so that a patch can name them."""

    about: Row
    members: dict[str, Row]
    needs: list[Need]
    """What waits for a person, newest first. An ask, an escalation or a message has its details below."""
    escalations: list[Row]
    asks: list[AskAnswer]
    tasks: list[Row]
    salvage: list[Row]
    mail: dict[str, Row]
    log: list[Row]


class Onlooker:
    """Reads one team again and again, and keeps what need not be read twice. For one thread."""

    def __init__(self, app: App, team_name: str) -> None:
        self._app = app
        self._name = team_name
        self.seen: dict[str, Work] = {}  # by key, from the thread that reads the workspaces
        self._begin("")

    def _begin(self, team_id: str) -> None:
        """A name that is used again is another team: nothing of the last one is kept."""
        self._team_id = team_id
        self._timeline = Timeline()
        self._rows: dict[str, tuple[Any, Row]] = {}
        self._findings: dict[str, Work] = {}
        self._reviews: dict[str, list[Row]] = {}
        self._doing = DoingReader(self._app.home, self._name)
        self._unread: dict[str, int] | None = None
        self._view: View | None = None

    def look(self) -> View:
        """The team as it stands now; the last view itself when nothing has changed."""
        with self._app.store.read() as tx:
            team = self._app.load(tx, self._name)
            if team.id != self._team_id:
                self._begin(team.id)
            new = tx.journal(team.id, self._timeline.seq)
            unread = tx.count_unread(team.id)
            usage = tx.facts(team.id, "usage")
            if self._view is not None and not new and unread == self._unread:
                self._update(self._view, self._members(tx, team, set(), unread, usage), read_costs(tx, usage))
            else:
                self._view = self._read(tx, team, new, unread, usage)
                self._unread = unread
        return self._view

    def _update(self, view: View, members: dict[str, Row], costs: Costs) -> None:
        if members != view.members:
            self._view = view = view._replace(members=members)
        if any(view.about[name] != value for name, value in costs.items()):
            self._view = view._replace(about={**view.about, **costs})

    def _read(self, tx: Tx, team: Team, new: list[Entry], unread: dict[str, int], usage: Usage) -> View:
        changed = self._timeline.add(new)
        self._collect_reviews(new)
        log = [*(self._view.log if self._view else ()), *map(_line, new)]
        return View(
            about={**self._about(tx, team, new), **read_costs(tx, usage)},
            members=self._members(tx, team, changed, unread, usage),
            needs=sorted(read_needs(self._app, tx, team), key=lambda need: need["at"], reverse=True),
            escalations=_escalations(team, policy_of(tx.team_settings(team.id))),
            asks=read_asks(tx, team.id, team.name),
            tasks=[{**row, "reviews": self._reviews.get(row["id"], [])} for row in _tasks(tx, team)],
            salvage=_salvage(tx, team),
            mail={m.id: _mail(m) for m in tx.inbox(team.id, None)[-_MAIL:]},
            log=log[-_LOG:],
        )

    def _collect_reviews(self, new: list[Entry]) -> None:
        """Collect the words of reviewers by task, oldest first."""
        for entry in new:
            if entry.kind == "task_reviewed":
                words = {name: entry.data[name] for name in ("key", "verdict", "words")}
                self._reviews[entry.about] = [*self._reviews.get(entry.about, ()), {**words, "at": entry.at}]

    def _about(self, tx: Tx, team: Team, new: list[Entry]) -> Row:
        before = self._view.about if self._view else None
        stand_down = read_stand_down(tx, team, None)
        asked = next((e for e in reversed(new) if e.kind == "stand_down"), None)
        has_run = team.run is not None
        return {
            "team": team.name,
            "teamId": team.id,
            "description": before["description"] if before else _description(new),
            "status": str(team.status),
            "draining": team.draining,
            "began": before["began"] if before else (new[0].at if new else None),
            "ended": _ended(team, new) or (before["ended"] if before and not team.live() else None),
            "askedAt": asked.at if asked else (before["askedAt"] if before else None),
            "warnings": list(team.warnings),
            "standDown": {name: stand_down[name] for name in ("status", "requestId", "seconds", "deleted")},
            "rejectedBy": stand_down.get("rejectedBy", []),
            "archive": stand_down["archive"],
            "run": describe_run(tx, team) if has_run else None,
        }

    def _members(
        self, tx: Tx, team: Team, changed: set[str], unread: dict[str, int], usage: Usage
    ) -> dict[str, Row]:
        policy = policy_of(tx.team_settings(team.id))
        self._count_findings(tx, team, changed)
        waiting = {one["member"] for one in read_asks(tx, team.id, team.name)}
        stopped = read_stopped(tx, team)
        live = [member.key for member in team.live()]
        doing = self._doing.read(live, lambda key: tx.fact(team.id, key, "start"))
        rows: dict[str, Row] = {}
        for key, member in team.members.items():
            lane = self._timeline.lanes.get(key)
            work = self.seen.get(key, self._findings.get(key, NOT_KNOWN)) if member.live else NOT_KNOWN
            activity = shown_activity(member, waiting, stopped)
            spans, mails, used = len(lane.spans) if lane else 0, unread.get(key, 0), usage.get(key, {})
            basis = (member, activity, spans, mails, work, doing.get(key), used)
            kept = self._rows.get(key)
            if kept is None or kept[0] != basis:
                row = _member(member, lane, mails, policy)
                kept = self._rows[key] = basis, {
                    **row, "activity": activity, "doing": doing.get(key), "dirty": work.files_changed,
                    "ahead": work.commits_ahead, "refused": used.get("refused"),
                    "cost_usd": used.get("cost_usd"), "tokens": used.get("tokens"),
                }  # fmt: skip
            rows[key] = kept[1]
        return rows

    def _count_findings(self, tx: Tx, team: Team, changed: set[str]) -> None:
        """Findings come with a change of state; all of them are read only the first time."""
        if self._view is None:
            facts = tx.facts(team.id, "findings")
        else:
            facts = {key: fact for key in changed if (fact := tx.fact(team.id, key, "findings")) is not None}
        for key, fact in facts.items():
            found = Findings.from_dict(fact)
            self._findings[key] = Work(found.commits_ahead, len(found.dirty))


def make_patch(before: View | None, after: View) -> dict[str, Any]:
    """What to send to one who has `before`: everything, or only what is another object now."""
    if before is None or before.about["teamId"] != after.about["teamId"]:
        return {"whole": True, **after._asdict()}
    patch: dict[str, Any] = {}
    for name in ("about", "needs", "escalations", "asks", "tasks", "salvage"):
        if getattr(before, name) != getattr(after, name):
            patch[name] = getattr(after, name)
    for name in ("members", "mail"):
        old, new = getattr(before, name), getattr(after, name)
        rows = {key: row for key, row in new.items() if old.get(key) is not row and old.get(key) != row}
        if rows:
            patch[name] = rows
    seen = before.log[-1]["seq"] if before.log else 0
    log = [line for line in after.log if line["seq"] > seen]
    return {**patch, "log": log} if log else patch


class TeamList:
    """Reads every generation of every team again and again, and closed ones only once. For one thread."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._closed: dict[str, Row] = {}

    def read(self) -> list[Row]:
        """Return the open teams, then the closed ones, the last that was closed first."""
        with self._app.store.read() as tx:
            current = [_team(tx, self._app.load(tx, name)) for name in tx.team_names()]
            for team_id in closed_ids(tx):
                if team_id not in self._closed:
                    self._closed[team_id] = _team(tx, self._app.load(tx, team_id))
        ended = sorted(self._closed.values(), key=lambda row: row["ended"] or 0.0, reverse=True)
        return [*current, *(row for row in ended if row["began"] is not None)]


def _team(tx: Tx, team: Team) -> Row:
    first, last = tx.journal(team.id, limit=1), tx.recent(team.id, 1)
    outcomes = [str(m.outcome) for m in team.members.values() if m.outcome]
    return {
        "team": team.id if team.status == "shutdown" else team.name,
        "status": str(team.status),
        "members": len(team.members),
        "outcomes": {name: outcomes.count(name) for name in dict.fromkeys(outcomes)},
        "began": first[0].at if first else None,
        "ended": last[0].at if last and team.status == "shutdown" else None,
        "cost_usd": read_costs(tx, tx.facts(team.id, "usage"))["cost_usd"],
    }


def read_member(app: App, team_name: str, key: str) -> Row:
    """One member, closer: where it works, what its last inspection found, and its part of the story."""
    with app.store.read() as tx:
        team = app.load(tx, team_name)
        if key not in team.members:
            raise UsageError(
                f"There is no member {show(key)}", f"{team.name} has no such member", code="unknown-member"
            )
        facts = {name: tx.fact(team.id, key, name) for name in ("workspace", "findings", "proof", "plan")}
        journal = [entry for entry in tx.journal(team.id) if entry.about == key]
    places = {key: facts["workspace"]} if facts["workspace"] else {}
    return {
        "key": key,
        "checkpoints": read_strips(app, team_name, places).get(key, []),
        "prompt": (facts["plan"] or {}).get("prompt", ""),
        "workspace": facts["workspace"],
        "findings": facts["findings"],
        "processes": facts["proof"],
        "log": [line for line in map(_line, journal) if line["what"]],
    }


# --- rows ------------------------------------------------------------------------------------------------


def _member(member: Member, lane: Lane | None, unread: int, policy: Policy) -> Row:
    return {
        "key": member.key,
        "name": member.name,
        "generation": member.generation,
        "role": member.role,
        "state": "stuck" if member.stuck else str(member.state),
        "task": member.task,
        "answer": member.answer,
        "issues": list(member.issues),
        "outcome": member.outcome,
        "failure": member.failure,
        "cause": member.cause,
        "attempts": member.attempts,
        "salvage": list(member.refs),
        "unread": unread,
        "asked": member.request is not None,
        "waits": waits_for(member),
        "limit": limit_s(member, policy) if member.request is not None and not member.settled else None,
        "lane": [[span.state, span.since] for span in lane.spans] if lane else [],
    }


def _escalations(team: Team, policy: Policy) -> list[Row]:
    """Open ones first; a button for each decision that would be taken, and why not for the others."""
    found = sorted(team.escalations.values(), key=lambda e: e.state not in ("open", "parked"))
    return [
        {
            "id": e.id,
            "key": e.key,
            "cause": e.cause,
            "issues": list(e.issues),
            "attempts": e.attempts,
            "state": e.state,
            "decision": e.decision,
            "by": e.by,
            "decisions": decisions_now(team, e.id, policy),
        }
        for e in found
    ]


def _tasks(tx: Tx, team: Team) -> list[Row]:
    return [
        {
            "id": t.id,
            "subject": t.subject,
            "status": t.status,
            "owner": t.owner,
            "dependsOn": list(t.depends_on),
            "reason": t.reason,
        }
        for t in tx.tasks(team.id)
    ]


def _salvage(tx: Tx, team: Team) -> list[Row]:
    facts = tx.facts(team.id, "salvage")
    return [
        {"key": member.key, **describe_salvage(ref, facts.get(ref))}
        for member in team.members.values()
        for ref in member.refs
    ]


def _mail(mail: Mail) -> Row:
    return {
        "id": mail.id,
        "at": mail.sent_at,
        "from": mail.sender,
        "to": mail.to,
        "subject": mail.subject,
        "body": mail.body[:_BODY],
        "priority": mail.priority,
        "template": mail.template,
        "read": mail.read_at is not None,
        "meantFor": mail.bounced_from,
    }


def _line(entry: Entry) -> Row:
    return {
        "seq": entry.seq,
        "at": entry.at,
        "kind": entry.kind,
        "who": whom(entry),
        "what": tell(entry),
        "data": dict(entry.data) if tell(entry) is None else None,
    }


def _description(new: list[Entry]) -> str:
    return str(new[0].data.get("description", "")) if new else ""


def _ended(team: Team, new: list[Entry]) -> float | None:
    if team.live():
        return None
    return next((e.at for e in reversed(new) if e.kind in ("shutdown", "gone")), None)
