"""What `headcount init` adds to a client's project files, for sessions that a person runs in the repository:
headcount's tools, and, where the client has hooks, word of new mail. Members need none of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from headcount.agents import claude, opencode
from headcount.agents.client import SERVER

# By name, not by path: these files are shared through the repository.
_HEADCOUNT = ("headcount",)
_BEGIN, _END = "# headcount: begin", "# headcount: end"


class Change(NamedTuple):
    path: str
    add: Callable[[str | None], str]
    """The file's text, or None where there is none, with ours in it. ValueError: it cannot be read."""
    remove: Callable[[str], str] | None
    why: str


def lead_hooks() -> dict[str, Any]:
    """Return hooks for the session of a lead, which show waiting mail at its next prompt."""
    hook = {"type": "command", "command": "headcount hook UserPromptSubmit --lead", "timeout": 10}
    return {"UserPromptSubmit": [{"hooks": [hook]}]}


def _json_change(path: str, section: str, ours: Mapping[str, Any], why: str) -> Change:
    """`ours` under `section`; in a list, our entries after the user's."""

    def add(text: str | None) -> str:
        settings = _parse(text)
        there = _section(settings, section)
        for name, value in ours.items():
            if isinstance(value, list):
                theirs = _entries(there, name)
                there[name] = theirs + [item for item in value if item not in theirs]
            else:
                there[name] = value
        return text if text is not None and settings == _parse(text) else _dump(settings, text)

    def remove(text: str) -> str:
        settings = _parse(text)
        there = _section(settings, section)
        for name, value in ours.items():
            theirs = _entries(there, name) if isinstance(value, list) else []
            rest = [item for item in theirs if item not in value]
            if rest:
                there[name] = rest
            else:
                there.pop(name, None)
        if not there:
            settings.pop(section, None)
        return _dump(settings, text)

    return Change(path, add, remove, why)


def _parse(text: str | None) -> dict[str, Any]:
    settings = json.loads(text) if text and text.strip() else {}
    if not isinstance(settings, dict):
        raise ValueError("it is not an object")
    return settings


def _section(settings: dict[str, Any], name: str) -> dict[str, Any]:
    there = settings.setdefault(name, {})
    if not isinstance(there, dict):
        raise ValueError(f"{name} is not an object")
    return there


def _entries(section: dict[str, Any], name: str) -> list[Any]:
    there = section.get(name, [])
    if not isinstance(there, list):
        raise ValueError(f"{name} is not a list")
    return there


def _dump(settings: dict[str, Any], text: str | None) -> str:
    """Return JSON with the file's own indentation, to keep the diff small."""
    found = re.search(r"\n([ \t]+)\S", text or "")
    return json.dumps(settings, indent=found[1] if found else 2, ensure_ascii=False) + "\n"


def _block_change(path: str, block: str, why: str) -> Change:
    marked = f"{_BEGIN}\n{block}{_END}\n"

    def add(text: str | None) -> str:
        text = text or ""
        if marked in text:
            return text
        if f"[mcp_servers.{SERVER}]" in text:
            raise ValueError(f"it has a server {SERVER} that is not ours")
        return text + ("" if not text or text.endswith("\n") else "\n") + marked

    return Change(path, add, lambda text: text.replace(marked, ""), why)


_TOOLS = "headcount's tools, as an MCP server"
_PLAIN = {"command": "headcount", "args": ["mcp"]}
_CODEX = f'[mcp_servers.{SERVER}]\ncommand = "headcount"\nargs = ["mcp"]\nrequired = true\n'

PROJECT_FILES: dict[str, tuple[Change, ...]] = {
    "claude": (
        _json_change(".mcp.json", "mcpServers", claude.mcp_servers(_HEADCOUNT), _TOOLS),
        _json_change(
            ".claude/settings.json", "hooks", lead_hooks(), "word of mail for the lead, at its next prompt"
        ),
    ),
    "codex": (_block_change(".codex/config.toml", _CODEX, _TOOLS),),
    "gemini": (_json_change(".gemini/settings.json", "mcpServers", {SERVER: _PLAIN}, _TOOLS),),
    "opencode": (_json_change("opencode.json", "mcp", opencode.mcp_servers(*_HEADCOUNT, ["mcp"]), _TOOLS),),
}
