"""Who waits for something outside of the team, as `status` and `run` show it: a limit's end, an answer."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any

from headcount.cli.terminal import plain


def describe_limits(team: str, limits: list[dict[str, Any]]) -> list[str]:
    """Who, until when and why; then what happens next, and what can be done instead of waiting."""
    if not limits:
        return []
    lines = [
        f"  Usage limit: {one['member']} is parked until {_clock(one['until'])}: {plain(one['reason'])}"
        for one in limits
    ]
    name = limits[0]["member"].partition("#")[0]
    wait = "Nobody is started until it is over; then it goes on by itself."
    return [*lines, f"  {wait} To go on without it: `headcount down {team} --member {name}`."]


def describe_dialogs(dialogs: list[dict[str, Any]]) -> list[str]:
    return [
        f"  Waiting: {one['member']} needs a person since {_clock(one['since'])}: {plain(one['text'])} "
        f"(`{one['attach']}`)"
        for one in dialogs
    ]


def _clock(until: str) -> str:
    """On the user's clock; with the day, if it is another one."""
    at = datetime.fromisoformat(until).astimezone()
    same_day = at.date() == datetime.fromtimestamp(time.time()).date()
    return at.strftime("%H:%M:%S" if same_day else "%a %d %b %H:%M")
