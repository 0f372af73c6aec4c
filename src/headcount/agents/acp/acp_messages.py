"""What the messages of an ACP agent mean: errors, usage, tool calls and permission requests.

An agent may send anything, so a value that is missing or has the wrong type counts as empty.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from typing import Any

from headcount.agents.acp.acp_link import Message, Refused
from headcount.agents.client import Seen, checked, reset_time
from headcount.agents.host import Wanted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

LIMIT = re.compile(
    r"(?i)\b429\b|rate.?limit|usage.?limit|\bquota\b|resource.?exhausted|too many requests|exceed.{1,20}limit"
)
_OVERFLOW = re.compile(r"(?i)context (window|length)|context_length|prompt is too long|token count.*exceed")
_LOGIN = re.compile(
    r"(?i)\b401\b|unauthori[sz]ed|not logged in|authentication|log ?in required|invalid api key"
)
_DOING = {"execute": "running", "edit": "editing", "delete": "deleting", "move": "moving", "read": "reading",
          "search": "searching", "fetch": "fetching"}  # fmt: skip
# A tool of our server, in the spellings of the agents that we know.
_OWN_TOOL = re.compile(r"(?:mcp__)?headcount(?:__|[-_/.:])\w+|\w+ \(headcount MCP Server\)")


def as_refused(error: object) -> Refused:
    given = error if isinstance(error, dict) else {"message": error}
    code, data = given.get("code"), given.get("data")
    more = f" ({json.dumps(data)[:500]})" if data else ""
    text = f"{given.get('message')}{more}".encode(errors="replace").decode()
    return Refused(code if isinstance(code, int) else 0, text)


def read_trouble(text: str, *, login: bool = False) -> Seen:
    """Return what an error means, in the words of the agent."""
    text = " ".join(text.split())[:500]
    if _OVERFLOW.search(text):
        return Seen(overflow=text, error=text)
    if LIMIT.search(text):
        return Seen(limit=text, resets_at=reset_time(text))
    if login or _LOGIN.search(text):
        return Seen(login=text, error=text)
    return Seen(error=text)


def inner(message: Message, *names: str) -> Message:
    """Return the object below these names; empty if there is none, because an agent may send anything."""
    for name in names:
        found = message.get(name)
        message = found if isinstance(found, dict) else {}
    return message


def listed(value: object) -> list[Message]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _paths(call: Message) -> list[str]:
    return [str(one.get("path")) for one in listed(call.get("locations"))]


def count_tokens(usage: Mapping[str, Any]) -> int:
    """Return the tokens of a usage, whichever way an agent spells it."""
    total = checked(Seen(usage.get("totalTokens", 0))).tokens
    names = ("inputTokens", "outputTokens", "input_tokens", "output_tokens")
    return total or sum(checked(Seen(usage.get(name, 0))).tokens for name in names)


def count_turn_tokens(result: Message) -> int:
    """Return the tokens of a turn, from the answer to its prompt."""
    return max(
        count_tokens(inner(result, "usage")), count_tokens(inner(result, "_meta", "quota", "token_count"))
    )


def describe_call(call: Message) -> str:
    """Return a tool call as an activity: "running pytest -q", "editing src/x.py"."""
    kind, title = str(call.get("kind") or ""), str(call.get("title") or "")
    command = inner(call, "rawInput").get("command")
    if kind == "execute" and isinstance(command, str):
        return f"running {command}"
    paths = _paths(call)
    if kind in ("edit", "delete", "move", "read") and paths and paths[0]:
        return f"{_DOING[kind]} {os.path.relpath(paths[0])}"
    if kind in _DOING and title:
        return title if title.lower().startswith(_DOING[kind][:4]) else f"{_DOING[kind]}: {title}"
    return title


def read_wanted(call: Message, *, titled: bool = False) -> Wanted:
    """Return what a permission request is about. `titled`: the title of a command is its command line."""
    given, kind = inner(call, "rawInput"), str(call.get("kind") or "")
    title, command = str(call.get("title") or kind or "something"), given.get("command")
    if isinstance(command, list):
        command = shlex.join(map(str, command))
    elif titled and kind == "execute":
        command = title
    shown = [str(inner(part, "content").get("text") or "") for part in listed(call.get("content"))]
    detail = json.dumps(given, indent=2, ensure_ascii=False) if given else "\n".join(shown)
    if kind == "execute":
        line = command if isinstance(command, str) else ""
        return Wanted("command", line or title, "" if line else detail, line, os.getcwd())
    return Wanted("edit" if kind in ("edit", "delete", "move") else "tool", title, detail, "", os.getcwd())


def is_own(call: Message, workspace: str) -> bool:
    """Return whether a call is one of headcount's tools, or an edit of files in the workspace."""
    kind = str(call.get("kind") or "other")
    if kind in ("other", "read", "think") and "command" not in inner(call, "rawInput"):
        names = (str(call.get("title") or ""), str(call.get("name") or ""))
        if any(_OWN_TOOL.fullmatch(name) for name in names):
            return True
    if kind != "edit":
        return False
    paths, root = _paths(call), os.path.realpath(workspace)
    try:
        real = [os.path.realpath(os.path.join(root, path)) for path in paths]
    except ValueError:  # no file can have this name
        return False
    return bool(real) and all(path.startswith(f"{root}/") for path in real)


def choose(options: list[Message], allowed: bool) -> Message:
    """Return the outcome that allows or rejects once. Without such an option the request is cancelled."""
    kind = "allow_once" if allowed else "reject_once"
    for one in options:
        if one.get("kind") == kind and isinstance(one.get("optionId"), str):
            return {"outcome": "selected", "optionId": one["optionId"]}
    return {"outcome": "cancelled"}
