"""Define the client Codex."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any

from headcount.agents.activity import edit_step, parse_arguments, show_command, tool_step
from headcount.agents.client import (
    MEMBER_VARIABLES,
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
    reset_time,
    write_file,
)

_STATE = (
    "sessions", "archived_sessions", "history.jsonl", "log", "tmp", "shell_snapshots", "session_index.jsonl",
    "models_cache.json", "version.json", ".tmp",
)  # fmt: skip


# Its sandbox keeps git directories read-only, so what must write there runs outside of it.
_RULES = "".join(
    f'prefix_rule(pattern = {json.dumps(words.split())}, decision = "allow")\n'
    for words in allowed_commands()
)
_INSTRUCTIONS = "developer_instructions"


def _trusts(root: str, environ: Mapping[str, str]) -> bool:
    projects = _read_settings(_users_directory(environ)).get("projects")
    entry = projects.get(root) if isinstance(projects, dict) else None
    return isinstance(entry, dict) and entry.get("trust_level") == "trusted"


def _users_directory(environ: Mapping[str, str]) -> str:
    return environ.get("CODEX_HOME") or f"{environ.get('HOME', '')}/.codex"


def _read_settings(directory: str) -> dict[str, Any]:
    """Return the settings; empty if there are none or they cannot be read."""
    import tomllib

    try:
        with open(f"{directory}/config.toml", "rb") as file:
            return tomllib.load(file)
    except (OSError, ValueError):
        return {}


def settings(headcount: tuple[str, ...]) -> dict[str, Any]:
    """`required`: without it the first turn does not wait for the server. The variables are named, because
    Codex hands nothing else on to a server."""
    return {
        f"mcp_servers.{SERVER}.command": headcount[0],
        f"mcp_servers.{SERVER}.args": [*headcount[1:], "mcp"],
        f"mcp_servers.{SERVER}.env_vars": list(MEMBER_VARIABLES),
        f"mcp_servers.{SERVER}.required": True,
        f"mcp_servers.{SERVER}.default_tools_approval_mode": "approve",
        # HEADCOUNT_TOKEN looks like a secret of the user's, and is the member's own.
        "shell_environment_policy.inherit": "all",
        "shell_environment_policy.ignore_default_excludes": True,
        # A login shell would take our directory off PATH, and `headcount` with it.
        "allow_login_shell": False,
    }


def _prepare(setup: Setup, environ: Mapping[str, str]) -> dict[str, str]:
    users = _users_directory(environ)
    own = f"{setup.directory}/config"
    mirror(users, own, copied=("config.toml", "rules"), left_out=(*_STATE, *_databases(users)))
    if setup.permissions != "full":
        write_file(f"{own}/rules/headcount.rules", _RULES)
    _add_instructions(own, setup.instructions)
    return {"CODEX_HOME": own}


def _add_instructions(own: str, instructions: str) -> None:
    """Add the instructions to the settings, above all tables, because other users can read a command line.

    If the user has instructions there, they stay, and ours join the user's instructions for every folder.
    """
    if _INSTRUCTIONS in _read_settings(own):
        first = f"{own}/AGENTS.override.md"  # where it is there, it is read instead of the other
        path = first if os.path.exists(first) else f"{own}/AGENTS.md"
        users = _read_text(path)
        if os.path.islink(path):
            os.unlink(path)
        write_file(path, f"{users}\n\n{instructions}" if users else instructions)
    else:
        path = f"{own}/config.toml"
        write_file(path, f"{_INSTRUCTIONS} = {json.dumps(instructions)}\n{_read_text(path)}")


def _read_text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return ""


def _databases(users: str) -> tuple[str, ...]:
    names = os.listdir(users) if os.path.isdir(users) else []
    return tuple(name for name in names if ".sqlite" in name)


def _overrides(setup: Setup) -> list[str]:
    values = settings(setup.headcount)
    values["approval_policy"] = "never"
    values["sandbox_mode"] = "danger-full-access" if setup.permissions == "full" else "workspace-write"
    # JSON of texts, lists and flags is TOML too.
    words = [word for name, value in values.items() for word in ("-c", f"{name}={json.dumps(value)}")]
    words += ["-c", f"projects={_trusted(setup)}"]
    return [*words, "-m", setup.model] if setup.model else words


def _trusted(setup: Setup) -> str:
    """Return the trusted folders: the workspace and its repository, about which Codex asks."""
    places = filter(None, (os.getcwd(), setup.repository))
    return (
        "{"
        + ", ".join(f'{json.dumps(path)} = {{trust_level = "trusted"}}' for path in dict.fromkeys(places))
        + "}"
    )


def _headless(setup: Setup, prompt: str, *resume: str) -> Turn:
    words = ["codex", "exec", *resume, *_overrides(setup), "--skip-git-repo-check", "--json", "-"]
    return Turn(words, prompt)


# What its sandbox or its rules leave of a command that they do not permit: as Codex itself recognizes it.
_DENIED = re.compile(
    r"(?i)read-only file system|operation not permitted|landlock|seccomp|codex-linux-sandbox"
)


def _read_line(line: str) -> Seen:
    event = as_event(line)
    kind = event.get("type")
    if kind == "turn.completed":
        usage = event.get("usage") or {}
        return Seen(tokens=usage.get("input_tokens", 0) + usage.get("output_tokens", 0), sum="conversation")
    if kind in ("turn.failed", "error"):
        return _read_error(str((event.get("error") or event).get("message", "")))
    if kind == "turn.started":
        return Seen(steps=(Step("waiting"),))
    item = event.get("item")
    return Seen(steps=_read_item(item, kind == "item.completed")) if isinstance(item, dict) else NOTHING


def _read_item(item: Mapping[str, Any], is_over: bool) -> tuple[Step, ...]:
    """Read one item of a turn, which the stream has when it begins and when it is over."""
    number = str(item.get("id"))
    match item.get("type"):
        case "agent_message":
            return (Step("said", str(item.get("text", ""))),)
        case "error":
            return (Step("said", str(item.get("message", ""))),)
        case "command_execution":
            begun = tool_step(number, "shell", {"command": item.get("command")})
            return (begun, *_read_end(item, number)) if is_over else (begun,)
        case "file_change":
            changes = item.get("changes") or []
            return (edit_step(number, [str(change.get("path")) for change in changes]),)
        case "mcp_tool_call":
            name = str(item.get("tool"))
            name = name if item.get("server") == SERVER else f"{item.get('server')} {name}"
            return (tool_step(number, name, {}), *((Step("result", "", number),) if is_over else ()))
        case "web_search":
            return (tool_step(number, "web_search", item),)
        case _:
            return ()


def _read_end(item: Mapping[str, Any], number: str) -> tuple[Step, ...]:
    """Return the end of a command. Codex asks nobody: its sandbox lets the command fail."""
    output, failed = str(item.get("aggregated_output") or ""), item.get("exit_code") not in (0, None)
    ended = Step("result", output, number, failed=failed)
    if item.get("status") == "declined" or (failed and _DENIED.search(output)):
        return Step("refused", show_command(item.get("command")), number), ended
    return (ended,)


def _read_error(text: str) -> Seen:
    low = text.lower()
    if "context window" in low or "context_length" in low:
        return Seen(overflow=text)
    if "401 unauthorized" in low:
        return Seen(login=text)
    if "usage limit" in low or re.search(r"\b429\b", low) or "rate limit" in low:
        return Seen(limit=text, resets_at=reset_time(text))
    return NOTHING


def _read_record(line: str) -> Seen:
    """Read one line of a rollout."""
    event = as_event(line)
    payload = event.get("payload")
    if not isinstance(payload, dict):
        return NOTHING
    if event.get("type") == "token_usage_record":
        usage = payload.get("usage") or {}
        tokens = usage.get("input_tokens", 0) + usage.get("output_tokens", 0)
        return Seen(tokens=tokens, answer=str(payload.get("response_id") or ""))
    number = str(payload.get("call_id"))
    match payload.get("type"):
        case "task_started":
            return Seen(turn="begun", steps=(Step("waiting"),))
        case "task_complete":
            error = payload.get("error") or {}
            return _read_error(str(error.get("message", "")))._replace(turn="ended")
        case "function_call":
            arguments = parse_arguments(payload.get("arguments"))
            return Seen(steps=(tool_step(number, str(payload.get("name")), arguments),))
        case "custom_tool_call":
            return Seen(steps=(tool_step(number, str(payload.get("name")), {"input": payload.get("input")}),))
        case "item_completed" if isinstance(item := payload.get("item"), dict):
            return Seen(steps=_read_recorded(item))
        case _:
            return NOTHING


def _read_recorded(item: Mapping[str, Any]) -> tuple[Step, ...]:
    number = str(item.get("id"))
    match item.get("type"):
        case "UserMessage" | "AgentMessage" as kind:
            text = "\n".join(str(part.get("text", "")) for part in item.get("content") or [])
            return (Step("told" if kind == "UserMessage" else "said", text),)
        case "CommandExecution":
            return _read_end(item, number)
        case "McpToolCall" | "FileChange":
            return (Step("result", "", number),)
        case _:
            return ()


CLIENT = Client(
    name="codex",
    title="Codex",
    package="@openai/codex",
    oldest=(0, 166, 0),
    trusts=_trusts,
    trust_hint="Run `codex` in {root} once, and accept its question about trust",
    prepare=_prepare,
    first_turn=lambda setup, prompt: _headless(setup, prompt),
    next_turn=lambda setup, prompt: _headless(setup, prompt, "resume", "--last"),
    terminal=lambda setup, prompt: ["codex", *_overrides(setup), "--", prompt],
    read_line=_read_line,
    screen=Screen(
        ready=r"Working \(|Worked for|default · /",
        dialog=r"(?i)trust this folder|enter continue|sign in with|press enter to",
        # A marked choice, and no prompt below: that begins with the same mark.
        asks=r"^› \d+\. (?![\s\S]*^›( |$))",
    ),
    exit_text="/quit",
    conversations=("config/sessions", "config/archived_sessions"),
    record=Record("config/sessions/**/*.jsonl", _read_record, in_turns="usage"),
)
