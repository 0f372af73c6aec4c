"""Decide who may do what: one table for every call."""

# A caller is one of five kinds. The operator has the authority of the lead and the witness. A process
# that carries a member's mark, or descends from a member's process, is that member or has no authority.
# It is never the operator (`store/identity.py` decides that).
#
# `MAY` maps an action to the kinds of callers that may do it. `OF_COMMAND` maps a command to the least
# authority that it needs; some options need more. A test checks that no command is without a row.
#
# This module is on the path of every member command, so it imports nothing but the errors.

from __future__ import annotations

from headcount.errors import NotAllowed

OPERATOR = "operator"
LEAD = "lead"
WITNESS = "witness"
WORKER = "worker"
REVIEWER = "reviewer"
CALLERS = (OPERATOR, LEAD, WITNESS, WORKER, REVIEWER)

# The kind of caller for each role of a definition.
CALLER_OF_ROLE = {
    "worker": WORKER,
    "spec-reviewer": REVIEWER,
    "code-quality-reviewer": REVIEWER,
    "lead": LEAD,
    "witness": WITNESS,
}

_EVERYONE = frozenset(CALLERS)
MEMBERS = frozenset((WORKER, REVIEWER))
_LEADS = frozenset((OPERATOR, LEAD))
_WATCHERS = frozenset((OPERATOR, WITNESS))

# action -> callers that may. A member answers, signals and claims only for itself; its token identifies it.
MAY = {
    "team_create": frozenset((OPERATOR,)),
    "spawn": _LEADS,
    "stand_down_team": _LEADS,
    "stand_down_member": frozenset((OPERATOR, LEAD, WITNESS)),
    "force": frozenset((OPERATOR,)),
    "abort": _LEADS,
    "decide": _LEADS,
    "merge": frozenset((OPERATOR,)),
    "publish": frozenset((OPERATOR,)),
    "set": frozenset((OPERATOR,)),
    "all_teams": frozenset((OPERATOR,)),
    "ask": frozenset((WORKER, REVIEWER, LEAD, WITNESS)),
    "decide_ask": _LEADS,  # the lead only if `on_ask` says so, and never its own
    "decide_always": frozenset((OPERATOR,)),
    "answer": MEMBERS,
    "done": frozenset(
        (WORKER, REVIEWER, LEAD, WITNESS)
    ),  # lead and witness only to report that they cleaned up
    "idle": MEMBERS,
    "findings": frozenset((OPERATOR, LEAD, WITNESS)),
    "verdict": _WATCHERS,
    "nudge": _WATCHERS,
    "capture": frozenset((OPERATOR, LEAD, WITNESS)),
    "handoff": frozenset((OPERATOR, WITNESS, LEAD)),
    "pause": _WATCHERS,
    "cycle": _WATCHERS,
    "read_mail": _EVERYONE,
    "send": _EVERYONE,
    "broadcast": frozenset((OPERATOR, LEAD, WITNESS)),
    "task_create": _LEADS,
    "task_change": _LEADS,
    "task_list": _EVERYONE,
    "task_claim": frozenset((WORKER,)),
    "task_complete": _LEADS,
    "review": frozenset((OPERATOR, REVIEWER)),
    "status": _EVERYONE,
    "logs": frozenset((OPERATOR, LEAD, WITNESS)),
    "salvage": frozenset((OPERATOR, LEAD, WITNESS)),
    "checkpoints": _EVERYONE,  # a worker or reviewer only its own
    "checkpoints_of_others": frozenset((OPERATOR, LEAD, WITNESS)),
    "attach": frozenset((OPERATOR,)),
    "init": frozenset((OPERATOR,)),
    "engine": frozenset((OPERATOR,)),
    "serve": frozenset((OPERATOR,)),
    "adopt": frozenset((OPERATOR,)),
    "sweep": frozenset((OPERATOR,)),
    "prune": frozenset((OPERATOR,)),
    "restore": frozenset((OPERATOR,)),
    "local": _EVERYONE,
}

# command -> the least authority that it needs; some options need more.
OF_COMMAND = {
    "up": "team_create",
    "run": "team_create",
    "abort": "abort",
    "spawn": "spawn",
    "pause": "pause",
    "resume": "pause",
    "cycle": "cycle",
    "witness": "findings",
    "task": "task_list",
    "status": "status",
    "down": "stand_down_member",
    "diff": "status",
    "log": "status",
    "compare": "status",
    "merge": "merge",
    "pr": "publish",
    "set": "set",
    "teams": "status",  # those of other repositories only for the operator
    "open": "all_teams",
    "todo": "decide",
    "reply": "decide",
    "escalations": "status",
    "asks": "status",
    "decide": "decide",
    "salvage": "salvage",
    "checkpoints": "checkpoints",
    "attach": "attach",
    "logs": "logs",
    "serve": "serve",
    "report": "status",
    "trace": "status",
    "sweep": "sweep",
    "prune": "prune",
    "adopt": "adopt",
    "init": "init",
    "engine": "engine",
    # Each tool is checked separately.
    "mcp": "status",
    "inbox": "read_mail",
    "read": "read_mail",
    "send": "send",
    "done": "done",
    "idle": "idle",
    "approve": "answer",
    "reject": "answer",
    "review": "review",
    "client": "read_mail",
    "hook": "read_mail",
    # These read and write only files that the caller names, or their own state.
    "demo": "local",
    "doctor": "local",
    "hub": "local",
    "explain": "local",
    "completion": "local",
    "skills": "local",
    "build": "local",
    "graph": "local",
}


# action -> its words in a refusal
_IN_WORDS = {
    "team_create": "create a team",
    "spawn": "start a member",
    "stand_down_team": "stand the team down",
    "stand_down_member": "stand a member down",
    "force": "use force",
    "abort": "abort a run",
    "decide": "decide an escalation",
    "merge": "merge into the operator's branch",
    "all_teams": "see the teams of other repositories",
    "set": "see or change the policy of a team",
    "publish": "push a branch to a remote",
    "ask": "request permission",
    "decide_ask": "answer a permission request",
    "decide_always": "answer a permission request for ever",
    "answer": "answer a request to stand down",
    "done": "signal done",
    "idle": "report itself idle",
    "findings": "inspect a workspace",
    "verdict": "judge a workspace",
    "nudge": "nudge a member",
    "capture": "see a member's screen",
    "handoff": "write a handoff note",
    "pause": "pause a member",
    "cycle": "cycle a member",
    "read_mail": "read mail",
    "send": "send mail",
    "broadcast": "write to all",
    "task_create": "create a task",
    "task_change": "change a task",
    "task_list": "list tasks",
    "task_claim": "claim a task",
    "task_complete": "complete a task",
    "review": "review a task",
    "status": "see the status of a team",
    "logs": "read a member's output",
    "salvage": "read salvages",
    "checkpoints": "read its checkpoints",
    "checkpoints_of_others": "read the checkpoints of another member",
    "attach": "attach to a member's terminal",
    "init": "change the settings of the repository",
    "engine": "run the engine",
    "serve": "serve the page",
    "local": "use a command that touches no team",
    "adopt": "take over a state directory",
    "sweep": "remove leftovers of crashed runs",
    "prune": "remove old records",
    "restore": "restore a salvage, or a checkpoint into a workspace",
}


def check(action: str, caller: str, who: str = "") -> None:
    """Refuse an action that the caller may not do, and name who may (A14). The caller records the refusal."""
    allowed = MAY[action]
    if caller in allowed:
        return
    names = ", ".join(name for name in CALLERS if name in allowed)
    subject = f"The {caller}" if who in ("", caller) else who
    raise NotAllowed(
        f"{subject} may not {_IN_WORDS[action]}",
        f"allowed: {names}",
        _whom_to_ask(allowed) if caller != OPERATOR else (),
        code="not-allowed",
    )


def _whom_to_ask(allowed: frozenset[str]) -> tuple[str, ...]:
    """Return a hint whom to ask, unless only the member itself may do it."""
    who = next((name for name in (LEAD, WITNESS, OPERATOR) if name in allowed), None)
    return (f"Ask the {who} with `headcount send {who} -s SUBJECT -m BODY`",) if who else ()


def check_recipient(
    sender: str, recipient: str, peer_mail: bool, same_task: bool = True, who: str = ""
) -> None:
    """Refuse mail between members, unless the team allows it.

    A worker and the reviewers of its task may always write to each other.
    """
    if sender not in MEMBERS or recipient not in MEMBERS or peer_mail or (sender != recipient and same_task):
        return
    whom = f"another {recipient}" if same_task else f"a {recipient} of another task"
    raise NotAllowed(
        f"{who or 'A member'} may not write to {whom}",
        "the team does not allow mail between members (peer_mail = false)",
        ("Write to the lead instead: `headcount send lead -s SUBJECT -m BODY`",),
        code="no-peer-mail",
    )
