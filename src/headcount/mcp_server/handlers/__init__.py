"""One thin function a tool, by the tool's name: arguments in, one use case, its answer in the tool's shape.

A call imports the module of its tool and no other: reading mail needs neither git nor processes.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from headcount.app.app import App

_MODULES = {
    "teams": (
        "team_create", "teammate_spawn", "team_shutdown", "shutdown_status", "escalation_list",
        "escalation_decide",
    ),
    "mail": ("send_message", "inbox"),
    "tasks": (
        "task_create", "task_update", "task_list", "task_claim", "task_find_available", "task_auto_claim",
        "task_complete", "member_done", "review_submit",
    ),
    "witness": (
        "witness_findings", "witness_verdict", "witness_nudge", "witness_capture", "witness_handoff",
    ),
}  # fmt: skip
MODULE_OF = {tool: module for module, tools in _MODULES.items() for tool in tools}


def find_handler(tool: str) -> Callable[[App, dict[str, Any]], dict[str, Any]]:
    module = importlib.import_module(f"{__name__}.{MODULE_OF[tool]}")
    handler: Callable[[App, dict[str, Any]], dict[str, Any]] = getattr(module, tool)
    return handler


def drive(app: App) -> None:
    """An engine is the operator's to start: whatever a member starts would carry its mark."""
    if not app.caller.is_member:
        from headcount.app.resident import ensure_driven

        ensure_driven(app)
