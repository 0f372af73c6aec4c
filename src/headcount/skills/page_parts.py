"""Write parts that the pages share: numbers, fenced blocks, lists, and the authority table."""

from __future__ import annotations

import json
import textwrap
from typing import Any

from headcount.protocol.authority import CALLERS, MAY

_COLUMNS = 100
_BLOCKS = ("#", "```", "|", "- ", "1. [")  # headings, code, tables, lists: their lines are their own

WORKER = "worker"
SPEC = "spec-reviewer"
QUALITY = "code-quality-reviewer"


def seconds(number: float) -> str:
    return f"{number:g} second" if number == 1 else f"{number:g} seconds"


def times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def shell(*lines: str) -> str:
    return "```bash\n" + "\n".join(lines) + "\n```"


def text(body: str) -> str:
    return f"```text\n{body.rstrip()}\n```"


def tool(name: str, **arguments: Any) -> str:
    """Return a call of an MCP tool, as a client makes it."""
    return as_json({"name": name, "arguments": arguments})


def as_json(value: Any) -> str:
    return f"```json\n{json.dumps(value, indent=2, ensure_ascii=False)}\n```"


def bullets(*items: str) -> str:
    return "\n".join(f"- {item}" for item in items)


def join(*parts: str) -> str:
    """Join parts with blank lines. Wrap parts that are one paragraph of prose."""
    return "\n\n".join(_filled(part.strip("\n")) for part in parts if part) + "\n"


def _filled(part: str) -> str:
    if "\n\n" in part or part.startswith(_BLOCKS):
        return part
    return textwrap.fill(part, _COLUMNS, break_long_words=False, break_on_hyphens=False)


# --- authority -------------------------------------------------------------------------------------------
#
# Who may do what, from the one table that every call is checked against.


_NOT_TO_SHOW = ("status", "read_mail")


def authority_page() -> str:
    return join(
        "# Cleanup Authority",
        "## The Rule",
        "**The witness handles ALL per-member cleanup. The lead is never involved.** The "
        "operator, the person at "
        "the terminal, holds the authority of both.",
        "## Why",
        bullets(
            "The lead thinks about the work, the witness about the workers",
            "Routine cleanup needs no talk between the two",
            "Whoever is verified can be stopped at once",
            "The lead hears of problems, and of the end: swarm complete, all members proved gone",
        ),
        "## Who May Do What",
        "Every call is checked against this table; a refusal says who may, and is kept in the journal.",
        _table(),
        "A member answers, signals and claims only for itself.",
        "## Escalation Path",
        "```text\n"
        "member stuck -> witness nudges, inspects again -> witness escalates to the lead, once\n"
        "                                               -> the lead decides: force-kill, "
        "reassign, human, wait\n"
        "```",
        "## Anti-Patterns",
        bullets(
            "**DON'T** have the lead ask whether a member is clean. **DO** have the witness report the end",
            "**DON'T** have the lead kill sessions. **DO** have it ask with `headcount abort`",
            "**DON'T** have members report done to the lead. **DO** have them signal done: the witness looks",
        ),
    )


def _table() -> str:
    rows = ["| action | " + " | ".join(CALLERS) + " |", "|---" * (len(CALLERS) + 1) + "|"]
    for action, allowed in MAY.items():
        if action not in _NOT_TO_SHOW:
            marks = " | ".join("yes" if caller in allowed else "" for caller in CALLERS)
            rows.append(f"| {action.replace('_', ' ')} | {marks} |")
    return "\n".join(rows)
