"""Define the usage and options of the members' commands."""

from __future__ import annotations

from headcount.cli.member.command_line import Spec

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
            "inbox [--wait SECONDS] [--unread] [--peek] [--from SENDER]",
            "Print your messages and mark unread ones as read; --peek does not mark them.\n"
            "--wait returns when there is unread mail, or after SECONDS.\n"
            "--from prints and marks only the messages of one sender.",
            flags=("--unread", "--peek"),
            names={"--wait": "--wait", "--from": "--from"},
        ),
        "member_commands:inbox",
    ),
    "read": (
        Spec("read ID", "Print one message and mark it as read.", required=("ID",)),
        "member_commands:read",
    ),
    "send": (_SEND, "member_commands:send"),
    "done": (
        Spec(
            "done [TASK] [--verified]",
            "Report that your work is done. headcount then inspects your workspace.\n"
            "--verified: you checked the list (all committed, no stash, nothing in progress).",
            most=1,
            flags=("--verified",),
            members_only=True,
        ),
        "member_commands:done",
    ),
    "idle": (
        Spec("idle", "Report that you have nothing to do; void once you claim a task.", members_only=True),
        "member_commands:idle",
    ),
    "approve": (
        Spec(
            "approve [REQUEST] [--reason REASON]",
            "Agree to stand down; default: the open request.",
            most=1,
            names={"--reason": "--reason"},
            members_only=True,
        ),
        "member_commands:approve",
    ),
    "reject": (
        Spec(
            "reject [REQUEST] --reason REASON",
            "Refuse to stand down; the lead reads the reason word for word.",
            most=1,
            names={"--reason": "--reason"},
            members_only=True,
        ),
        "member_commands:reject",
    ),
    "task list": (
        Spec(
            "task list [--status STATUS] [--owner MEMBER] [--metadata KEY=VALUE]",
            "List the team's tasks; --metadata selects those with this value.",
            names={"--status": "--status", "--owner": "--owner", "--metadata": "--metadata"},
        ),
        "member_commands:list_tasks",
    ),
    "task claim": (
        Spec(
            "task claim [ID]",
            "Claim a task; default: the next available one.",
            most=1,
            members_only=True,
        ),
        "member_commands:claim",
    ),
    "task complete": (
        Spec(
            "task complete ID [--verified]",
            "Complete a task; from a worker this is a done signal.",
            required=("ID",),
            flags=("--verified",),
        ),
        "member_commands:complete",
    ),
    "review pass": (
        Spec(
            "review pass TASK [--reason REASON]",
            "Report that your review of TASK passed.",
            required=("TASK",),
            names={"--reason": "--reason"},
        ),
        "member_commands:review_pass",
    ),
    "review changes": (
        Spec(
            "review changes TASK --reason REASON",
            "Request changes to TASK; its worker reads the reason.",
            required=("TASK",),
            names={"--reason": "--reason"},
        ),
        "member_commands:review_changes",
    ),
    "client": (
        Spec(
            "client NAME [--model MODEL] [--permissions edit|full] [--trusted ROOT] [--terminal] [COMMAND…]",
            "Host an agent client for a member. The engine starts it; not for use by hand.",
            required=("NAME",),
            most=1000,
            flags=("--terminal",),
            names={"--model": "--model", "--permissions": "--permissions", "--trusted": "--trusted"},
        ),
        "member_commands:client",
    ),
    "hook": (
        Spec(
            "hook EVENT [--lead]",
            "Handle an event of an agent client, as JSON on standard input: show new mail, and continue\n"
            "the turn of a member that has open requests. Outside a member it does nothing.\n"
            "--lead: for the session of a lead; print how much mail waits, and mark none.",
            required=("EVENT",),
            flags=("--lead",),
        ),
        "hook:hook",
    ),
}
