"""The two promises, looked at from outside: with git, /proc and the archive, not with the code under test.

And the journal against the invariants: each step that became durable is taken again and looked at by the same
checkers as in the simulator; between two steps nothing may have changed.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

from headcount.protocol.step import step
from tests.support.invariants import OVER_HISTORIES, check
from tests.support.onlooker import Seen, Step, remember

from .story import TEAM, expected
from .watch import read_account

# On a busy machine ben may be too slow for its short limits; then it is escalated, and saved instead.
OUTCOMES = {"ada": ("clean",), "ben": ("clean", "forced"), "cy": ("forced",), "dee": ("forced",)}


def problems(place: str) -> list[str]:
    """Everything that is not as promised, in words; nothing when all is well."""
    return [
        *(f"alive: {who}" for who in alive(place)),
        *(f"lost: {what}" for what in lost(place)),
        *_ledger(place),
        *_account(f"{place}/.headcount/state.db"),
    ]


# --- no agent is left ------------------------------------------------------------------------------------


def alive(place: str) -> list[str]:
    """Every process that has to do with this place by its environment or command line, zombies left out."""
    needle = os.fsencode(f"{place}/")
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            told = b"".join(Path(f"/proc/{pid}/{name}").read_bytes() for name in ("environ", "cmdline"))
            if needle in told and int(pid) != os.getpid():
                found.append(f"{pid} {Path(f'/proc/{pid}/cmdline').read_bytes()!r}")
        except (OSError, ValueError):
            continue
    return found


# --- no work is lost -------------------------------------------------------------------------------------


def lost(place: str) -> list[str]:
    kept = reachable_blobs(place)
    return [
        f"{content[:40]!r} of {name}"
        for name, contents in expected(place).items()
        for content in contents
        if content.encode() not in kept
    ]


def reachable_blobs(place: str) -> set[bytes]:
    """The content of every file that some ref leads to; reflogs do not count."""
    git = ["git", "-C", place]
    listed = subprocess.run(
        [*git, "rev-list", "--objects", "--all", "--no-object-names"], capture_output=True, check=True
    ).stdout
    output = subprocess.run(
        [*git, "cat-file", "--batch", "--buffer"], input=listed, capture_output=True, check=True
    ).stdout
    blobs = set()
    at = 0
    while at < len(output):
        header, _, _ = output[at:].partition(b"\n")
        _, kind, size = header.split()
        start = at + len(header) + 1
        if kind == b"blob":
            blobs.add(output[start : start + int(size)])
        at = start + int(size) + 1
    return blobs


# --- nothing is done twice that may not be ----------------------------------------------------------------


def _ledger(place: str) -> list[str]:
    archives = sorted(os.listdir(f"{place}/.headcount/archive"))
    if archives != [f"{TEAM}-1"]:
        return [f"archives: {archives}"]
    archive = f"{place}/.headcount/archive/{TEAM}-1"
    receipt = json.loads(Path(f"{archive}/receipt.json").read_text())
    journal = [json.loads(line) for line in Path(f"{archive}/journal.jsonl").read_text().splitlines()]
    mail = [json.loads(line) for line in Path(f"{archive}/mail.jsonl").read_text().splitlines()]
    return [*_outcomes(receipt, journal), *_once(journal, mail), *_places(place)]


def _outcomes(receipt: dict[str, Any], journal: list[dict[str, Any]]) -> list[str]:
    found = [
        f"{m['name']} ended as {m['outcome']}"
        for m in receipt["members"]
        if m["outcome"] not in OUTCOMES[m["name"]]
    ]
    ends = Counter(entry["about"] for entry in journal if entry["kind"] == "gone")
    found += [f"{key} ended {count} times" for key, count in ends.items() if count != 1]
    if len(receipt["members"]) != len(OUTCOMES) or len(ends) != len(OUTCOMES):
        found.append(f"{len(receipt['members'])} members in the receipt, {len(ends)} ends")
    return found


def _once(journal: list[dict[str, Any]], mail: list[dict[str, Any]]) -> list[str]:
    asked = Counter((m["to"], m["request_id"]) for m in mail if m["type"] == "shutdown_request")
    escalated = [m for m in mail if m["template"] == "WORKER_ESCALATION"]
    opened = [e for e in journal if e["kind"] == "escalated"]
    found = [f"{who} was asked {count} times" for who, count in asked.items() if count != 1]
    if len(escalated) != len(opened):
        found.append(f"{len(opened)} escalations, {len(escalated)} mails")
    failed = [e["data"] for e in journal if e["kind"] in ("act_failed", "start_failed", "quarantined")]
    return [*found, *(f"a bug: {data}" for data in failed)]


def _places(place: str) -> list[str]:
    """Only the user's own worktree is left, and the user's own files are as they were."""
    git = ["git", "-C", place]
    trees = subprocess.run(
        [*git, "worktree", "list", "--porcelain"], capture_output=True, text=True, check=True
    )
    found = [line for line in trees.stdout.splitlines() if line.startswith("worktree ")][1:]
    if Path(f"{place}/README").read_text() != "hello\n":
        found.append("the user's README was changed")
    return found


# --- the journal against the invariants -------------------------------------------------------------------


def _account(database: str) -> list[str]:
    """Take every durable step again. `before` of each must be `after` of the one before it."""
    seen: dict[str, Seen] = {}
    last = None
    for before, event, policy in read_account(database):
        if last is not None and before != last:
            return [f"the team changed between two steps, before {event}"]
        after, ready = step(before, event, policy)
        taken = Step(before, event, after, ready)
        seen = remember(seen, taken)
        try:
            check(taken, seen, OVER_HISTORIES)
        except AssertionError as violation:
            return [str(violation)]
        last = after
    return [] if last is not None else ["no step was taken at all"]
