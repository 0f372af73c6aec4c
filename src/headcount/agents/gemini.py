"""Gemini CLI."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headcount.agents.client import (
    MEMBER_VARIABLES,
    NOTHING,
    SERVER,
    Client,
    Seen,
    Setup,
    as_event,
    mirror,
    read_json,
    reset_time,
    server_command,
    write_file,
    write_json,
)

_STATE = (
    "tmp",
    "history",
    "settings.json",
    "trustedFolders.json",
    "projects.json",
    "installation_id",
    "state.json",
)


def _mcp_servers(setup: Setup) -> dict[str, Any]:
    """The variables by reference: it hands a cleaned environment on to servers, and no token is on disk."""
    program, arguments = server_command(setup)
    env = {name: f"${name}" for name in MEMBER_VARIABLES}
    return {SERVER: {"command": program, "args": arguments, "env": env, "trust": True}}


def _prepare(setup: Setup, environ: Mapping[str, str]) -> dict[str, str]:
    users = f"{environ.get('GEMINI_CLI_HOME') or environ.get('HOME', '')}/.gemini"
    own = f"{setup.directory}/config"
    mirror(users, f"{own}/.gemini", left_out=_STATE)
    settings = read_json(f"{users}/settings.json")
    settings["mcpServers"] = {**settings.get("mcpServers", {}), **_mcp_servers(setup)}
    settings["security"] = {
        **settings.get("security", {}),
        "folderTrust": {"enabled": False},
        # HEADCOUNT_TOKEN looks like a secret of the user's, and is the member's own.
        "environmentVariableRedaction": {"enabled": False},
    }
    settings["general"] = {**settings.get("general", {}), "enableAutoUpdate": False}
    write_json(f"{own}/.gemini/settings.json", settings)
    write_file(f"{setup.directory}/instructions.md", setup.instructions)
    return {"GEMINI_CLI_HOME": own}


def _command(setup: Setup, prompt_word: str, prompt: str) -> list[str]:
    words = ["gemini", "--approval-mode", "yolo" if setup.permissions == "full" else "auto_edit"]
    if setup.permissions != "full":
        words += ["--allowed-tools", "run_shell_command(git),run_shell_command(headcount)"]
    if setup.model:
        words += ["--model", setup.model]
    return [*words, prompt_word, prompt]


def _first(setup: Setup, prompt: str) -> list[str]:
    # It has no word for instructions: they come with the first prompt, and stay in the conversation.
    told = f"{setup.instructions}\n\n{prompt}"
    return [*_command(setup, "-p", told), "-o", "stream-json", "--session-id", setup.session]


def _next(setup: Setup, prompt: str) -> list[str]:
    return [*_command(setup, "-p", prompt), "-o", "stream-json", "--resume", "latest"]


def _read_line(line: str) -> Seen:
    event = as_event(line)
    if event.get("type") not in ("result", "error"):
        return NOTHING
    tokens = int((event.get("stats") or {}).get("total_tokens", 0))
    return _read_error(str((event.get("error") or event).get("message", "")), tokens)


def _read_error(text: str, tokens: int) -> Seen:
    low = text.lower()
    if "token count" in low and "exceed" in low:
        return Seen(tokens=tokens, overflow=text[:500])
    if "resource_exhausted" in low or "quota" in low or "429" in low:
        return Seen(tokens=tokens, limit=text[:500], resets_at=reset_time(text))
    return Seen(tokens=tokens)


CLIENT = Client(
    name="gemini",
    title="Gemini CLI",
    package="@google/gemini-cli",
    oldest=(0, 61, 0),
    prepare=_prepare,
    first_turn=_first,
    next_turn=_next,
    # In a terminal it writes to the user's own directory, whatever GEMINI_CLI_HOME says (seen with 0.61.0).
    terminal=None,
    read_line=_read_line,
    screen=None,
    exit_text="/quit",
)
