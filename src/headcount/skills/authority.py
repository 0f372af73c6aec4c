"""Who may do what, from the one table that every call is checked against."""

from __future__ import annotations

from headcount.protocol.authority import CALLERS, MAY
from headcount.skills.words import bullets, join

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
