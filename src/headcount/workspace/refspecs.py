"""Settings of remotes by which a plain `git fetch` or `git push` deletes refs of headcount."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from headcount.workspace.programs import Entry

_OURS = "refs/headcount/"
_YES = ("true", "yes", "on", "1")


class Risk(NamedTuple):
    """What a remote's settings would delete, and the command that keeps it from doing so."""

    what: str
    do: str


def find_risks(entries: Iterable[Entry]) -> list[Risk]:
    """Find fetch refspecs with prune, and mirror pushes, that cover `refs/headcount/*`."""
    values: dict[str, list[str]] = {}
    for key, value in entries:
        values.setdefault(key, []).append("true" if value is None else value)
    risks = []
    for name in dict.fromkeys(_remote(key) for key in values if _remote(key)):
        own = f"remote.{name}"
        if _is_on(values, f"{own}.prune", "fetch.prune"):
            risks += [
                Risk(
                    f"`git fetch {name}` deletes salvages: it prunes, and {refspec} covers {_OURS}*",
                    f"git config {own}.prune false",
                )
                for refspec in values.get(f"{own}.fetch", ())
                if _covers(_target(refspec))
            ]
        if _is_on(values, f"{own}.mirror") or any(map(_covers, map(_pushed, values.get(f"{own}.push", ())))):
            risks.append(
                Risk(
                    f"`git push {name}` publishes {_OURS}*, which holds unfinished work of members",
                    f"git config --unset {own}.mirror; git config {own}.push 'refs/heads/*:refs/heads/*'",
                )
            )
    return risks


def _remote(key: str) -> str:
    section, _, rest = key.partition(".")
    return rest.rpartition(".")[0] if section == "remote" else ""


def _is_on(values: dict[str, list[str]], *keys: str) -> bool:
    """The first of these settings that is set decides; its last value counts."""
    found = next((values[key][-1] for key in keys if key in values), "")
    return found.lower() in _YES


def _target(refspec: str) -> str:
    """Where it writes. A negative refspec, and one without a target, writes nowhere."""
    source, colon, target = refspec.removeprefix("+").partition(":")
    return "" if source.startswith("^") else target if colon else ""


def _pushed(refspec: str) -> str:
    """What it sends; a negative refspec sends nothing."""
    source = refspec.removeprefix("+").partition(":")[0]
    return "" if source.startswith("^") else source


def _covers(pattern: str) -> bool:
    before, star, _ = pattern.partition("*")
    return bool(star) and (_OURS.startswith(before) or before.startswith(_OURS))
