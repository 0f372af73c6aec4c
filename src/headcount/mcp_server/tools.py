"""Every tool, as data: what a model reads about it, its parameters, and its hints.

Descriptions are short on purpose: they are in every turn of every client that has the server listed.
Light: imported before the first answer.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Generous bounds for the shape only; the real limits are the team's settings, and are said in its errors.
_LONG = 200_000
_SHORT = 1_000


def _text(about: str, longest: int = _SHORT) -> dict[str, Any]:
    return {"type": "string", "description": about, "maxLength": longest}


def _choice(about: str, *words: str) -> dict[str, Any]:
    return {"type": "string", "description": about, "enum": list(words)}


def _flag(about: str) -> dict[str, Any]:
    return {"type": "boolean", "description": about}


def _texts(about: str, most: int = 100) -> dict[str, Any]:
    return {"type": "array", "description": about, "items": {"type": "string"}, "maxItems": most}


TEAM = _text("The team; leave it out when there is only one, or you are a member")
MEMBER = _text("The member's name")
TASK_ID = _text('The task\'s id, such as "t1"')


class Tool:
    """One row. `reads` changes nothing; `destroys` may end processes; `again` is safe to repeat."""

    __slots__ = ("asks_user", "describes", "hints", "input_schema", "name", "title")

    def __init__(
        self,
        name: str,
        title: str,
        describes: str,
        parameters: dict[str, dict[str, Any]],
        required: tuple[str, ...] = (),
        *,
        reads: bool = False,
        destroys: bool = False,
        again: bool = False,
        open_world: bool = False,
        asks_user: bool = False,
    ) -> None:
        self.name = name
        self.title = title
        self.describes = describes
        self.asks_user = asks_user
        self.input_schema: dict[str, Any] = {
            "type": "object",
            "properties": parameters,
            "required": list(required),
            "additionalProperties": False,
        }
        self.hints: dict[str, Any] = {
            "title": title,
            "readOnlyHint": reads,
            "destructiveHint": destroys,
            "idempotentHint": again or reads,
            "openWorldHint": open_world,
        }

    def as_dict(self) -> dict[str, Any]:
        """Return the tool as `tools/list` shows it."""
        row = {
            "name": self.name,
            "title": self.title,
            "description": self.describes,
            "inputSchema": self.input_schema,
            "annotations": self.hints,
        }
        if self.asks_user:
            row["_meta"] = {"anthropic/requiresUserInteraction": True}
        return row


TOOLS: tuple[Tool, ...] = (
    # --- teams
    Tool(
        "team_create", "Create a team",
        "Create a team. Then start its members with teammate_spawn.",
        {
            "team_name": _text("a-z, 0-9 and -, at most 50 characters"),
            "description": _text("What the team is for", _LONG),
            "agent_type": _text("The agent client for members that name none"),
        },
        ("team_name",),
    ),
    Tool(
        "teammate_spawn", "Start a member",
        "Start a member as a process of its own, in its own git worktree, with the prompt as its first mail.",
        {
            "team_name": TEAM,
            "name": _text("The new member's name: A-Z, a-z, 0-9, _ and -, at most 64 characters"),
            "agent": _text("The agent client to start; else the team's, else the settings decide"),
            "model": _text("The model to ask the client for"),
            "prompt": _text("What it is to do", _LONG),
        },
        ("name",), open_world=True,
    ),
    Tool(
        "team_shutdown", "Stand a team down",
        "Ask every member to stop, then save their work, stop them and close the team. Answers at once; "
        "follow it with shutdown_status. Asking again joins the open request. Lead or operator only.",
        {"team_name": TEAM, "reason": _text("What the members are told", _LONG)},
        destroys=True, again=True,
    ),
    Tool(
        "shutdown_status", "How a stand-down stands",
        "Who answered what, who is gone with which outcome, where saved work is, what waits for a decision.",
        {"team_name": TEAM, "request_id": _text("Of which stand-down; else the open one or the last one")},
        reads=True,
    ),
    # --- mail
    Tool(
        "send_message", "Send a message",
        "Write to a member, lead, witness or operator, or to all (broadcast). To answer a request to stand "
        "down: type shutdown_response with its request_id and approve; plain text is not an answer. "
        "shutdown_request asks one member to stop (lead or operator only).",
        {
            "type": _choice("What it is", "message", "broadcast", "shutdown_request", "shutdown_response"),
            "recipient": _text("To whom; not for a broadcast"),
            "content": _text("The text", _LONG),
            "summary": _text("Its subject, one line"),
            "request_id": _text("shutdown_response: the request that is answered"),
            "approve": _flag("shutdown_response: true to stop, false to refuse"),
            "reason": _text("Why: of a shutdown_request, or of a refusal", _LONG),
            "team_name": TEAM,
        },
        ("type",),
    ),
    Tool(
        "inbox", "Read the mail",
        "Your messages, whole, oldest first. Marks nothing as read unless mark_read is true.",
        {
            "unread": _flag("Only those that were not read yet"),
            "mark_read": _flag("Mark what is returned as read (default false)"),
            "from": _text("Only this sender's"),
            "team_name": TEAM,
        },
        again=True,
    ),
    # --- tasks
    Tool(
        "task_create", "Create a task",
        "Put a task on the team's list. Lead or operator only.",
        {
            "subject": _text("One line"),
            "description": _text("What is to be done", _LONG),
            "activeForm": _text('What to show while it is worked on, such as "Fixing the parser"'),
            "dependsOn": _texts("Ids of tasks that must be complete first", 1_000),
            "metadata": {"type": "object", "description": "Anything to keep with it"},
            "team_name": TEAM,
        },
        ("subject",),
    ),
    Tool(
        "task_update", "Change a task",
        "Change a task, take it from its owner, or end it. Lead or operator only.",
        {
            "task_id": TASK_ID,
            "subject": _text("One line"),
            "description": _text("What is to be done", _LONG),
            "dependsOn": _texts("All it depends on", 1_000),
            "metadata": {"type": "object", "description": "Merged; null removes"},
            "release": _flag("Take it from its owner"),
            "withdraw": _text("End it; why"),
            "team_name": TEAM,
        },
        ("task_id",),
    ),
    Tool(
        "task_list", "List the tasks",
        "The team's tasks, with status, owner and what they depend on.",
        {
            "status": _choice(
                "Only these", "pending", "in_progress", "in_review", "complete", "blocked", "withdrawn"
            ),
            "owner": _text("Only this member's"),
            "metadata": {"type": "object", "description": "Only those with these values"},
            "team_name": TEAM,
        },
        reads=True,
    ),
    Tool(
        "task_claim", "Claim a task",
        "Take one task; refused if somebody has it or it has to wait for others.",
        {"task_id": TASK_ID, "team_name": TEAM},
        ("task_id",), again=True,
    ),
    Tool(
        "task_find_available", "Find tasks to claim",
        "The tasks that can be claimed now: nobody has them, and nothing they depend on is open.",
        {"team_name": TEAM},
        reads=True,
    ),
    Tool(
        "task_auto_claim", "Claim the next task",
        "Take the next available task; task is null when there is none.",
        {"team_name": TEAM},
    ),
    Tool(
        "task_complete", "Complete a task",
        "A worker: report your task done, which starts an inspection of your workspace. Lead or operator: "
        "mark it complete.",
        {"task_id": TASK_ID, "team_name": TEAM},
        ("task_id",), again=True,
    ),
    Tool(
        "member_done", "Signal done",
        "Say that your work is done and committed. Your workspace is then inspected; if anything is left in "
        "it you are told what.",
        {
            "task_id": TASK_ID,
            "checklist": _flag("true: you went through the decommission checklist, and every item holds"),
            "team_name": TEAM,
        },
        again=True,
    ),
    Tool(
        "review_submit", "Submit a review",
        "Your verdict on a task that is in review. Reviewers only.",
        {
            "task_id": TASK_ID,
            "verdict": _choice("pass, or changes with what must change", "pass", "changes"),
            "issues": _texts("What must change, one entry each"),
            "team_name": TEAM,
        },
        ("task_id", "verdict"),
    ),
    # --- the witness
    Tool(
        "witness_findings", "Look into a workspace",
        "What stands in a member's workspace, read now: uncommitted, untracked, stashed or unmerged work.",
        {"member": MEMBER, "live": _flag("false: the findings of its last inspection"), "team_name": TEAM},
        ("member",), reads=True,
    ),
    Tool(
        "witness_verdict", "Judge a workspace",
        "Judge the findings that were mailed to the witness. Clean lets the member be stopped, dirty sends "
        "it back. Everything is saved either way.",
        {
            "member": MEMBER,
            "verdict": _choice("clean or dirty", "clean", "dirty"),
            "issues": _texts("What the member must fix, naming the files"),
            "team_name": TEAM,
        },
        ("member", "verdict"),
    ),
    Tool(
        "witness_nudge", "Nudge a member",
        "Put a text in front of a member now, and into its mail. delivered is true only if it was seen to "
        "take it.",
        {"member": MEMBER, "text": _text("What it is told", _LONG), "team_name": TEAM},
        ("member", "text"),
    ),
    Tool(
        "witness_capture", "See a member's screen",
        "What a member shows: the end of its terminal or its output.",
        {"member": MEMBER, "team_name": TEAM},
        ("member",), reads=True,
    ),
    Tool(
        "witness_handoff", "Write a handoff note",
        "Compose the note for the next session from the journal, with your remarks; mailed to the witness.",
        {
            "member": _text("Whose session is handed over; else the witness's own"),
            "remarks": _text("What the next session should know", _LONG),
            "next_steps": _texts("What should happen next"),
            "team_name": TEAM,
        },
    ),
    # --- escalations
    Tool(
        "escalation_list", "List escalations",
        "What waits for a decision of the lead or the operator.",
        {"all": _flag("Also those that are decided"), "team_name": TEAM},
        reads=True,
    ),
    Tool(
        "escalation_decide", "Decide an escalation",
        "force-kill: save its work, then end it. reassign: the same, and its task goes to another. human: a "
        "person takes over. wait: nudge it once more. keep-here: without the hub, save its work on this "
        "machine only. The first decision wins. Lead or operator only.",
        {
            "id": _text('The escalation\'s id, such as "e1"'),
            "decision": _choice("What is to happen", "force-kill", "reassign", "human", "wait", "keep-here"),
            "reason": _text("Why", _LONG),
            "team_name": TEAM,
        },
        ("id", "decision"), destroys=True, asks_user=True,
    ),
    # --- permission requests
    Tool(
        "ask_list", "List permission requests",
        "What members wait for permission to do.",
        {"all": _flag("Also those that are answered"), "team_name": TEAM},
        reads=True,
    ),
    Tool(
        "ask_decide", "Answer a permission request",
        "Allow or deny what a member waits for. The first answer wins. Lead or operator only.",
        {
            "id": _text('The request\'s id, such as "a1"'),
            "decision": _choice("Your answer", "allow", "deny"),
            "reason": _text("Why; the member reads it", _LONG),
            "team_name": TEAM,
        },
        ("id", "decision"), open_world=True,
    ),
)  # fmt: skip

# Claude Code calls this, not the model (`--permission-prompt-tool`). Listed only for a client that does.
PERMISSION_PROMPT = Tool(
    "permission_prompt",
    "Request permission",
    "For Claude Code itself: returns when someone has allowed or denied the call. Do not call it.",
    {
        "tool_name": _text("The tool that it wants to use"),
        "input": {"type": "object", "description": "Its input"},
        "tool_use_id": _text("The id of the call"),
    },
    ("tool_name", "input"),
    open_world=True,
)
WAITING = (PERMISSION_PROMPT.name,)  # tools whose calls may take minutes

BY_NAME: dict[str, Tool] = {tool.name: tool for tool in (*TOOLS, PERMISSION_PROMPT)}
