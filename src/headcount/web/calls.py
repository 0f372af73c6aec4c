"""Map the paths of the page to use cases. The guard has accepted the caller as the operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headcount.app import permissions, standing_down, witness
from headcount.app.page import read_member
from headcount.app.report import read_report
from headcount.app.resident import ensure_driven
from headcount.errors import UsageError
from headcount.web.report_page import write_report

if TYPE_CHECKING:
    from headcount.app.app import App
    from headcount.app.permissions import AskAnswer
    from headcount.app.stand_down_answer import EscalationAnswer, StandDownAnswer

Reading = Callable[..., Any]
Changing = Callable[..., Any]
Body = dict[str, Any]


def stand_down(app: App, body: Body, team: str) -> StandDownAnswer:
    """Open a stand-down, or join the open one. The stream shows its progress."""
    answer = standing_down.stand_down(
        app,
        team,
        _names(body),
        _text(body, "reason"),
        force=body.get("force") is True,
        keep_team=body.get("keepTeam") is True,
        now=body.get("now") is True,
    )
    ensure_driven(app)
    return answer


def decide(app: App, body: Body, team: str, escalation: str) -> EscalationAnswer:
    answer = standing_down.decide(app, escalation, _text(body, "decision"), _text(body, "reason"), team)
    ensure_driven(app)
    return answer


def decide_ask(app: App, body: Body, team: str, ask: str) -> AskAnswer:
    return permissions.decide_ask(
        app, ask, _text(body, "decision"), _text(body, "reason"), always=body.get("always") is True, team=team
    )


def nudge(app: App, body: Body, team: str, member: str) -> dict[str, Any]:
    return witness.nudge(app, member, _text(body, "text"), team)


def capture(app: App, team: str, member: str) -> dict[str, Any]:
    return witness.capture(app, member, team)


def report(app: App, team: str) -> dict[str, Any]:
    return {"name": f"{team}-report.html", "page": write_report(read_report(app, team))}


def member(app: App, team: str, key: str) -> dict[str, Any]:
    return read_member(app, team, key)


READING: dict[str, Reading] = {
    "/api/teams/{team}/report": report,
    "/api/teams/{team}/members/{key}": member,
    "/api/teams/{team}/members/{member}/screen": capture,
}
CHANGING: dict[str, Changing] = {
    "/api/teams/{team}/stand-down": stand_down,
    "/api/teams/{team}/escalations/{escalation}": decide,
    "/api/teams/{team}/asks/{ask}": decide_ask,
    "/api/teams/{team}/members/{member}/nudge": nudge,
}


def _text(body: Body, name: str) -> str:
    value = body.get(name, "")
    if isinstance(value, str):
        return value
    raise UsageError(f"{name} must be text", f"it is {type(value).__name__}", code="usage")


def _names(body: Body) -> list[str] | None:
    names = body.get("members")
    if names is None or (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        return names
    raise UsageError("members must be a list of names", "it is something else", code="usage")
