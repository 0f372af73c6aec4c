"""Define the client Gemini CLI."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping
from typing import Any

from headcount.agents.activity import tool_step
from headcount.agents.client import (
    HOOK_LIMIT_S,
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
    fingerprint,
    mirror,
    read_json,
    reset_time,
    server_command,
    write_file,
    write_json,
    write_permit,
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
_INSTRUCTIONS = "headcount-member.md"  # one more name for the words that it reads at every start
# Its events, and what `headcount hook` calls the same moment.
_HOOKS = {
    "BeforeAgent": "UserPromptSubmit",
    "AfterTool": "PostToolUse",
    "AfterAgent": "Stop",
}
# Nobody sits at a member's terminal: what would open a dialog there is denied, as it is without one.
_ASKS = """\
[[rule]]
toolName = ["ask_user", "enter_plan_mode"]
decision = "deny"
priority = 500
"""
# `argsPattern`: a rule for every command would take the whole tool away. Before a command, headcount's hook
# asks (`cli/member/hook.py`) and adds `permit` to the description of one that is allowed. Without the hook,
# or if it fails, the command has none and is denied.
_MAY_EDIT = """\
[[rule]]
toolName = "run_shell_command"
argsPattern = "{permit}"
decision = "allow"
priority = 310

[[rule]]
toolName = "run_shell_command"
commandPrefix = {allowed}
allowRedirection = true
decision = "allow"
priority = 300

[[rule]]
toolName = "run_shell_command"
argsPattern = "."
decision = "deny"
priority = 290

[[rule]]
toolName = "activate_skill"
decision = "deny"
priority = 290

[[rule]]
mcpName = "*"
toolName = "*"
decision = "deny"
priority = 5
"""


def _mcp_servers(setup: Setup) -> dict[str, Any]:
    """Return the MCP servers with variables by reference, so that no token is on disk."""
    program, arguments = server_command(setup)
    env = {name: f"${name}" for name in (*MEMBER_VARIABLES, "HEADCOUNT_CLIENT_DIRECTORY")}
    return {SERVER: {"command": program, "args": arguments, "env": env, "trust": True}}


def _hooks(setup: Setup, users: Mapping[str, Any]) -> dict[str, Any]:
    """Return the user's hooks, then ours."""
    merged = dict(users)
    for event, ours in _HOOKS.items():
        command = shlex.join([*setup.headcount, "hook", ours])
        hook = {"type": "command", "name": SERVER, "command": command, "timeout": HOOK_LIMIT_S * 1000}
        merged[event] = [*users.get(event, []), {"hooks": [hook]}]
    if setup.permissions != "full":
        limit_s = setup.ask_timeout_s + HOOK_LIMIT_S
        asks = shlex.join([*setup.headcount, "hook", "BeforeTool"])
        hook = {"type": "command", "name": SERVER, "command": asks, "timeout": int(limit_s * 1000)}
        before = {"matcher": "^run_shell_command$", "hooks": [hook]}
        merged["BeforeTool"] = [*users.get("BeforeTool", []), before]
    return merged


def _trusts(root: str, environ: Mapping[str, str]) -> bool:
    """Return whether Gemini CLI trusts the folder: by variable, by setting, or by the longest rule."""
    said = environ.get("GEMINI_CLI_TRUST_WORKSPACE")
    if environ.get("GEMINI_RESTRICTED_MODE") == "true" or said in ("true", "false"):
        return said == "true" and environ.get("GEMINI_RESTRICTED_MODE") != "true"
    users = _users_directory(environ)
    security = read_json(f"{users}/settings.json").get("security")
    switch = security.get("folderTrust") if isinstance(security, dict) else None
    if isinstance(switch, dict) and switch.get("enabled") is False:
        return True
    rules = read_json(environ.get("GEMINI_CLI_TRUSTED_FOLDERS_PATH") or f"{users}/trustedFolders.json")
    found = [(len(path), level) for path, level in rules.items() if _is_above(path, level, root)]
    return bool(found) and max(found, key=lambda rule: rule[0])[1] in ("TRUST_FOLDER", "TRUST_PARENT")


def _is_above(path: str, level: object, root: str) -> bool:
    above = os.path.realpath(os.path.dirname(path) if level == "TRUST_PARENT" else path)
    return os.path.commonpath([above, os.path.realpath(root)]) == above


def _users_directory(environ: Mapping[str, str]) -> str:
    return f"{environ.get('GEMINI_CLI_HOME') or environ.get('HOME', '')}/.gemini"


_VARIABLES = ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS")
_WAYS = ("GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA", "GOOGLE_CLOUD_PROJECT", "CLOUD_SHELL")


def _account(environ: Mapping[str, str]) -> str:
    """It reads variables from files named `.env`, too; where one is, it may log in by it."""
    users = _users_directory(environ)
    found = next((environ[name] for name in _VARIABLES if environ.get(name)), "")
    found = found or str(read_json(f"{users}/google_accounts.json").get("active") or "")
    if found:
        return fingerprint(found)
    security = read_json(f"{users}/settings.json").get("security")
    chosen = security.get("auth") if isinstance(security, dict) else None
    way = str(chosen.get("selectedType") or "") if isinstance(chosen, dict) else ""
    way = way or next((name for name in _WAYS if environ.get(name)), "")
    files = (f"{users}/.env", f"{environ.get('HOME', '')}/.env", ".env", ".gemini/.env")
    return way or next((path for path in files if os.path.exists(path)), "")


def _prepare(setup: Setup, environ: Mapping[str, str]) -> dict[str, str]:
    users = _users_directory(environ)
    own = f"{setup.directory}/config"
    mirror(users, f"{own}/.gemini", left_out=_STATE)
    settings = read_json(f"{users}/settings.json")
    settings["mcpServers"] = {**settings.get("mcpServers", {}), **_mcp_servers(setup)}
    settings["hooks"] = _hooks(setup, settings.get("hooks", {}))
    settings["security"] = {
        **settings.get("security", {}),
        # The user trusts the repository, and the workspace is a worktree of it.
        "folderTrust": {"enabled": False},
        # HEADCOUNT_TOKEN looks like a secret of the user's, and is the member's own.
        "environmentVariableRedaction": {"enabled": False},
    }
    context = settings.get("context", {})
    named = context.get("fileName", "GEMINI.md")
    names = named if isinstance(named, list) else [named]
    settings["context"] = {**context, "fileName": [*names, _INSTRUCTIONS]}
    write_file(f"{own}/.gemini/{_INSTRUCTIONS}", setup.instructions)
    settings["general"] = {**settings.get("general", {}), "enableAutoUpdate": False}
    write_json(f"{own}/.gemini/settings.json", settings)
    policy = _ASKS
    if setup.permissions != "full":
        policy += "\n" + _MAY_EDIT.format(permit=write_permit(setup), allowed=json.dumps(allowed_commands()))
    write_file(_policy(setup), policy)
    return {"GEMINI_CLI_HOME": own}


def _policy(setup: Setup) -> str:
    return f"{setup.directory}/policy.toml"


def _command(setup: Setup) -> list[str]:
    words = ["gemini", "--approval-mode", "yolo" if setup.permissions == "full" else "auto_edit"]
    words += ["--policy", _policy(setup)]
    return [*words, "--model", setup.model] if setup.model else words


def _first(setup: Setup, prompt: str) -> Turn:
    words = [*_command(setup), "-o", "stream-json", "--session-id", setup.session]
    return Turn(words, prompt)


def _next(setup: Setup, prompt: str) -> Turn:
    return Turn([*_command(setup), "-o", "stream-json", "--resume", "latest"], prompt)


def _terminal(setup: Setup, prompt: str) -> list[str]:
    words = [*_command(setup), "--prompt-interactive", prompt]
    return [*words, "--session-id", setup.session]


def _read_line(line: str) -> Seen:
    event = as_event(line)
    number = str(event.get("tool_id"))
    match event.get("type"):
        case "init":
            return Seen(steps=(Step("waiting"),))
        case "message":
            kind = "said" if event.get("role") == "assistant" else "told"
            text, partial = str(event.get("content", "")), event.get("delta") is True
            return Seen(steps=(Step(kind, text, partial=partial),))
        case "tool_use":
            return Seen(steps=(tool_step(number, str(event.get("tool_name")), event.get("parameters")),))
        case "tool_result":
            is_denied = (event.get("error") or {}).get("type") == "policy_violation"
            refused = (Step("refused", "", number),) if is_denied else ()
            failed = event.get("status") == "error"
            ended = Step("result", str(event.get("output", "")), number, failed=failed)
            return Seen(steps=(*refused, ended))
        case "result" | "error" as kind:
            tokens = int((event.get("stats") or {}).get("total_tokens", 0))
            text = str((event.get("error") or event).get("message", ""))
            seen = _read_error(text, tokens)._replace(sum="turn" if kind == "result" else "")
            final = kind == "result" and event.get("status") == "error" and not seen.limit
            return seen._replace(error=text or "its turn failed") if final else seen
        case _:
            return NOTHING


def _read_error(text: str, tokens: int) -> Seen:
    low = text.lower()
    if "token count" in low and "exceed" in low:
        return Seen(tokens=tokens, overflow=text[:500])
    if "resource_exhausted" in low or "quota" in low or re.search(r"\b429\b", low):
        return Seen(tokens=tokens, limit=text[:500], resets_at=reset_time(text))
    return Seen(tokens=tokens)


def _read_record(line: str) -> Seen:
    """Read one line of a conversation. The hook reports that a turn has ended well."""
    event = as_event(line)
    if _is_prompt(event):
        text = "\n".join(str(part.get("text", "")) for part in event["content"])
        return Seen(turn="begun", steps=(Step("told", text),))
    if event.get("type") == "error":
        return _read_error(str(event.get("content")), 0)._replace(turn="ended")
    if event.get("type") != "gemini":
        return NOTHING
    # It writes an answer when it arrives, and once more with the results of its tools.
    calls = event.get("toolCalls")
    said = () if calls or not event.get("content") else (Step("said", str(event["content"])),)
    ends = tuple(step for call in calls or () for step in _read_call(call))
    tokens = (event.get("tokens") or {}).get("total", 0)
    return Seen(tokens=tokens, answer=str(event.get("id")), steps=(*said, *ends))


def _read_call(call: Mapping[str, Any]) -> tuple[Step, ...]:
    number = str(call.get("id"))
    begun = tool_step(number, str(call.get("name")), call.get("args"))
    shown = call.get("resultDisplay")
    output = shown if isinstance(shown, str) else ""
    failed = call.get("status") in ("error", "cancelled")
    is_denied = failed and "denied by policy" in json.dumps(call.get("result"))
    refused = (Step("refused", "", number),) if is_denied else ()
    return begun, *refused, Step("result", output, number, failed=failed)


def _is_prompt(event: Mapping[str, Any]) -> bool:
    """Return whether an event is a prompt of the user, not a result of a tool."""
    content = event.get("content")
    return (
        event.get("type") == "user" and isinstance(content, list) and any("text" in part for part in content)
    )


CLIENT = Client(
    name="gemini",
    title="Gemini CLI",
    package="@google/gemini-cli",
    oldest=(0, 61, 0),
    trusts=_trusts,
    trust_hint="Run `gemini` in {root} once, and accept its question about trust",
    account=_account,
    prepare=_prepare,
    first_turn=_first,
    next_turn=_next,
    terminal=_terminal,
    read_line=_read_line,
    screen=Screen(
        ready=r"Type your message|esc to cancel|Usage limit reached for",
        dialog=r"(?i)do you trust the (files|following)|would you like to auth|waiting for auth|select theme|"
        r"enter gemini api key|action required|allow execution of|apply this change\?",
        # A marked choice in a frame, and no prompt below.
        asks=r"^[│ ]*● +\d+\. (?!Keep trying)(?![\s\S]*^ [*>!]( |$))",
        limit=r"(?s:Usage limit reached for.{,2000}?● 1\. Keep trying)",
    ),
    exit_text="/quit",
    hooked=True,
    conversations=("config/.gemini/tmp", "config/.gemini/history"),
    record=Record("config/.gemini/tmp/*/chats/*.jsonl", _read_record, in_turns="usage"),
    login_hint="Run `gemini` once and log in, or set GEMINI_API_KEY",
    writes_when_asked="GEMINI_CLI_HOME",
)
