"""Say in one sentence what a team made, what it cost, and what of it is not proved.

The sentence claims nothing that the report does not show. "Nothing lost" is only said of a closed team whose
every workspace was inspected, and is clean or saved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headcount.domain.display import show_usd
from headcount.domain.findings import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Member = Mapping[str, Any]

SHOWN_COMMITS = 20  # of a member; `headcount log` has the rest
VERDICTS = {"pass": "passed it", "changes": "asked for changes"}
_UNITS = ((86_400, "day", 3_600, "hour"), (3_600, "hour", 60, "minute"))
_MINUTES_FROM_S = 90


def summarize(report: Mapping[str, Any], until: float) -> str:
    """Return the sentence. `until` is when the team ended, or now."""
    parts = [
        _agents(report["members"]),
        _time(report, until),
        _tasks(report["tasks"]),
        _commits(report["members"]),
        _reviews(report["run"]),
        *_ends(report["members"]),
        *_losses(report),
        _cost(report),
    ]
    said = ", ".join(part for part in parts if part)
    return f"{said[:1].upper()}{said[1:]}."


def count(number: int, noun: str, nouns: str = "") -> str:
    """Return "no commits", "one commit" or "8 commits"."""
    if number == 1:
        return f"one {noun}"
    return f"{f'{number:,}' if number else 'no'} {nouns or noun + 's'}"


def show_duration(seconds: float) -> str:
    """Return a duration in words: "45 seconds", "9 minutes", "2 hours 5 minutes"."""
    if seconds < 1:
        return "under a second"
    if round(seconds) < _MINUTES_FROM_S:
        return count(round(seconds), "second")
    if round(seconds / 60) < _MINUTES_FROM_S:
        return count(round(seconds / 60), "minute")
    for large_s, large, small_s, small in _UNITS:
        if seconds >= large_s:
            whole, rest = divmod(round(seconds / small_s), large_s // small_s)
            return count(whole, large) + (f" {count(rest, small)}" if rest else "")
    raise AssertionError(seconds)


def show_change(change: Mapping[str, int]) -> str:
    """Return the size of a change: "+120 -4 in 3 files"."""
    return f"+{change['added']:,} -{change['removed']:,} in {count(change['files'], 'file')}"


def count_commits(members: Sequence[Member]) -> tuple[set[str], set[str]]:
    """Return the commits and the branches that have them. A successor has its predecessor's, too."""
    made = [m for m in members if m["commits"]]
    return {c["commit"] for m in made for c in m["commits"]}, {m["branch"] or m["name"] for m in made}


def read_tasks(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return each task with its result: by which member, in which commits, at which cost."""
    run = report["run"] or {}
    of_run = {task["id"]: task for task in run.get("tasks", ())}
    return [
        _read_task(report, task, of_run.get(task["id"], {}), run.get("reviews", ()))
        for task in report["tasks"]
    ]


def _read_task(
    report: Mapping[str, Any],
    task: Mapping[str, Any],
    of_run: Mapping[str, Any],
    reviews: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    # A member that took a second task has commits of both. They are shown with its last one.
    crew = [m for m in report["members"] if m["task"] == task["id"]]
    worker = next((m for m in reversed(crew) if m["role"] == "worker"), None)
    paid = [m["usage"]["cost_usd"] for m in crew if m["usage"] and "cost_usd" in m["usage"]]
    return {
        "id": task["id"],
        "subject": task["subject"],
        "result": of_run.get("state") or task["status"],
        "by": of_run.get("worker") or task["owner"] or "",
        "reason": task["reason"],
        "merged": of_run.get("commit"),
        "commits": worker["commits"] if worker else [],
        "change": worker["change"] if worker else None,
        "cost_usd": sum(paid) if paid else None,
        "reviews": [review for review in reviews if review["task"] == task["id"]],
    }


def _agents(members: Sequence[Member]) -> str:
    started = {m["name"] for m in members if not m["failure"]}
    failed = {m["name"] for m in members if m["failure"]} - started
    never = f", {count(len(failed), 'agent')} never started" if failed else ""
    return f"{count(len(started), 'agent')}{never}"


def _time(report: Mapping[str, Any], until: float) -> str:
    if report["began"] is None:
        return ""
    took = show_duration(until - report["began"])
    return took if report["ended"] is not None else f"{took} so far"


def _tasks(tasks: Sequence[Mapping[str, Any]]) -> str:
    complete = sum(task["status"] == "complete" for task in tasks)
    return f"{complete} of {count(len(tasks), 'task')} complete" if tasks else ""


def _commits(members: Sequence[Member]) -> str:
    commits, branches = count_commits(members)
    unknown = sum(m["commits"] is None and not m["failure"] for m in members)
    on = f" on {count(len(branches), 'branch', 'branches')}" if commits else ""
    doubt = f" (those of {count(unknown, 'agent')} not known)" if unknown else ""
    return f"{count(len(commits), 'commit')}{on}{doubt}"


def _reviews(run: Mapping[str, Any] | None) -> str:
    asked = sum(review["verdict"] == "changes" for review in run["reviews"]) if run else 0
    return f"{count(asked, 'review')} asked for changes" if asked else ""


def _ends(members: Sequence[Member]) -> list[str]:
    """Return how members ended that did not end by themselves, and those that have not ended."""
    kinds: list[tuple[Callable[[Member], bool], str]] = [
        (lambda m: m["outcome"] == "forced", "stopped by force"),
        (lambda m: bool(m["cause"]), "failed"),
        (lambda m: m["state"] == "stuck" or m["outcome"] == "stuck", "could not be stopped"),
        (_is_unproved, "not fully proved gone"),
        (lambda m: m["state"] not in ("gone", "stuck"), "still there"),
    ]
    counted = [(sum(map(fits, members)), words) for fits, words in kinds]
    return [f"{count(number, 'agent')} {words}" for number, words in counted if number]


def _is_unproved(member: Member) -> bool:
    if member["state"] != "gone" or member["failure"]:
        return False
    proof = member["processes"]
    return proof is None or not proof.get("empty") or bool(proof.get("doubt"))


def _losses(report: Mapping[str, Any]) -> list[str]:
    gone = [m for m in report["members"] if m["state"] == "gone" and not m["failure"]]
    removed = sum(_has_removed(m) for m in gone)
    missing = sum(bool(saved["lost"]) for m in gone for saved in m["salvage"])
    unread = sum(m["findings"] is None and not m["salvage"] for m in gone)
    unsaved = sum(_is_unsaved(m) for m in gone)
    said = [
        f"{count(removed, 'workspace')} removed before it was saved" if removed else "",
        f"{count(missing, 'salvage')} missing" if missing else "",
        f"the work of {count(unread, 'agent')} not inspected" if unread else "",
        f"the work of {count(unsaved, 'agent')} not saved, in a workspace that was kept" if unsaved else "",
    ]
    found = [words for words in said if words]
    return found or (["nothing lost"] if report["ended"] is not None else [])


def _has_removed(member: Member) -> bool:
    items = (member["findings"] or {}).get("items", ())
    return any(item["kind"] == Kind.MISSING for item in items)


def _is_unsaved(member: Member) -> bool:
    found = member["findings"]
    return bool(found and not found["spotless"] and not member["salvage"] and not _has_removed(member))


def _cost(report: Mapping[str, Any]) -> str:
    """Return what the clients say it cost, and how many say nothing."""
    used = [m["usage"] for m in report["members"] if m["usage"]]
    silent = sum("cost_usd" not in one for one in used)
    if report["cost_usd"] is None:
        return "cost not reported" if silent else ""
    doubt = f" (without {count(silent, 'agent')} that reported none)" if silent else ""
    return f"{show_usd(report['cost_usd'])}{doubt}"
