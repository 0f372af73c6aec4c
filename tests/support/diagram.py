"""The rules as the documentation shows them: diagrams and tables, written from the tables that decide.

    python -m tests.support.diagram --write docs/explanation/protocol.md

Each part stands between two marker lines; a test compares the committed text with this, so a changed rule
is a diff that somebody reads.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from typing import TYPE_CHECKING, Any

from headcount.domain.policy import Policy
from headcount.protocol import authority, member, phase, task
from headcount.protocol.bound import bound_s, one_member_s
from headcount.protocol.team import CLOSE_STEPS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Rules = Mapping[Any, Any]  # by state and trigger; each table has its own types

# A team's status is read from its requests (`shutdown.py`), so its moves are listed here, and the explorer's
# test checks that no other is ever seen.
TEAM_MOVES = (
    ("active", "pending_shutdown", "stand down"),
    ("active", "stopping", "stand down, no member to ask"),
    ("active", "escalated", "stand down, only escalated ones left"),
    ("active", "closing", "stand down, no member there"),
    ("pending_shutdown", "active", "a refusal"),
    ("pending_shutdown", "stopping", "all answered"),
    ("pending_shutdown", "escalated", "all answered, only escalated ones left"),
    ("pending_shutdown", "closing", "all gone"),
    ("pending_shutdown", "stuck", "all answered, only stuck ones left"),
    ("stopping", "escalated", "all others ended"),
    ("stopping", "stuck", "something could not be proved gone"),
    ("stopping", "closing", "all gone"),
    ("stopping", "active", "all gone, and the team is kept"),
    ("escalated", "stopping", "decided, exited, or force"),
    ("stuck", "stopping", "requested again, or gone after all"),
    ("closing", "shutdown", "finalizers, workspaces, archive, tombstone"),
)


def rule_diagram(rules: Rules, first: str, ends: tuple[str, ...]) -> str:
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {first}"]
    lines += [f"    {state} --> {to}: {', '.join(cues)}" for (state, to), cues in _by_way(rules).items()]
    return "\n".join([*lines, *(f"    {end} --> [*]" for end in ends), "```"])


def _by_way(rules: Rules) -> dict[tuple[str, str], list[str]]:
    ways: dict[tuple[str, str], list[str]] = {}
    for (state, cue), rule in rules.items():
        ways.setdefault((state, rule.to), []).append(_words(cue))
    return ways


def rule_table(rules: Rules) -> str:
    rows = [
        (str(state), _words(cue), str(rule.to) if rule.to != state else "(stays)", _deeds(rule.do))
        for (state, cue), rule in rules.items()
    ]
    return _table(("state", "trigger", "leads to", "actions, in order"), rows)


def _deeds(deeds: tuple[str, ...]) -> str:
    return ", ".join(map(_words, deeds)) or "nothing"


def team_diagram() -> str:
    lines = ["```mermaid", "stateDiagram-v2", "    [*] --> active"]
    lines += [f"    {state} --> {to}: {why}" for state, to, why in TEAM_MOVES]
    return "\n".join([*lines, "    shutdown --> [*]", "```"])


def closing_steps() -> str:
    return " → ".join(f"`{step}`" for step in CLOSE_STEPS)


def authority_table() -> str:
    rows = [
        (_words(action), *("yes" if caller in who else "" for caller in authority.CALLERS))
        for action, who in authority.MAY.items()
    ]
    return _table(("action", *authority.CALLERS), rows)


def policy_table() -> str:
    rows = [
        (f"`{f.name}`", f"`{_value(f.default)}`", str(f.metadata["doc"]))
        for f in dataclasses.fields(Policy)
        if "doc" in f.metadata
    ]
    return _table(("setting", "default", "what it limits"), rows)


def _value(value: object) -> str:
    return str(list(value)) if isinstance(value, tuple) else str(value)


def bound_sentence() -> str:
    policy = Policy()
    return (
        f"With the default policy one member takes at most {_minutes(one_member_s(policy))}, and a team of "
        f"three at most {_minutes(bound_s(policy, 3))}."
    )


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.1f} minutes"


def _words(name: str) -> str:
    return str(name).replace("_", " ")


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


PARTS: dict[str, Callable[[], str]] = {
    "member-diagram": lambda: rule_diagram(member.TABLE, "starting", ("gone",)),
    "member-table": lambda: rule_table(member.TABLE),
    "team-diagram": team_diagram,
    "closing": closing_steps,
    "task-diagram": lambda: rule_diagram(task.TABLE, "waiting", ("complete", "blocked")),
    "task-table": lambda: rule_table(task.TABLE),
    "phase-diagram": lambda: rule_diagram(phase.TABLE, "tasks", ("complete", "blocked")),
    "phase-table": lambda: rule_table(phase.TABLE),
    "authority": authority_table,
    "policy": policy_table,
    "bound": bound_sentence,
}


def fill(text: str) -> str:
    """The page with every part as it is now; what stands outside the markers is left as it is."""
    for name, write in PARTS.items():
        begin, end = f"<!-- {name}: generated -->", f"<!-- {name}: end -->"
        before, _, rest = text.partition(begin)
        _, found, after = rest.partition(end)
        if not found:
            raise ValueError(f"the page has no markers for {name}")
        text = f"{before}{begin}\n{write()}\n{end}{after}"
    return text


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.support.diagram", description=__doc__)
    parser.add_argument("page", help="the page with the markers, e.g. docs/explanation/protocol.md")
    parser.add_argument("--write", action="store_true", help="else only say whether it is as it should be")
    options = parser.parse_args(argv)
    with open(options.page, encoding="utf-8") as file:
        text = file.read()
    filled = fill(text)
    if options.write:
        with open(options.page, "w", encoding="utf-8") as file:
            file.write(filled)
    return 0 if options.write or filled == text else 1


if __name__ == "__main__":
    sys.exit(main())
