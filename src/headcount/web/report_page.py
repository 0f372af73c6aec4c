"""Write the report as one HTML file without script or external files, light and dark."""

from __future__ import annotations

import time
from importlib import resources
from typing import TYPE_CHECKING, Any

from headcount import __version__
from headcount.app.report_summary import SHOWN_COMMITS, VERDICTS, count, read_tasks, show_change
from headcount.app.team_status import outcome_words
from headcount.domain.display import show_bytes, show_usd
from headcount.web.html_parts import Child, Markup, draw_timeline, el, join, legend, raw, say_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_ZOOM = 6  # a stand-down that is shorter than this part of the whole gets a picture of its own
_COLOUR = {"shutdown": "good", "complete": "good", "active": "", "escalated": "warn", "stuck": "bad"}


def write_report(report: Mapping[str, Any]) -> str:
    """Return the HTML of a report. Text of agents is escaped."""
    title = f"{report['team']}: what happened"
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        # The file is opened from disk, and mailed: nothing in it may load or run anything.
        el(
            "meta",
            http_equiv="Content-Security-Policy",
            content="default-src 'none'; style-src 'unsafe-inline'",
        ),
        el("title", title),
        el("style", raw(read_static("tokens.css") + read_static("report.css"))),
    )
    main = el("main", *(part for part in _parts(report) if part))
    body = el("body", _header(report), main, _footer(report))
    return f"<!DOCTYPE html>\n{el('html', head, body, lang='en')}\n"


def read_static(name: str) -> str:
    return (resources.files("headcount.web") / "static" / name).read_text("utf-8")


def _parts(report: Mapping[str, Any]) -> Iterable[Markup | None]:
    yield _section(
        "Tasks",
        _table(("Task", "Subject", "Result", "By", "Commits", "Change", "Cost", "Notes"), _tasks(report)),
    )
    yield _section("Commits", _table(("Member", "Branch", "Change", "Cost", "Commits"), _commits(report)))
    yield _tiles(report)
    yield _timelines(report)
    yield _section("Warnings", _list(report["warnings"]))
    yield _section(
        "Members",
        _table(("Member", "Ended", "Answer", "Inspected", "Time", "Work", "Processes"), member_rows(report)),
    )
    yield _section("Salvage", _table(("Member", "What", "Get it back"), salvage_rows(report["members"])))
    yield _section(
        "Checkpoints", _table(("Member", "Taken", "Get one back"), checkpoint_rows(report["members"]))
    )
    yield _section(
        "Escalations", _table(("Id", "Member", "Because", "What", "Decided"), _escalations(report))
    )
    yield _run(report["run"])
    yield _section("Stand-downs", _table(("At", "Of", "Reason", "By", "Ended"), _stand_downs(report)))
    yield _section("Unread mail", _table(("To", "From", "Subject"), _mail(report)))
    yield _section("What happened", _table(("At", "Who", "What"), _story(report)))


# --- the top ---------------------------------------------------------------------------------------------


def _header(report: Mapping[str, Any]) -> Markup:
    status = report["run"]["status"] if report["run"] else report["status"]
    pill = el("span", status.replace("_", " "), class_=f"pill {_COLOUR.get(status, 'warn')}")
    took = f", took {say_seconds(report['seconds'])}" if report["seconds"] is not None else ", still open"
    return el(
        "header",
        el("h1", report["team"], pill),
        el("p", report["summary"], class_="summary"),
        el("p", report["description"]) if report["description"] else None,
        el("p", f"Began {_date(report['began'])}{took}.", class_="quiet"),
    )


def _tiles(report: Mapping[str, Any]) -> Markup:
    members = report["members"]
    proved = sum(1 for m in members if (m["processes"] or {}).get("empty"))
    processes = sum(len((m["processes"] or {}).get("processes", ())) for m in members)
    complete = sum(1 for task in report["tasks"] if task["status"] == "complete")
    tiles: list[tuple[Child, str]] = [
        (len(members), "members"),
        (f"{proved} of {len(members)}", "proved gone"),
        (processes, "processes seen to end"),
        (sum(len(m["salvage"]) for m in members), "salvages, read back"),
        (len(report["escalations"]), "escalations"),
    ]
    if report["tasks"]:
        tiles.append((f"{complete} of {len(report['tasks'])}", "tasks complete"))
    if report["cost_usd"] is not None:
        tiles.append((show_usd(report["cost_usd"]), "spent"))
    return el("ul", *(el("li", el("b", number), el("span", what)) for number, what in tiles), class_="tiles")


def _timelines(report: Mapping[str, Any]) -> Markup | None:
    """Return the timeline and, if it is too small there, a second one of the last stand-down."""
    members, begin = report["members"], report["began"]
    if not members:
        return None
    end = report["ended"] or max((s["to"] for m in members for s in m["spans"]), default=begin)
    pictures = [
        el("div", draw_timeline(members, begin, end, "Each member's states over time"), class_="scroll")
    ]
    last = next((s for s in reversed(report["standDowns"]) if s["to"]), None)
    if last and last["targets"] and (last["to"] - last["from"]) * _ZOOM < end - begin:
        keys = set(last["targets"])
        involved = [m for m in members if f"{m['name']}#{m['generation']}" in keys]
        picture = draw_timeline(involved, last["from"], last["to"], "The stand-down")
        pictures += [el("h2", "The stand-down, closer"), el("div", picture, class_="scroll")]
    return el("section", el("h2", "Timeline"), *pictures, legend())


# --- tables ----------------------------------------------------------------------------------------------


def _escalations(report: Mapping[str, Any]) -> list[Sequence[Child]]:
    return [
        (
            e["id"],
            e["key"],
            e["cause"],
            "; ".join(e["issues"]),
            f"{e['decision']} by {e['by']}" if e["decision"] else e["state"],
        )
        for e in report["escalations"]
    ]


def _tasks(report: Mapping[str, Any]) -> list[Sequence[Child]]:
    rows: list[Sequence[Child]] = []
    for task in read_tasks(report):
        commits = str(len(task["commits"])) if task["commits"] is not None else "not known"
        notes = [
            task["reason"],
            *map(_review, task["reviews"]),
            f"merged as {task['merged'][:10]}" if task["merged"] else "",
        ]
        rows.append((
            task["id"], task["subject"], task["result"], task["by"], commits,
            show_change(task["change"]) if task["change"] else "", _cost(task["cost_usd"]),
            join(*(el("div", note) for note in notes if note)),
        ))  # fmt: skip
    return rows


def _review(review: Mapping[str, Any]) -> str:
    said = f"{review['key']} {VERDICTS[review['verdict']]}"
    return f"{said}: {review['words']}" if review["words"] else said


def _commits(report: Mapping[str, Any]) -> list[Sequence[Child]]:
    """A row for each member with commits of its own."""
    return [
        (
            f"{m['name']}#{m['generation']}",
            el("code", m["branch"]) if m["branch"] else "no branch",
            show_change(m["change"]),
            _cost((m["usage"] or {}).get("cost_usd")),
            _commit_list(m["commits"]),
        )
        for m in report["members"]
        if m["commits"]
    ]


def _commit_list(commits: Sequence[Mapping[str, Any]]) -> Markup:
    lines = [el("div", el("code", c["commit"][:10]), " ", c["subject"]) for c in commits[:SHOWN_COMMITS]]
    more = len(commits) - SHOWN_COMMITS
    return join(*lines, el("div", f"and {more} more", class_="quiet") if more > 0 else None)


def _cost(dollars: float | None) -> str:
    return show_usd(dollars) if dollars is not None else ""


def _stand_downs(report: Mapping[str, Any]) -> list[Sequence[Child]]:
    rows: list[Sequence[Child]] = []
    for one in report["standDowns"]:
        refused = "".join(f"; {r['name']} refused: {r['reason']}" for r in one["rejectedBy"])
        took = f" in {say_seconds(one['seconds'])}" if one["seconds"] is not None else ""
        of = "the whole team" if one["wholeTeam"] else ", ".join(one["targets"])
        ended = f"{one['status'].replace('_', ' ')}{took}{refused}"
        rows.append((_since(report, one["at"]), of, one["reason"], one["by"], ended))
    return rows


def _mail(report: Mapping[str, Any]) -> list[Sequence[Child]]:
    return [
        (f"{m['to']} (meant for {m['meantFor']})" if m["meantFor"] else m["to"], m["from"], m["subject"])
        for m in report["unreadMail"]
    ]


def _story(report: Mapping[str, Any]) -> list[Sequence[Child]]:
    return [(_since(report, line["at"]), line["who"], line["what"]) for line in report["story"]]


def _run(run: Mapping[str, Any] | None) -> Markup | None:
    if run is None:
        return None
    checks = [("done" if c["done"] else "not done", c["item"], c["evidence"]) for c in run["checklist"]]
    gates = [(gate["gate"], gate["verdict"], gate["evidence"]) for gate in run["gates"]]
    result = f"git merge {run['integration']}" if run["integration"] else None
    return el(
        "section",
        el("h2", "The run"),
        el("p", run["reason"]) if run["reason"] else None,
        _list(run["notes"]),
        _table(("", "Checklist", "Evidence"), checks),
        _table(("Gate", "Verdict", "Evidence"), gates),
        join(el("p", "Take the result over with"), el("pre", result)) if result else None,
    )


def _footer(report: Mapping[str, Any]) -> Markup:
    archive = f" Receipt, mail and journal are in {report['archive']}." if report["archive"] else ""
    return el("footer", f"Read from the journal of {report['teamId']} by headcount {__version__}.{archive}")


# --- pieces ----------------------------------------------------------------------------------------------


def _section(title: str, content: Markup | None) -> Markup | None:
    return el("section", el("h2", title), content) if content else None


def _table(header: Sequence[str], rows: Sequence[Sequence[Child]]) -> Markup | None:
    if not rows:
        return None
    used = [column for column in range(len(header)) if any(row[column] not in ("", None) for row in rows)]
    header, rows = [header[i] for i in used], [[row[i] for i in used] for row in rows]
    head = el("thead", el("tr", *(el("th", word, scope="col") for word in header)))
    body = el("tbody", *(el("tr", *map(_cell, header, row)) for row in rows))
    return el("div", el("table", head, body), class_="scroll")


def _cell(heading: str, content: Child) -> Markup:
    kind = {"At": "time", "Member": "name", "Who": "name", "Id": "name", "Task": "number"}.get(heading)
    return el("td", content, class_=kind)


def _list(lines: Sequence[str]) -> Markup | None:
    return el("ul", *(el("li", line) for line in lines), class_="plain") if lines else None


def _since(report: Mapping[str, Any], at: float) -> str:
    return say_seconds(at - report["began"])


def _date(at: float | None) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(at)) if at is not None else "never"


# --- report_members --------------------------------------------------------------------------------------
#
# The rows about members and what was saved of them.


_GOOD = ("clean", "salvaged", "already_gone")


def member_rows(report: Mapping[str, Any]) -> list[Sequence[Child]]:
    return [
        (
            join(f"{m['name']}#{m['generation']}", _role(m)),
            _ended(m),
            _answer(m),
            _inspected(m),
            show_seconds(m["seconds"]),
            _work(m),
            _processes(m["processes"]),
        )
        for m in report["members"]
    ]


def salvage_rows(members: Sequence[Mapping[str, Any]]) -> list[Sequence[Child]]:
    return [
        (
            f"{member['name']}#{member['generation']}",
            join(el("code", saved["ref"]), el("p", _content(saved)), _left_out(saved)),
            el("pre", saved["restore"]),
        )
        for member in members
        for saved in member["salvage"]
    ]


_DOTS = 300  # of a member; with the default settings two days have fewer


def checkpoint_rows(members: Sequence[Mapping[str, Any]]) -> list[Sequence[Child]]:
    """Return a strip of points for each member that has checkpoints."""
    rows: list[Sequence[Child]] = []
    for member in members:
        points = member["checkpoints"]
        if points:
            counted = f"{len(points)}, {_day_and_time(points[0])} to {_day_and_time(points[-1])} UTC"
            strip = el("div", *map(_dot, points[-_DOTS:]), class_="strip")
            restore = f"headcount checkpoints restore {member['name']} --at {points[-1]['id']} --into DIR"
            rows.append(
                (f"{member['name']}#{member['generation']}", join(counted, strip), el("pre", restore))
            )
    return rows


def _dot(point: Mapping[str, Any]) -> Markup:
    files = "1 file" if point["files"] == 1 else f"{point['files']:,} files"
    return el("i", title=f"{point['id']}, {_day_and_time(point)}, {files}, {point['why']}")


def _day_and_time(point: Mapping[str, Any]) -> str:
    return str(point["at"])[:19].replace("T", " ")


def show_seconds(seconds: Mapping[str, float]) -> str:
    """Return how long a member worked and how long it did not: "5 min, idle 2 min, paused 30 s"."""
    other = [f"{name} {say_seconds(took)}" for name, took in seconds.items() if took and name != "working"]
    return ", ".join([say_seconds(seconds["working"]), *other])


def _role(member: Mapping[str, Any]) -> Markup | None:
    role = member["role"] if member["role"] != "worker" else ""
    task = f"task {member['task']}" if member["task"] else ""
    said = ", ".join(filter(None, (role, task)))
    return el("div", said, class_="quiet") if said else None


def _ended(member: Mapping[str, Any]) -> Child:
    if member["failure"]:
        return f"never started: {member['failure']}"
    outcome = member["outcome"]
    if outcome is None:
        return str(member["state"])
    bad = outcome == "stuck" or member["cause"]
    colour = "bad" if bad else "good" if outcome in _GOOD else "warn"
    return el("span", outcome_words(outcome, member["cause"]), class_=f"pill {colour}")


def _answer(member: Mapping[str, Any]) -> Child:
    if member["answer"] is None:
        return "not asked"
    return f"{member['answer']}: {member['answerReason']}" if member["answerReason"] else member["answer"]


def _inspected(member: Mapping[str, Any]) -> Child:
    times = {1: "once", 2: "twice"}.get(member["attempts"], f"{member['attempts']} times")
    if not member["attempts"]:
        times = "after its end" if member["findings"] else "never"
    return join(times, *(el("div", issue, class_="quiet") for issue in member["issues"]))


def _work(member: Mapping[str, Any]) -> Child:
    """Return where its work is, how much it is, and what it did last."""
    branch = el("div", el("code", member["branch"])) if member["branch"] else None
    used, doing = member["usage"], member["doing"]
    lines = [
        f"{len(member['salvage'])} salvaged" if member["salvage"] else "",
        count(len(member["commits"]), "commit") if member["commits"] else "",
        _usage(used) if used else "",
        f"last: {doing['text']} ({doing['at'][11:19]} UTC)" if doing else "",
    ]
    return join(branch, *(el("div", line, class_="quiet") for line in lines if line))


def _usage(used: Mapping[str, Any]) -> str:
    refused, cost = used.get("refused"), used.get("cost_usd")
    parts = [
        f"{used['tokens']:,} tokens",
        show_usd(cost) if cost else "",
        f"{refused['count']} refused: {refused['last']}" if refused else "",
    ]
    return ", ".join(filter(None, parts))


def _processes(proof: Mapping[str, Any] | None) -> Child:
    if proof is None:
        return "no proof yet"
    ended = proof.get("processes", ())
    lines = [f"{p['pid']} {p['name']}: {p['ended']}" for p in ended]
    alive = [f"{p['pid']} {p['name']} is alive" for p in proof.get("alive", ())]
    said = f"{len(ended)} ended, by {proof['method']}" if proof.get("empty") else "not proved gone"
    if not lines and not alive:
        return said
    return el("details", el("summary", said), *(el("div", line, class_="quiet") for line in lines + alive))


def _content(saved: Mapping[str, Any]) -> str:
    if saved["lost"]:
        return "missing: neither the ref nor its objects are in this repository"
    if saved["files"] is None:
        return "what is in it is in its manifest"
    number = "1 file" if saved["files"] == 1 else f"{saved['files']:,} files"
    return f"{number}, {show_bytes(saved['bytes'])}, commit {saved['commit'][:12]}"


def _left_out(saved: Mapping[str, Any]) -> Markup | None:
    """Return what a salvage left out because of a limit. It is still in the workspace."""
    if not saved["leftOut"]:
        return None
    lines = [f"{item['path']}, {show_bytes(item['size'])}: {item['why']}" for item in saved["leftOut"]]
    return el("div", "Not in it, and kept where it was: ", "; ".join(lines), class_="warn")
