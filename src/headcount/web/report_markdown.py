"""Write the report as Markdown for a pull request.

Members wrote subjects, reasons and names of files. Each of these becomes a code span on one line, where no
host looks for markup, mentions or references. Such a text can still become part of a commit message, as by a
squash merge, where hosts read it as plain text. So a space breaks what they would act on.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from headcount import __version__
from headcount.app.report_summary import SHOWN_COMMITS, VERDICTS, count, read_tasks, show_change
from headcount.domain.display import show_usd, visible
from headcount.web.report_page import show_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_LONGEST = 200
_SHOWN = 100  # tasks and members: a description on GitHub has at most 65,536 characters
_OF_FIRST = re.compile(r"(?<=\w)#1(?=:? )")
# A mention, a reference to an issue or a merge request, and an address, which closes an issue as "#1" does.
_ACTED_ON = re.compile(r"@(?=\w)|[#!](?=\d)|\bGH-(?=\d)|:(?=//)", re.IGNORECASE)


def write_markdown(report: Mapping[str, Any]) -> str:
    """Return the Markdown of a report."""
    parts = [
        f"## {code(report['team'])}: what happened",
        report["summary"],
        _section("Tasks", _some(map(_task, read_tasks(report)))),
        _section("Commits", _some(_commits(m) for m in report["members"] if m["commits"])),
        _section("Saved and not committed", _some(_salvages(report["members"]))),
        _section("Warnings", _some(f"- {code(_OF_FIRST.sub('', text))}" for text in report["warnings"])),
        _section("Time of each member", _some(map(_time, report["members"]))),
        f"From the journal of {_who(report['teamId'])}, by headcount {__version__}.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def code(text: str) -> str:
    """Return a stranger's text as a code span. It neither ends the span nor the line."""
    line = " ".join(visible(text).split())
    line = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)
    line = _ACTED_ON.sub(lambda found: found[0] + " ", line)
    line = line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
    fence = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    padding = " " if not line or "`" in (line[0], line[-1]) else ""
    return f"{fence}{padding}{line or '-'}{padding}{fence}"


def _section(title: str, lines: Sequence[str]) -> str:
    return "\n".join([f"### {title}", "", *lines]) if lines else ""


def _some(lines: Iterable[str]) -> list[str]:
    found = list(lines)
    more = len(found) - _SHOWN
    return [*found[:_SHOWN], *([f"- and {more} more"] if more > 0 else [])]


def _task(task: Mapping[str, Any]) -> str:
    made = task["commits"]
    parts = [
        str(task["result"]).replace("_", " "),
        f"by {_who(task['by'])}" if task["by"] else "",
        count(len(made), "commit") if made is not None else "commits not known",
        show_change(task["change"]) if task["change"] else "",
        show_usd(task["cost_usd"]) if task["cost_usd"] is not None else "",
    ]
    lines = [f"- {code(task['id'])} {code(task['subject'])}: {', '.join(part for part in parts if part)}"]
    lines += [f"  - {code(_OF_FIRST.sub('', task['reason']))}"] if task["reason"] else []
    lines += [_review(review) for review in task["reviews"]]
    return "\n".join(lines)


def _review(review: Mapping[str, Any]) -> str:
    words = f": {code(review['words'])}" if review["words"] else ""
    return f"  - {_who(review['key'])} {VERDICTS[review['verdict']]}{words}"


def _commits(member: Mapping[str, Any]) -> str:
    commits = member["commits"]
    where = f" on {code(member['branch'])}" if member["branch"] else ""
    lines = [f"  - {code(c['commit'][:10])} {code(c['subject'])}" for c in commits[:SHOWN_COMMITS]]
    more = len(commits) - SHOWN_COMMITS
    head = f"- {_name(member)}: {count(len(commits), 'commit')}{where}, {show_change(member['change'])}"
    return "\n".join([head, *lines, *([f"  - and {more} more"] if more > 0 else [])])


def _salvages(members: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    for member in members:
        for saved in member["salvage"]:
            lost = " is missing" if saved["lost"] else ""
            yield f"- {_name(member)}: {code(saved['ref'])}{lost}"


def _time(member: Mapping[str, Any]) -> str:
    ended = member["outcome"] or member["state"]
    return f"- {_name(member)}: worked {show_seconds(member['seconds'])}; {str(ended).replace('_', ' ')}"


def _name(member: Mapping[str, Any]) -> str:
    return _who(f"{member['name']}#{member['generation']}")


def _who(key: str) -> str:
    """Return a name without its first generation: a host could take `ada#1` for an issue of ada's."""
    name, _, generation = key.rpartition("#")
    if not name or not generation.isdecimal():
        return code(key)
    return code(name) if generation == "1" else f"{code(name)} (generation {int(generation)})"
