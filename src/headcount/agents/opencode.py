"""Define the client opencode."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from headcount.agents.activity import tool_step
from headcount.agents.client import (
    NOTHING,
    SERVER,
    Client,
    Record,
    Screen,
    Seen,
    Setup,
    Step,
    Turn,
    allowed_commands,
    as_event,
    mirror,
    read_json,
    reset_time,
    server_command,
    write_file,
    write_json,
)

_PLUGIN = f"file://{os.path.dirname(os.path.abspath(__file__))}/opencode_plugin.js"

# Nobody sits at a member's terminal to be asked.
_NO_QUESTIONS = {"question": "deny", "plan_enter": "deny", "plan_exit": "deny", "doom_loop": "deny"}
_SHELL = {
    "*": "deny",
    **{f"{words}{rest}": "allow" for words in allowed_commands() for rest in ("", " *")},
}


def _may_edit(setup: Setup) -> dict[str, Any]:
    """Return its permissions. The last rule that matches decides, and it matches each part of a command."""
    shell = dict(_SHELL)
    for patterns, decision in ((setup.allow, "allow"), (setup.deny, "deny")):
        for pattern in patterns:
            for rule in (pattern, pattern.removesuffix(" *")):
                shell.pop(rule, None)
                shell[rule] = decision
    return {**_NO_QUESTIONS, "edit": "allow", "bash": shell, "external_directory": "deny"}


_MAY_ALL = {
    **_NO_QUESTIONS,
    "edit": "allow",
    "bash": "allow",
    "webfetch": "allow",
    "external_directory": "allow",
}


# It has no question about trust: it loads the plugins and servers of any folder. So headcount starts it
# without the repository's settings, unless the user has set this variable of opencode's to false.
_NO_PROJECT = "OPENCODE_DISABLE_PROJECT_CONFIG"


def _reads_project(environ: Mapping[str, str]) -> bool:
    return environ.get(_NO_PROJECT, "").lower() in ("0", "false")


def mcp_servers(program: str, arguments: list[str]) -> dict[str, Any]:
    return {SERVER: {"type": "local", "command": [program, *arguments], "enabled": True}}


def _prepare(setup: Setup, environ: Mapping[str, str]) -> dict[str, str]:
    home = environ.get("HOME", "")
    own = f"{setup.directory}/config"
    # It has no directory variable of its own for all that it writes; so the user's desktop directories are
    # mirrored, and what other programs keep there is still where they look for it.
    places = {"XDG_CONFIG_HOME": ".config", "XDG_DATA_HOME": ".local/share", "XDG_STATE_HOME": ".local/state"}
    moved = {}
    for variable, default in places.items():
        users = environ.get(variable) or f"{home}/{default}"
        moved[variable] = f"{own}/{default}"
        mirror(users, moved[variable], left_out=("opencode",))
        mirror(
            f"{users}/opencode",
            f"{moved[variable]}/opencode",
            copied=_copied(variable),
            left_out=_left(variable),
        )
    _settle_packages(f"{moved['XDG_CONFIG_HOME']}/opencode")
    write_file(f"{setup.directory}/instructions.md", setup.instructions)
    settings = {
        "plugin": [_PLUGIN],
        "mcp": mcp_servers(*server_command(setup)),
        "permission": _MAY_ALL if setup.permissions == "full" else _may_edit(setup),
        "instructions": [f"{setup.directory}/instructions.md", *_texts(environ)],
        "autoupdate": False,
        "share": "disabled",
    }
    moved["OPENCODE_CONFIG_CONTENT"] = json.dumps(settings)
    return moved if _reads_project(environ) else {**moved, _NO_PROJECT: "true"}


def _texts(environ: Mapping[str, str]) -> list[str]:
    """Return the repository's instructions, which opencode omits together with its settings."""
    if _reads_project(environ):
        return []
    found = (f"{os.getcwd()}/{name}" for name in ("AGENTS.md", "CLAUDE.md"))
    return [path for path in found if os.path.isfile(path)][:1]


def _settle_packages(directory: str) -> None:
    """Mark its plugin package as installed, unless the user's plugins need missing packages.

    Otherwise opencode lets npm install it before it loads a plugin, and needs the network each time.
    """
    wanted = read_json(f"{directory}/package.json").get("dependencies") or {}
    if wanted and not os.path.exists(f"{directory}/node_modules"):
        return
    os.makedirs(f"{directory}/node_modules", exist_ok=True)
    have = {**wanted, "@opencode-ai/plugin": "*"}
    write_json(f"{directory}/package-lock.json", {"packages": {"": {"dependencies": have}}})


def _copied(variable: str) -> tuple[str, ...]:
    names = (
        "opencode.json",
        "opencode.jsonc",
        "config.json",
        "package.json",
        "bun.lock",
        "package-lock.json",
    )
    return names if variable == "XDG_CONFIG_HOME" else ()


def _left(variable: str) -> tuple[str, ...]:
    """Return entries that start empty: of its data only the login is the user's."""
    if variable == "XDG_CONFIG_HOME":
        return ()
    return ("storage", "log", "snapshot", "project", "opencode.db", "opencode.db-wal", "opencode.db-shm",
            "tool-output", "worktree", "repos")  # fmt: skip


def _headless(setup: Setup, prompt: str, *more: str) -> Turn:
    words = ["opencode", "run", "--format", "json", *more]
    return Turn([*words, *(["--model", setup.model] if setup.model else [])], prompt)


def _terminal(setup: Setup, prompt: str) -> list[str]:
    """Return the arguments in a terminal. The prompt is one word, because it may begin with a dash."""
    return ["opencode", *(["--model", setup.model] if setup.model else []), f"--prompt={prompt}"]


def _read_line(line: str) -> Seen:
    """Read one event, of the stream or of the record that our plugin keeps."""
    event = as_event(line)
    part = event.get("part") or {}
    match event.get("type"):
        case "text":
            return Seen(steps=(Step("said", str(part.get("text", ""))),))
        case "tool_use":
            return Seen(steps=_read_tool(part))
        case "step_finish":
            tokens = part.get("tokens") or {}
            total = sum(tokens.get(name, 0) for name in ("input", "output", "reasoning"))
            waits = (Step("waiting"),) if part.get("reason") == "tool-calls" else ()
            cost = part.get("cost") or 0.0
            return Seen(total, answer=str(part.get("id") or ""), cost_usd=cost, steps=waits)
        case "error":
            return _read_error(event.get("error") or {})
        case _:
            return NOTHING


def _read_tool(part: Mapping[str, Any]) -> tuple[Step, ...]:
    number, state = str(part.get("callID")), part.get("state") or {}
    begun = tool_step(number, str(part.get("tool")), state.get("input"))
    if state.get("status") not in ("completed", "error"):
        return (begun,)
    failed, error = state.get("status") == "error", str(state.get("error") or "")
    failed = failed or (state.get("metadata") or {}).get("exit") not in (0, None)
    if "specified a rule which prevents" in error or "rejected permission" in error:
        return begun, Step("refused", "", number), Step("result", "", number)
    return begun, Step("result", str(state.get("output") or error), number, failed=failed)


def _read_error(error: Mapping[str, Any]) -> Seen:
    data = error.get("data") or {}
    text = f"{error.get('name', '')}: {data.get('message', '')}"
    if "overflow" in text.lower() or "context length" in text.lower():
        return Seen(overflow=text)
    if data.get("statusCode") == 429 or "rate limit" in text.lower():
        return Seen(limit=text, resets_at=reset_time(json.dumps(data)))
    return NOTHING


CLIENT = Client(
    name="opencode",
    title="opencode",
    package="opencode-ai",
    oldest=(1, 18, 33),
    trusts=lambda root, environ: True,
    trust_hint="",
    prepare=_prepare,
    first_turn=lambda setup, prompt: _headless(setup, prompt),
    next_turn=lambda setup, prompt: _headless(setup, prompt, "--continue"),
    terminal=_terminal,
    read_line=_read_line,
    screen=Screen(
        ready=r"ctrl\+p commands|esc interrupt",
        dialog=r"(?i)permission required|connect a provider|select (auth|provider|model)|update available",
        # Buttons in the place of the prompt, or a window above everything, with its way out in the title.
        asks=r"△ (?=[\s\S]*\benter confirm\b)(?![\s\S]*ctrl\+p commands)|^ {20,}\S.* {3,}esc *$",
    ),
    conversations=(
        "events.jsonl",
        *(
            f"config/.local/share/opencode/{name}"
            for name in ("storage", "opencode.db", "opencode.db-wal", "opencode.db-shm", "snapshot")
        ),
    ),
    exit_text="/exit",
    hooked=True,
    record=Record("events.jsonl", _read_line, in_turns="all"),
)
