"""The tools around permission requests: the lead lists and answers them, and Claude Code asks through one."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from headcount.agents.host import Wanted
from headcount.app import permissions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headcount.app.session import Session

    Answer = Mapping[str, object]
    Arguments = dict[str, Any]

# What a call of Claude Code's shell may say besides the command. With anything else, patterns do not decide.
_PLAIN_SHELL = frozenset(("command", "description", "timeout", "run_in_background"))
_EDITS = ("Edit", "MultiEdit", "Write", "NotebookEdit")


def ask_list(session: Session, args: Arguments) -> Answer:
    return {"asks": permissions.list_asks(session, args.get("team_name"), every=args.get("all", False))}


def ask_decide(session: Session, args: Arguments) -> Answer:
    return permissions.decide_ask(
        session, args["id"], args["decision"], args.get("reason", ""), team=args.get("team_name")
    )


def permission_prompt(session: Session, args: Arguments, gone: int | None = None) -> Answer:
    """Answer in the words of Claude Code's `--permission-prompt-tool`, after someone has decided."""
    given = args["input"]
    answer = permissions.ask(session, describe_call(args["tool_name"], given, os.getcwd()), gone)
    if answer.allowed:
        return {"behavior": "allow", "updatedInput": given}
    return {"behavior": "deny", "message": f"Permission denied: {answer.reason or 'no reason was given'}."}


def describe_call(tool: str, given: Mapping[str, Any], directory: str) -> Wanted:
    """Return the permission that a call of a tool needs, for a person."""
    command = given.get("command")
    if tool == "Bash" and isinstance(command, str):
        title = f"Run: {command.splitlines()[0] if command.strip() else command}"
        if given.keys() <= _PLAIN_SHELL:
            return Wanted("command", title, str(given.get("description") or ""), command, directory)
        return Wanted("command", title, _as_text(given), "", directory)
    path = given.get("file_path") or given.get("notebook_path")
    if tool in _EDITS and isinstance(path, str):
        return Wanted("edit", f"{tool} {path}", _as_diff(given), "", directory)
    return Wanted("tool", f"Use {tool}", _as_text(given), "", directory)


def _as_diff(given: Mapping[str, Any]) -> str:
    edits = given.get("edits") if isinstance(given.get("edits"), list) else [given]
    lines: list[str] = []
    for edit in edits or ():
        if isinstance(edit, dict) and ("new_string" in edit or "content" in edit):
            new = edit.get("new_string", edit.get("content"))
            lines += [f"-{line}" for line in str(edit.get("old_string", "")).splitlines()]
            lines += [f"+{line}" for line in str(new).splitlines()]
    return "\n".join(lines) or _as_text(given)


def _as_text(given: Mapping[str, Any]) -> str:
    return json.dumps(given, indent=2, ensure_ascii=False)
