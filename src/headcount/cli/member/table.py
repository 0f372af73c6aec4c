"""The members' commands, as they are written."""

from __future__ import annotations

from headcount.cli.member.words import Spec

_SEND = Spec(
    "send TO -s SUBJECT -m BODY [--priority low|normal|high]",
    "Send a message to lead, witness, operator, a member, or all. `-m -` reads the body from standard input.",
    required=("TO",),
    names={
        "-s": "--subject", "--subject": "--subject", "-m": "--message", "--message": "--message",
        "--priority": "--priority",
    },
)  # fmt: skip

# command -> how it is written, and the module and function that it is
COMMANDS: dict[str, tuple[Spec, str]] = {
    "inbox": (
        Spec(
            "inbox [--wait S] [--unread] [--peek] [--from SENDER]",
            "Print your messages, the unread ones whole, and mark those as read; --peek does not.\n"
            "--wait returns as soon as there is something unread, or after S seconds.\n"
            "--from prints and marks only the messages of one sender.",
            flags=("--unread", "--peek"),
            names={"--wait": "--wait", "--from": "--from"},
        ),
        "member_commands:inbox",
    ),
    "read": (
        Spec("read ID", "Print one message whole, and mark it as read.", required=("ID",)),
        "member_commands:read",
    ),
    "send": (_SEND, "member_commands:send"),
    "done": (
        Spec(
            "done [TASK] [--verified]",
            "Say that your work is done: your workspace is inspected.\n"
            "--verified: you went through the checklist (all committed, no stash, nothing in progress).",
            most=1,
            flags=("--verified",),
            members_only=True,
        ),
        "member_commands:done",
    ),
    "idle": (
        Spec("idle", "Say that you have nothing to do; void once you claim a task.", members_only=True),
        "member_commands:idle",
    ),
    "approve": (
        Spec(
            "approve [REQUEST] [--reason R]",
            "Agree to stand down; without an id, to the open request.",
            most=1,
            names={"--reason": "--reason"},
            members_only=True,
        ),
        "member_commands:approve",
    ),
    "reject": (
        Spec(
            "reject [REQUEST] --reason R",
            "Refuse to stand down, and say why; the lead reads it word for word.",
            most=1,
            names={"--reason": "--reason"},
            members_only=True,
        ),
        "member_commands:reject",
    ),
    "task list": (
        Spec(
            "task list [--status S] [--owner KEY] [--metadata KEY=VALUE]",
            "List the team's tasks; --metadata: those with this value.",
            names={"--status": "--status", "--owner": "--owner", "--metadata": "--metadata"},
        ),
        "member_commands:list_tasks",
    ),
    "task claim": (
        Spec(
            "task claim [ID]",
            "Claim a task; without an id, the next that is available.",
            most=1,
            members_only=True,
        ),
        "member_commands:claim",
    ),
    "task complete": (
        Spec(
            "task complete ID [--verified]",
            "A worker's is a done signal; the lead's completes the task.",
            required=("ID",),
            flags=("--verified",),
        ),
        "member_commands:complete",
    ),
    "review pass": (
        Spec(
            "review pass TASK [--reason R]",
            "Your review of TASK passed.",
            required=("TASK",),
            names={"--reason": "--reason"},
        ),
        "member_commands:review_pass",
    ),
    "review changes": (
        Spec(
            "review changes TASK --reason R",
            "TASK needs changes; the reason goes to whoever works on it.",
            required=("TASK",),
            names={"--reason": "--reason"},
        ),
        "member_commands:review_changes",
    ),
    "client": (
        Spec(
            "client NAME [--model M] [--permissions edit|full] [--trusted ROOT] [--terminal]",
            "What a member of a known agent client runs as. The engine starts it; not for use by hand.",
            required=("NAME",),
            flags=("--terminal",),
            names={"--model": "--model", "--permissions": "--permissions", "--trusted": "--trusted"},
        ),
        "member_commands:client",
    ),
    "hook": (
        Spec(
            "hook EVENT [--lead]",
            "What an agent client calls at its pauses, with the event as JSON on standard input: shows new\n"
            "mail, and keeps a member with open orders from ending. Outside of a member it does nothing.\n"
            "--lead: for the session of whoever leads; says how much mail waits there, and marks none.",
            required=("EVENT",),
            flags=("--lead",),
        ),
        "hook:hook",
    ),
}
