"""The rows about members and what was saved of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headcount.web.html import Child, Markup, el, join

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_GOOD = ("clean", "salvaged", "already_gone")
_UNITS = ("bytes", "KB", "MB", "GB", "TB")


def member_rows(report: Mapping[str, Any]) -> list[Sequence[Child]]:
    return [
        (
            join(f"{m['name']}#{m['generation']}", _role(m)),
            _ended(m),
            _answer(m),
            _looked_at(m),
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


def say_bytes(number: int) -> str:
    size, unit = float(number), 0
    while size >= 1000 and unit < len(_UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:.0f} {_UNITS[unit]}" if unit == 0 else f"{size:.1f} {_UNITS[unit]}"


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
    colour = "good" if outcome in _GOOD else "bad" if outcome == "stuck" else "warn"
    said = "exited on its own" if outcome == "already_gone" else outcome
    return el("span", said, class_=f"pill {colour}")


def _answer(member: Mapping[str, Any]) -> Child:
    if member["answer"] is None:
        return "not asked"
    return f"{member['answer']}: {member['answerReason']}" if member["answerReason"] else member["answer"]


def _looked_at(member: Mapping[str, Any]) -> Child:
    times = {1: "once", 2: "twice"}.get(member["attempts"], f"{member['attempts']} times")
    if not member["attempts"]:
        times = "after its end" if member["findings"] else "never"
    return join(times, *(el("div", issue, class_="quiet") for issue in member["issues"]))


def _work(member: Mapping[str, Any]) -> Child:
    branch = el("div", el("code", member["branch"])) if member["branch"] else None
    saved = el("div", f"{len(member['salvage'])} salvaged", class_="quiet") if member["salvage"] else None
    return join(branch, saved)


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
    if saved["files"] is None:
        return "what is in it is in its manifest"
    number = "1 file" if saved["files"] == 1 else f"{saved['files']:,} files"
    return f"{number}, {say_bytes(saved['bytes'])}, commit {saved['commit'][:12]}"


def _left_out(saved: Mapping[str, Any]) -> Markup | None:
    """What is over a limit stays in the workspace, which is kept: said here so that nobody looks in vain."""
    if not saved["leftOut"]:
        return None
    lines = [f"{item['path']}, {say_bytes(item['size'])}: {item['why']}" for item in saved["leftOut"]]
    return el("div", "Not in it, and kept where it was: ", "; ".join(lines), class_="warn")
