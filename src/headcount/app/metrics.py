"""Numbers for Prometheus, in its text format: the state of the teams now."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from headcount.app.stand_down_answer import report
from headcount.protocol.team import Status

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headcount.app.app import App
    from headcount.ports import Tx
    from headcount.protocol.team import Team

Sample = tuple[dict[str, str], float]

_HELP = {
    "headcount_teams": "Teams by status.",
    "headcount_members": "Members of open teams by state.",
    "headcount_tasks": "Tasks of open teams by status.",
    "headcount_escalations": "What waits for a decision in open teams.",
    "headcount_unread_mail": "Messages of open teams that nobody has read.",
    "headcount_salvages": "Salvages taken of members of open teams.",
    "headcount_stand_down_seconds": "How long a team's last stand-down took.",
}


def write_metrics(app: App) -> str:
    """All of them, with every team that is open and, where it is about an end, every closed one."""
    app.check("status")
    samples: dict[str, list[Sample]] = {name: [] for name in _HELP}
    with app.store.read() as tx:
        teams = [app.load(tx, name) for name in sorted(set(tx.team_names(closed=True)))]
        statuses = Counter(str(team.status) for team in teams)
        samples["headcount_teams"] = [({"status": str(s)}, statuses[str(s)]) for s in Status]
        for team in teams:
            for name, labels, value in _of_team(tx, team):
                samples[name].append(({"team": team.name, **labels}, value))
    return "".join(_family(name, found) for name, found in samples.items())


def _of_team(tx: Tx, team: Team) -> Iterable[tuple[str, dict[str, str], float]]:
    took = report(tx, team, None)["seconds"]
    if took is not None:
        yield "headcount_stand_down_seconds", {}, took
    if team.status is Status.SHUTDOWN:
        return
    states = Counter("stuck" if m.stuck else str(m.state) for m in team.members.values())
    tasks = Counter(task.status for task in tx.tasks(team.id))
    yield from (("headcount_members", {"state": state}, number) for state, number in states.items())
    yield from (("headcount_tasks", {"status": status}, number) for status, number in tasks.items())
    waiting = sum(1 for e in team.escalations.values() if e.state in ("open", "parked"))
    yield "headcount_escalations", {}, waiting
    yield "headcount_unread_mail", {}, sum(tx.count_unread(team.id).values())
    yield "headcount_salvages", {}, sum(len(m.refs) for m in team.members.values())


def _family(name: str, samples: list[Sample]) -> str:
    lines = [f"# HELP {name} {_HELP[name]}", f"# TYPE {name} gauge"]
    lines += [f"{name}{{{_labels(labels)}}} {value:g}" for labels, value in samples]
    return "\n".join(lines) + "\n"


def _labels(labels: dict[str, Any]) -> str:
    """Names of teams and states are of letters that need no escape."""
    return ",".join(f'{name}="{value}"' for name, value in labels.items())
