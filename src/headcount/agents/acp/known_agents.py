"""List what differs between agents that speak ACP: one row each, seen with the versions named in the docs.

An agent is found by its program. One that is not listed gets the row `UNKNOWN`, which assumes nothing. Then
the brief is in the first prompt, and the agent learns of headcount's server by the protocol alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from headcount.agents.client import (
    MEMBER_VARIABLES,
    SERVER,
    Setup,
    allowed_commands,
    mirror,
    read_json,
    server_command,
    write_file,
    write_json,
)
from headcount.value_classes import dataclass

# The variables of a member's server. Many agents pass on only what the protocol's message names.
_SERVER_VARIABLES = (*MEMBER_VARIABLES, "HEADCOUNT_CLIENT_DIRECTORY")


@dataclass(slots=True)
class Ready:
    """What `prepare` decides for one start."""

    env: dict[str, str] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    """More words for its command line."""
    meta: dict[str, Any] = field(default_factory=dict)
    """`_meta` of its session."""


@dataclass(frozen=True, slots=True)
class AcpAgent:
    name: str
    title: str
    argv: tuple[str, ...]
    package: str
    client: str = ""
    """The known client whose trust counts, and for which `via = "acp"` takes this row."""
    prepare: Callable[[Setup, Mapping[str, str]], Ready] = lambda setup, environ: Ready()
    """Writes its files into `setup.directory`. It never writes the user's."""
    has_server: bool = False
    """Its own settings name headcount's server; otherwise the session does."""
    has_brief: bool = False
    """Its own settings hold the brief; otherwise the first prompt does."""
    modes: Mapping[str, str] = field(default_factory=dict)
    """The session mode for each of our `permissions`."""
    titled: bool = False
    """The title of a command is its command line. Elsewhere the model may write it."""
    counts: bool = False
    """It reports tokens with every answer of the model, so a turn without any had none."""
    loads: bool = True
    """A session can be loaded by a new process, if the agent says so too."""
    ends_on_eof: bool = True
    """It ends when its standard input is closed."""
    second_prompt: str = "waits"
    """What it does with a prompt during a turn: `waits` or `cancels`. headcount never sends one."""
    at_limit: str = "error"
    """How it reports a usage limit: an `error`, `text` of a turn that "ended", on `stderr`, or `silent`."""
    conversations: tuple[str, ...] = ()

    @property
    def install(self) -> str:
        return f"npm install -g {self.package}" if self.package else ""


def server_entry(setup: Setup, environ: Mapping[str, str]) -> dict[str, Any]:
    """Return headcount's server as the protocol writes it."""
    program, arguments = server_command(setup)
    env = [{"name": name, "value": environ[name]} for name in _SERVER_VARIABLES if name in environ]
    return {"name": SERVER, "command": program, "args": arguments, "env": env}


# --- agents whose client headcount knows -------------------------------------------------------------------


def _claude(setup: Setup, environ: Mapping[str, str]) -> Ready:
    from headcount.agents import claude

    env = claude.CLIENT.prepare(setup, environ)
    options: dict[str, Any] = {
        # With `alwaysLoad` its tools are in the first request. The protocol's list of servers has no place
        # for it, and the adapter passes these options on.
        "mcpServers": claude.mcp_servers(setup.headcount),
        "settings": {"disableDeepLinkRegistration": "disable"},
        "extraArgs": {"strict-mcp-config": None},
    }
    if setup.permissions != "full":
        options["allowedTools"] = list(claude.ALLOWED)
        options["disallowedTools"] = [claude.rule(pattern) for pattern in setup.deny]
    meta = {"claudeCode": {"options": options}, "systemPrompt": {"append": setup.instructions}}
    return Ready(env, meta=meta)


def _codex(setup: Setup, environ: Mapping[str, str]) -> Ready:
    from headcount.agents import codex

    env = codex.CLIENT.prepare(setup, environ)
    env["CODEX_CONFIG"] = json.dumps(codex.settings(setup.headcount))
    env["INITIAL_AGENT_MODE"] = "agent-full-access" if setup.permissions == "full" else "workspace-write"
    env["NO_BROWSER"] = "1"
    return Ready(env)


def _gemini(setup: Setup, environ: Mapping[str, str]) -> Ready:
    from headcount.agents import gemini

    env = gemini.CLIENT.prepare(setup, environ)
    path = f"{env['GEMINI_CLI_HOME']}/.gemini/settings.json"
    settings = read_json(path)
    # Mail arrives with the next prompt. Hooks would show what the prompt holds once more.
    settings["hooks"] = {event: _without_ours(hooks) for event, hooks in settings["hooks"].items()}
    write_json(path, settings)
    policy = f"{setup.directory}/policy.toml"
    with open(policy, encoding="utf-8") as file:
        rules = file.read().split("[[rule]]")
    # Headless it denies every other command. Here it can ask.
    write_file(policy, "[[rule]]".join(rule for rule in rules if 'argsPattern = "."' not in rule))
    return Ready(env, ["--policy", policy])


def _without_ours(hooks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for one in hooks if all(hook.get("name") != SERVER for hook in one.get("hooks", ()))]


def _opencode(setup: Setup, environ: Mapping[str, str]) -> Ready:
    from headcount.agents import opencode

    env = opencode.CLIENT.prepare(setup, environ)
    settings = json.loads(env["OPENCODE_CONFIG_CONTENT"])
    settings["plugin"] = []
    if setup.permissions != "full":
        permission = settings["permission"]
        permission["external_directory"] = permission["bash"]["*"] = "ask"
    env["OPENCODE_CONFIG_CONTENT"] = json.dumps(settings)
    return Ready(env, ["--print-logs", "--log-level", "ERROR"])


# --- others ------------------------------------------------------------------------------------------------

_QWEN_STATE = (
    "projects", "sessions", "tmp", "usage", "usage_record.jsonl", "history", "logs", "todos", "settings.json",
    "debug",
)  # fmt: skip
_BRIEF_FILE = "HEADCOUNT.md"


def _qwen(setup: Setup, environ: Mapping[str, str]) -> Ready:
    users = environ.get("QWEN_HOME") or f"{environ.get('HOME', '')}/.qwen"
    own = f"{setup.directory}/config"
    mirror(users, own, left_out=_QWEN_STATE)
    settings = read_json(f"{users}/settings.json")
    program, arguments = server_command(setup)
    ours = {"command": program, "args": arguments, "trust": True, "alwaysLoadTools": True,
            "env": {name: f"${name}" for name in _SERVER_VARIABLES}}  # fmt: skip
    settings["mcpServers"] = {**settings.get("mcpServers", {}), SERVER: ours}
    context = settings.get("context", {})
    named = context.get("fileName", ["QWEN.md", "AGENTS.md"])
    names = named if isinstance(named, list) else [named]
    settings["context"] = {**context, "fileName": [*names, _BRIEF_FILE]}
    settings["general"] = {**settings.get("general", {}), "enableAutoUpdate": False}
    if setup.permissions != "full":
        rules = settings.get("permissions", {})
        allow = [*rules.get("allow", []), *(f"Bash({words} *)" for words in allowed_commands())]
        deny = [*rules.get("deny", []), *(f"Bash({pattern})" for pattern in setup.deny)]
        settings["permissions"] = {**rules, "allow": allow, "deny": deny}
    write_json(f"{own}/settings.json", settings)
    write_file(f"{own}/{_BRIEF_FILE}", setup.instructions)
    # Without this variable it starts its first turn before it has connected to the server.
    return Ready({"QWEN_HOME": own, "QWEN_CODE_LEGACY_MCP_BLOCKING": "1"})


_COPILOT_STATE = (
    "session-state",
    "session-store.db",
    "logs",
    "history-session-state",
    "command-history-state.json",
    "tmp",
)


def _copilot(setup: Setup, environ: Mapping[str, str]) -> Ready:
    users = environ.get("COPILOT_HOME") or f"{environ.get('HOME', '')}/.copilot"
    own = f"{setup.directory}/config"
    mirror(users, own, copied=("config.json", "settings.json"), left_out=_COPILOT_STATE)
    program, arguments = server_command(setup)
    servers = {SERVER: {"type": "local", "command": program, "args": arguments, "tools": ["*"]}}
    path = write_json(f"{setup.directory}/mcp.json", {"mcpServers": servers})
    words = ["--additional-mcp-config", f"@{path}", "--no-auto-update"]
    if setup.permissions == "full":
        words.append("--allow-all")
    else:
        words += ["--allow-tool", SERVER, "--allow-tool", "write"]
        words += [word for one in allowed_commands() for word in ("--allow-tool", f"shell({one}:*)")]
        for pattern in setup.deny:
            words += ["--deny-tool", f"shell({pattern.removesuffix(' *')}{':*' * pattern.endswith(' *')})"]
    return Ready({"COPILOT_HOME": own}, words)


_ROWS = (
    AcpAgent(
        "claude", "claude-agent-acp", ("claude-agent-acp",), "@agentclientprotocol/claude-agent-acp",
        client="claude", prepare=_claude, has_server=True, has_brief=True,
        modes={"edit": "acceptEdits", "full": "bypassPermissions"}, counts=True,
        conversations=("config/projects", "config/todos", "config/tasks", "config/file-history"),
    ),
    AcpAgent(
        "codex", "codex-acp", ("codex-acp",), "@agentclientprotocol/codex-acp", client="codex",
        prepare=_codex, has_server=True, has_brief=True,
        modes={"edit": "workspace-write", "full": "agent-full-access"}, counts=True, at_limit="text",
        conversations=("config/sessions",),
    ),
    AcpAgent(
        "gemini", "Gemini CLI", ("gemini", "--acp"), "@google/gemini-cli", client="gemini", prepare=_gemini,
        has_server=True, has_brief=True, modes={"edit": "autoEdit", "full": "yolo"}, titled=True,
        counts=True, loads=False,
        ends_on_eof=False, second_prompt="cancels", at_limit="stderr",
        conversations=("config/.gemini/tmp", "config/.gemini/history"),
    ),
    AcpAgent(
        "opencode", "opencode", ("opencode", "acp"), "opencode-ai", client="opencode", prepare=_opencode,
        has_server=True, has_brief=True, counts=True, at_limit="stderr",
        conversations=tuple(
            f"config/.local/share/opencode/{name}"
            for name in ("storage", "opencode.db", "opencode.db-wal", "opencode.db-shm", "snapshot")
        ),
    ),
    AcpAgent(
        "qwen", "Qwen Code", ("qwen", "--acp"), "@qwen-code/qwen-code", prepare=_qwen, has_server=True,
        has_brief=True, modes={"edit": "auto-edit", "full": "yolo"}, counts=True, second_prompt="cancels",
        at_limit="silent", conversations=("config/projects", "config/sessions"),
    ),
    AcpAgent(
        "copilot", "GitHub Copilot CLI", ("copilot", "--acp"), "@github/copilot", prepare=_copilot,
        has_server=True, counts=True, second_prompt="cancels", at_limit="text",
        conversations=("config/session-state",),
    ),
)  # fmt: skip
AGENTS = {row.name: row for row in _ROWS}
UNKNOWN = AcpAgent("acp", "the ACP agent", (), "")


def find_agent(command: tuple[str, ...]) -> AcpAgent:
    """Return the row of a command, by the name of its program."""
    program = os.path.basename(command[0]) if command else ""
    return next((row for row in _ROWS if row.argv[0] == program), UNKNOWN)


def find_via(client: str) -> AcpAgent:
    """Return the row by which a known client is run over ACP."""
    return next(row for row in _ROWS if row.client == client)
