"""Describe journal entries for people: one sentence for each entry that matters to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from headcount.ports import Entry


def tell(entry: Entry) -> str | None:
    """Return a sentence about `entry.about`, or None for entries that are only for the record."""
    teller = _TELL.get(entry.kind)
    return teller(entry.data) if teller else None


def whom(entry: Entry) -> str:
    """Return the subject of the sentence."""
    if entry.kind.startswith("task_") and "#" not in entry.about:
        return f"task {entry.about}"
    return entry.about or "team"


def _moved(data: Mapping[str, Any]) -> str | None:
    if data["from"] == data["to"]:
        return {"idle": "reported idle", "stalled": "shows no progress; nudged"}.get(data["cue"])
    return {
        ("starting", "running"): "started",
        ("asked", "inspecting"): "its workspace is inspected",
        ("nudged", "inspecting"): "signalled done again; its workspace is inspected again",
        ("running", "inspecting"): "its workspace is inspected",
        ("verified", "inspecting"): "its workspace is inspected again",
        ("stopping", "killing"): "did not stop; SIGKILL to all of its processes",
    }.get((data["from"], data["to"]))


def _answered(data: Mapping[str, Any]) -> str:
    if data["answer"] == "unanswered":
        return "did not answer in time"
    if data["answer"] == "rejected":
        return f"refused: {data['reason']}"
    return "approved" if data["answer"] == "approved" else "exited instead of answering"


def _dirty(data: Mapping[str, Any]) -> str:
    return f"sent back: {'; '.join(data['issues'])}"


def _gone(data: Mapping[str, Any]) -> str:
    return f"proved gone ({data['outcome'] or 'never started'})"


def _said_state(data: Mapping[str, Any], of: str) -> str | None:
    return None if data["from"] == data["to"] else f"{of}{data['to'].replace('_', ' ')}"


def _members(count: int) -> str:
    return f"{count} member" if count == 1 else f"{count} members"


def _quoted(words: str) -> str:
    return f" ({words})" if words else ""


_VERDICT = {"pass": "review passed", "changes": "changes requested"}


def _task_moved(data: Mapping[str, Any]) -> str | None:
    """Return the steps of a task that matter to people."""
    return {
        "begin": "begins",
        "done": "done and clean; under review",
        "changes": "goes back to its worker",
        "empty_handed": "goes back to its worker: nothing was committed",
        "passed": "both reviews passed; merging",
        "merged": "merged into the integration branch",
        "over_complete": "complete",
        "over_blocked": "blocked",
    }.get(data["cue"])


_TELL: dict[str, Callable[[Mapping[str, Any]], str | None]] = {
    "moved": _moved,
    "start_failed": lambda d: f"could not be started: {d['reason']}",
    "stand_down": lambda d: f"stand-down of {_members(len(d['targets']))} requested",
    "answered": _answered,
    "all_answered": lambda _: "all have answered; inspecting all members",
    "answers_not_awaited": lambda _: "not waiting for answers, as the operator decided",
    "rejected": lambda _: "withdrawn: a member refused; no member was stopped",
    "verified_clean": lambda _: "clean",
    "found_dirty": _dirty,
    "escalated": lambda d: f"escalated ({d['escalation']}): {'; '.join(d['issues'])}",
    "decided": lambda d: f"decided by {d['by']}: {d['decision']}{_quoted(d.get('reason', ''))}",
    "policy_changed": lambda d: f"{d['key']} set to {d['new']} by {d['by']}; it was {d['old']}",
    "notify_failed": lambda d: (
        f"a notification by {d['way']} failed ({d['why']}); further failures are not shown"
    ),
    "failed": lambda d: f"failed: {d['cause']}",
    "turn_failed": lambda d: f"a turn failed: {d['cause']}" if d.get("cause") else None,
    "turn_rest_ended": lambda d: f"ended what its failed turn left: {', '.join(d['processes'])}",
    "exited": lambda d: f"exited: {d['detail']}" if d["detail"] else "exited",
    "state_put_back": lambda _: "the state was deleted, and was restored",
    "salvaged": lambda d: f"saved to {d['ref']}, and read back",
    "task_moved": _task_moved,
    "task_reviewed": lambda d: f"{d['key'].partition('#')[0]}: {_VERDICT[d['verdict']]}{_quoted(d['words'])}",
    "stuck": lambda d: f"stuck: {', '.join(d['alive'])} alive",
    "gone": _gone,
    "discarded": lambda d: (
        f"deleted by the operator: {d['path']} ({d['files']:,} files, {d['bytes']:,} bytes)"
    ),
    "skipped": lambda d: f"not saved, can be built again: {', '.join(one['path'] for one in d['paths'])}",
    "workspace_removed": lambda _: "workspace removed; everything in it is reachable",
    "parked": lambda d: (
        f"left to a person by {d['by']}: stopped only after a new decision{_quoted(d.get('reason', ''))}"
    ),
    "limited": lambda d: f"at a usage limit, parked until {d['until']}: {d['reason']}",
    "limit_over": lambda _: "continues: its usage limit is over",
    "dialog": lambda d: f"needs a person: {d['text']}",
    "dialog_over": lambda _: "continues: it needs no person any more",
    "ask": lambda d: f"requests permission ({d['ask']}): {d['title']}",
    "ask_answered": lambda d: f"{d['answer']} by {d['by']}: {d['title']}{_quoted(d['reason'])}",
    "ask_moot": lambda d: f"its permission request {d['ask']} is moot ({d['reason']}): {d['title']}",
    "held": lambda d: f"is started when the usage limit of {d['limited']} is over",
    "paused": lambda d: f"paused by {d['by']}",
    "resumed": lambda d: f"resumed by {d['by']}",
    "handover": lambda _: "hands over to its next generation",
    "refused": lambda d: f"was refused ({str(d['action']).replace('_', ' ')}): {d['why']}",
    "task_restarted": lambda d: f"given out again: {d['why']}",
    "task_blocked": lambda d: f"blocked: {d['reason']}",
    "gate": lambda d: f"{d['gate']} gate: {d['verdict']}",
    "phase_moved": lambda d: _said_state(d, "run: "),
    "phase_blocked": lambda d: f"run blocked: {d['reason']}",
    "closing": lambda _: "all members are gone: closing",
    "shutdown": lambda _: "closed",
}
