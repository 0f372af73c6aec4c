"""Map the paths of the page to use cases. The guard has accepted the caller as the operator."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Any

from headcount.app import desk, mail, members, permissions, review, standing_down, witness
from headcount.app.app import open_app
from headcount.app.cycle import cycle
from headcount.app.file_diffs import read_file, read_files
from headcount.app.member_checkpoints import show_checkpoint
from headcount.app.member_start import Plan
from headcount.app.page import read_member
from headcount.app.report import read_report
from headcount.app.resident import ensure_driven
from headcount.app.teams import spawn
from headcount.errors import HeadcountError, UsageError
from headcount.web.report_page import write_report
from headcount.web.source_colours import colour

if TYPE_CHECKING:
    from headcount.app.app import App
    from headcount.app.desk import Replied
    from headcount.app.file_diffs import Line
    from headcount.app.permissions import AskAnswer
    from headcount.app.review import Merge
    from headcount.app.stand_down_answer import EscalationAnswer, StandDownAnswer

Reading = Callable[..., Any]
Changing = Callable[..., Any]
Body = dict[str, Any]


def stand_down(app: App, body: Body, team: str) -> StandDownAnswer:
    """Open a stand-down, or join the open one. The stream shows its progress."""
    answer = standing_down.stand_down(
        app,
        team,
        _names(body, "members"),
        _text(body, "reason"),
        force=_is(body, "force"),
        keep_team=_is(body, "keepTeam"),
        now=_is(body, "now"),
    )
    ensure_driven(app)
    return answer


def decide(app: App, body: Body, team: str, escalation: str) -> EscalationAnswer:
    answer = standing_down.decide(app, escalation, _text(body, "decision"), _text(body, "reason"), team)
    ensure_driven(app)
    return answer


def decide_many(app: App, body: Body, team: str) -> dict[str, Any]:
    """Decide several escalations alike. One that cannot be decided so does not keep the others waiting."""
    decided, refused = [], []
    for escalation in _names(body, "escalations") or ():
        try:
            decided.append(decide(app, body, team, escalation)["id"])
        except HeadcountError as error:
            refused.append({"id": escalation, **error.as_dict()})
    return {"decided": decided, "refused": refused}


def decide_ask(app: App, body: Body, team: str, ask: str) -> AskAnswer:
    return permissions.decide_ask(
        app, ask, _text(body, "decision"), _text(body, "reason"), always=_is(body, "always"), team=team
    )


def reply(app: App, body: Body, team: str, message: str) -> Replied:
    return desk.reply(app, message, _text(body, "text"), team)


def send(app: App, body: Body, team: str, member: str) -> dict[str, Any]:
    sent = mail.send(app, member, _text(body, "subject"), _text(body, "text"), team)
    return {"id": sent.ids[0], "delivered": sent.delivered, "note": sent.note}


def start(app: App, body: Body, team: str) -> dict[str, Any]:
    """Start a member, by the settings as they are at this moment."""
    plan = Plan(
        _text(body, "name"),
        agent=_text(body, "agent") or None,
        prompt=_text(body, "prompt"),
        role=_text(body, "role") or "worker",
        directory=app.checkout,
    )
    with closing(open_app(app.checkout, make=False)) as fresh:
        key = spawn(fresh, team, plan).key
    ensure_driven(app)
    return {"key": key}


def pause(app: App, body: Body, team: str, member: str) -> dict[str, Any]:
    return members.pause(app, member, team, resume=_is(body, "resume"))


def start_cycle(app: App, body: Body, team: str, member: str) -> dict[str, Any]:
    answer = cycle(app, member, _text(body, "remarks"), team)
    ensure_driven(app)
    return answer


def merge(app: App, body: Body, team: str, name: str) -> Merge:
    return review.merge(app, name, team, squash=_is(body, "squash"))


def nudge(app: App, body: Body, team: str, member: str) -> dict[str, Any]:
    return witness.nudge(app, member, _text(body, "text"), team)


def capture(app: App, team: str, member: str) -> dict[str, Any]:
    return witness.capture(app, member, team)


def report(app: App, team: str) -> dict[str, Any]:
    return {"name": f"{team}-report.html", "page": write_report(read_report(app, team))}


def member(app: App, team: str, key: str) -> dict[str, Any]:
    return read_member(app, team, key)


def checkpoint(app: App, team: str, name: str) -> dict[str, Any]:
    return show_checkpoint(app, name, team)


def diff(app: App, team: str, name: str) -> dict[str, Any]:
    return read_files(app, name, team)


def file_diff(app: App, team: str, name: str, number: str) -> dict[str, Any]:
    """Return the lines of one file, each with its text in coloured pieces where there is a lexer for it."""
    file, lines = read_file(app, name, int(number) if number.isdecimal() else -1, team)
    return {**file.as_dict(), "lines": _coloured(file.path, lines)}


_SIDES = {"-": "-", "+": "+", " ": "-+"}


def _coloured(path: str, lines: list[Line]) -> list[list[Any]]:
    """Return `[sign, old, new, text or pieces]`. Each side of each hunk is coloured as a text of its own."""
    sides: dict[tuple[int, str], list[int]] = {}
    hunk = 0
    for number, line in enumerate(lines):
        hunk += line.sign == "@"
        for side in _SIDES.get(line.sign, ""):
            sides.setdefault((hunk, side), []).append(number)
    found = colour(path, [[lines[number].text for number in numbers] for numbers in sides.values()])
    pieces: dict[int, Any] = {}
    for numbers, part in zip(sides.values(), found or (), strict=False):
        pieces.update(zip(numbers, part, strict=False))
    return [[line.sign, line.old, line.new, pieces.get(n, line.text)] for n, line in enumerate(lines)]


READING: dict[str, Reading] = {
    "/api/teams/{team}/report": report,
    "/api/teams/{team}/members/{key}": member,
    "/api/teams/{team}/members/{member}/screen": capture,
    "/api/teams/{team}/checkpoints/{name}": checkpoint,
    "/api/teams/{team}/diffs/{name}": diff,
    "/api/teams/{team}/diffs/{name}/{number}": file_diff,
}
CHANGING: dict[str, Changing] = {
    "/api/teams/{team}/stand-down": stand_down,
    "/api/teams/{team}/escalations": decide_many,
    "/api/teams/{team}/escalations/{escalation}": decide,
    "/api/teams/{team}/asks/{ask}": decide_ask,
    "/api/teams/{team}/mail/{message}/reply": reply,
    "/api/teams/{team}/members": start,
    "/api/teams/{team}/members/{member}/mail": send,
    "/api/teams/{team}/members/{member}/nudge": nudge,
    "/api/teams/{team}/members/{member}/pause": pause,
    "/api/teams/{team}/members/{member}/cycle": start_cycle,
    "/api/teams/{team}/diffs/{name}/merge": merge,
}


def _text(body: Body, name: str) -> str:
    value = body.get(name, "")
    if isinstance(value, str):
        return value
    raise UsageError(f"{name} must be text", f"it is {type(value).__name__}", code="usage")


def _is(body: Body, name: str) -> bool:
    return body.get(name) is True


def _names(body: Body, name: str) -> list[str] | None:
    names = body.get(name)
    if names is None or (isinstance(names, list) and all(isinstance(one, str) for one in names)):
        return names
    raise UsageError(f"{name} must be a list of names", "it is something else", code="usage")
