"""Define the client Claude Code."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from headcount.agents.activity import tool_step
from headcount.agents.client import (
    HOOK_LIMIT_S,
    NOTHING,
    SERVER,
    Client,
    LoginCheck,
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
    write_file,
    write_json,
)
from headcount.domain.names import PERMISSION_PROMPT_LISTED

# What it may do unasked with permissions = "edit"; besides its files, which `acceptEdits` allows.
ALLOWED = (f"mcp__{SERVER}", *(f"Bash({words}:*)" for words in allowed_commands()))
# Without a terminal it asks for everything else through this tool, and waits for the answer.
_PROMPT_TOOL = f"mcp__{SERVER}__permission_prompt"
# Its own state: begins anew for each incarnation, so that nothing of it is written beside the user's.
_STATE = (
    "projects", "todos", "tasks", "teams", "statsig", "shell-snapshots", "session-env", "sessions", "jobs",
    "file-history", "history.jsonl", "debug", "logs", "cache", "backups", "telemetry", "paste-cache", "ide",
    "image-cache",
)  # fmt: skip


def hooks(headcount: tuple[str, ...]) -> dict[str, Any]:
    """Return hooks that pass events of Claude Code to `headcount hook`."""
    return {
        event: [{"hooks": [_hook(headcount, event)]}]
        for event in ("UserPromptSubmit", "PostToolUse", "Stop", "PreCompact", "SessionEnd")
    }


def _hook(headcount: tuple[str, ...], event: str) -> dict[str, Any]:
    # As a program and its arguments: no shell looks at them.
    return {
        "type": "command",
        "command": headcount[0],
        "args": [*headcount[1:], "hook", event],
        "timeout": HOOK_LIMIT_S,
    }


def mcp_servers(headcount: tuple[str, ...]) -> dict[str, Any]:
    """Return the MCP servers. With `alwaysLoad` the tools are in the first request, not behind a search."""
    program, *arguments = headcount
    return {SERVER: {"command": program, "args": [*arguments, "mcp"], "alwaysLoad": True}}


_TRUST = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}


def _read_about_user(environ: Mapping[str, str]) -> dict[str, Any]:
    """Read `.claude.json`: next to the default directory, or inside a named one."""
    named = environ.get("CLAUDE_CONFIG_DIR")
    home = environ.get("HOME", "")
    return read_json(f"{named or f'{home}/.claude'}/.claude.json") or read_json(f"{home}/.claude.json")


def _trusts(root: str, environ: Mapping[str, str]) -> bool:
    """Return whether Claude Code trusts the folder. It does not search above a repository's root."""
    projects = _read_about_user(environ).get("projects")
    entry = projects.get(root) if isinstance(projects, dict) else None
    return isinstance(entry, dict) and entry.get("hasTrustDialogAccepted") is True


# In the order in which Claude Code prefers them.
_CLOUDS = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")
_KEYS = ("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN")


def _users_directory(environ: Mapping[str, str]) -> str:
    return environ.get("CLAUDE_CONFIG_DIR") or f"{environ.get('HOME', '')}/.claude"


def _account(environ: Mapping[str, str]) -> str:
    users = _users_directory(environ)
    settings = read_json(f"{users}/settings.json")
    own = settings.get("env")
    variables = {**environ, **(own if isinstance(own, dict) else {})}
    for name in _CLOUDS:
        if variables.get(name):
            return name
    keys = [variables[name] for name in _KEYS if variables.get(name)]
    about = _read_about_user(environ)
    login = about.get("oauthAccount")
    keys += [str(login.get("accountUuid") or "")] if isinstance(login, dict) else []
    keys += [str(about.get("primaryApiKey") or ""), str(settings.get("apiKeyHelper") or "")]
    found = next(filter(None, keys), "")
    if found:
        return fingerprint(found)
    return "subscription" if os.path.exists(f"{users}/.credentials.json") else ""


def _prepare(setup: Setup, environ: Mapping[str, str]) -> dict[str, str]:
    users = _users_directory(environ)
    own = f"{setup.directory}/config"
    mirror(users, own, copied=("settings.json",), left_out=(*_STATE, ".claude.json"))
    # The workspace is a worktree of the repository that the user trusts.
    projects = {os.getcwd(): _TRUST, setup.repository: _TRUST}
    key = environ.get("ANTHROPIC_API_KEY", "")[-20:]
    write_json(
        f"{own}/.claude.json",
        {
            **_read_about_user(environ),
            "hasCompletedOnboarding": True,
            "bypassPermissionsModeAccepted": True,
            "customApiKeyResponses": {"approved": [key] if key else [], "rejected": []},
            "projects": projects,
        },
    )
    servers = mcp_servers(setup.headcount)
    write_json(f"{setup.directory}/mcp.json", {"mcpServers": servers})
    servers[SERVER]["env"] = {PERMISSION_PROMPT_LISTED: "1"}
    write_json(f"{setup.directory}/mcp-headless.json", {"mcpServers": servers})
    # In a terminal it would make itself the desktop's handler for its links, in the user's own files.
    settings = {"hooks": hooks(setup.headcount), "disableDeepLinkRegistration": "disable"}
    write_json(f"{setup.directory}/settings.json", settings)
    write_file(f"{setup.directory}/instructions.md", setup.instructions)
    return {"CLAUDE_CONFIG_DIR": own, "MCP_CONNECTION_NONBLOCKING": "0", "DISABLE_AUTOUPDATER": "1"}


def _command(setup: Setup, servers: str, allowed: tuple[str, ...] = ()) -> list[str]:
    full = setup.permissions == "full"
    words = [
        "claude",
        *("--mcp-config", f"{setup.directory}/{servers}", "--strict-mcp-config"),
        *("--settings", f"{setup.directory}/settings.json"),
        *("--permission-mode", "bypassPermissions" if full else "acceptEdits"),
        *("--append-system-prompt-file", f"{setup.directory}/instructions.md"),
    ]
    if not full:
        words += ["--allowedTools", ",".join((*ALLOWED, *allowed))]
    return [*words, "--model", setup.model] if setup.model else words


def _headless(setup: Setup, prompt: str, session: str) -> Turn:
    words = [*_command(setup, "mcp-headless.json"), "--permission-prompt-tool", _PROMPT_TOOL]
    words += [session, setup.session, "--output-format", "stream-json", "--verbose", "-p"]
    return Turn(words, prompt)


def _terminal(setup: Setup, prompt: str) -> list[str]:
    """Its own rules decide in a terminal, where it asks the person who sits there."""
    words = _command(setup, "mcp.json", tuple(map(rule, setup.allow)))
    denied = ",".join(map(rule, setup.deny))
    words += ["--disallowedTools", denied] if denied else []
    return [*words, "--session-id", setup.session, "--", prompt]


def rule(pattern: str) -> str:
    """Return a pattern as a rule of Claude Code, which also matches simple commands only."""
    first, star, _ = pattern.rpartition(" *")
    return f"Bash({first}:*)" if star and pattern.endswith(" *") else f"Bash({pattern})"


def _read_line(line: str) -> Seen:
    event = as_event(line)
    kind = event.get("type")
    if kind == "rate_limit_event":
        info = event.get("rate_limit_info") or {}
        if info.get("status") == "rejected":
            return Seen(limit="usage limit reached", resets_at=info.get("resetsAt"))
    if kind == "assistant" and event.get("error") == "authentication_failed":
        return Seen(login="authentication_failed")
    if kind in ("assistant", "user"):
        return _read_message(event)
    if kind == "system" and event.get("subtype") == "init":
        return Seen(steps=(Step("waiting"),))
    # With a prompt tool someone was asked: then the denial is an answer.
    if kind == "system" and event.get("subtype") == "permission_denied":
        asked = event.get("decision_reason_type") == "permissionPromptTool"
        number = str(event.get("tool_use_id"))
        return NOTHING if asked else Seen(steps=(Step("refused", str(event.get("message", "")), number),))
    return _read_result(event) if kind == "result" else NOTHING


def _read_result(event: Mapping[str, Any]) -> Seen:
    text = str(event.get("result", ""))
    seen = Seen(_tokens(event.get("usage") or {}), cost_usd=event.get("total_cost_usd") or 0.0, sum="turn")
    if not event.get("is_error"):
        return seen
    if "too long" in text.lower() or event.get("terminal_reason") == "prompt_too_long":
        return seen._replace(overflow=text)
    if event.get("api_error_status") == 429 or "limit" in text.lower():
        return seen._replace(limit=text, resets_at=reset_time(text))
    login = text if event.get("api_error_status") == 401 else ""
    return seen._replace(login=login, error=text or str(event.get("subtype") or ""))


def _read_message(event: Mapping[str, Any]) -> Seen:
    """Read a message of the model or of a tool, in the stream or in a transcript."""
    message = event.get("message")
    if not isinstance(message, dict):
        return NOTHING
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    steps = (_read_block(block, event["type"]) for block in blocks if isinstance(block, dict))
    tokens, answer = _tokens(message.get("usage") or {}), str(message.get("id") or "")
    return Seen(tokens, answer=answer, steps=tuple(filter(None, steps)))


def _read_block(block: Mapping[str, Any], speaker: str) -> Step | None:
    match block.get("type"):
        case "text":
            return Step("said" if speaker == "assistant" else "told", str(block.get("text") or ""))
        case "tool_use":
            return tool_step(block.get("id"), str(block.get("name")), block.get("input"))
        case "tool_result":
            text, failed = _text(block.get("content")), block.get("is_error") is True
            return Step("result", text, str(block.get("tool_use_id")), failed=failed)
        case _:
            return None


def _text(content: object) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content or "")


def _tokens(usage: Mapping[str, Any]) -> int:
    return sum(value for name, value in usage.items() if name.endswith("_tokens") and isinstance(value, int))


def _read_record(line: str) -> Seen:
    """Read one line of a transcript. The work of a subagent is part of the turn that started it."""
    event = as_event(line)
    kind = event.get("type")
    if kind == "user":
        is_prompt = event.get("promptSource") and not event.get("isSidechain")
        return _read_message(event)._replace(turn="begun" if is_prompt else "")
    if kind == "system" and event.get("subtype") == "turn_duration":
        return Seen(turn="ended")
    if kind != "assistant":
        return NOTHING
    if not event.get("isApiErrorMessage"):
        return _read_message(event)
    text = _text((event.get("message") or {}).get("content"))
    if event.get("error") == "rate_limit" or event.get("apiErrorStatus") == 429:
        resets_at = (event.get("quotaLimits") or {}).get("resetsAt")
        return Seen(limit=text, resets_at=resets_at or reset_time(text), turn="ended")
    if "too long" in text.lower():
        return Seen(overflow=text, turn="ended")
    if event.get("apiErrorStatus") == 401:
        return Seen(login=text, turn="ended")
    return NOTHING


CLIENT = Client(
    name="claude",
    title="Claude Code",
    package="@anthropic-ai/claude-code",
    oldest=(2, 1, 177),
    trusts=_trusts,
    trust_hint="Run `claude` in {root} once, and accept its question about trust",
    account=_account,
    prepare=_prepare,
    first_turn=lambda setup, prompt: _headless(setup, prompt, "--session-id"),
    next_turn=lambda setup, prompt: _headless(setup, prompt, "--resume"),
    terminal=_terminal,
    read_line=_read_line,
    screen=Screen(
        ready=r"^\s*❯",
        dialog=r"(?i)do you trust|enter to confirm|do you want to (proceed|use|make|create)|select login",
        # No prompt, which is a line between two rules, and a marked choice, or else the keys of a form.
        asks=r"\A(?![\s\S]*^─{10,}.*\n❯)(?:[\s\S]*^ *❯ \d+\. |"
        r"[\s\S]*\b(?:Esc to (?:cancel|exit|close|go back)|Enter to (?:confirm|select|submit))\b)",
    ),
    exit_text="/exit",
    hooked=True,
    conversations=("config/projects", "config/todos", "config/tasks", "config/file-history"),
    record=Record("config/projects/*/*.jsonl", _read_record),
    login_check=LoginCheck(
        ("claude", "auth", "status"),
        "CLAUDE_CONFIG_DIR",
        lambda environ: f"{_users_directory(environ)}/settings.json",
    ),
    login_hint="Log in with `claude auth login`, or set ANTHROPIC_API_KEY",
)
