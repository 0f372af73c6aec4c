"""The mail that goes around a stand-down: four templates, each with lines that a program reads back.

Metadata is one block of `[KEY]: value` lines. A person can read the mail, and a program finds the facts
without guessing (`read_metadata`). On the path of `headcount done`: imports nothing heavy.
"""

from __future__ import annotations

WORKER_DONE = "WORKER_DONE"
VERIFICATION_FAILED = "VERIFICATION_FAILED"
WITNESS_HANDOFF = "WITNESS_HANDOFF"
WORKER_ESCALATION = "WORKER_ESCALATION"


def worker_done(team: str, task: str, checklist_verified: bool) -> tuple[str, str]:
    """Worker to witness: subject and body."""
    metadata = {
        "template": WORKER_DONE,
        "rig": team,
        "issue": task,
        "checklist_verified": "true" if checklist_verified else "false",
    }
    verified = "verified" if checklist_verified else "NOT verified - please check"
    body = (
        f"Work complete on {task}.\n\n{write_metadata(metadata)}\n\n"
        f"Decommission checklist {verified}.\nReady for verification and session termination.\n"
    )
    return f"Work Complete: {task}", body


def member_failed(key: str, cause: str) -> str:
    """Witness to lead: a member failed, and nobody had asked it to end."""
    name, _, _ = key.partition("#")
    return (
        f"{key} failed: {cause}\n\n"
        "headcount saves what is in its workspace and ends what is left of it. Its tasks are free again.\n"
        f"Its last output: headcount logs {name}\n"
    )


def verification_failed(issues: tuple[str, ...]) -> str:
    """Witness to worker: the text of the nudge, and of the mail that goes with it."""
    return (
        "WITNESS VERIFICATION FAILED\n\n"
        "The following issues must be resolved before decommission:\n"
        f"{_bullets(issues)}\n\n"
        "Please fix these issues and signal done again.\n"
    )


# What mends an issue, by the words that an inspection heads it with; a judge may word one otherwise.
_REMEDIES = {
    "not in its place any more": "Put it back",
    "in conflict": "Resolve and commit",
    "in progress": "Finish or abort",
    "locked index": "Let that git end, or remove its lock",
    "hidden from git status": "Commit or discard",
    "untracked": "Commit or remove",
    "on no branch": "Put it on your branch",
    "out of sync": "Bring it in sync",
}


# The three nudges whose words are fixed: by the end of an issue's heading, with what the inspection listed.
_FIXED_CHECKS = {
    "not committed": "You have uncommitted changes. Please commit or discard: {}."
    " Signal done again when clean.",
    "stashed": "You have stashed changes. Please pop and commit, or drop if obsolete: {}."
    " Signal done again when clean.",
    "not merged": "Your commits are not on the integration branch: {}. Please complete merge workflow."
    " Signal done again when merged.",
}


def witness_check(issues: tuple[str, ...], urgent: bool = False) -> str:
    """What is put in front of the agent: one line for one issue, the whole text for several."""
    text = f"WITNESS CHECK: {_check(issues[0])}" if len(issues) == 1 else verification_failed(issues)
    return f"URGENT, still waiting. {text}" if urgent else text


def _check(issue: str) -> str:
    heading, colon, listed = issue.partition(": ")
    for words, text in _FIXED_CHECKS.items():
        if colon and heading.endswith(words):
            return text.format(listed)
    return f"{issue}. {_remedy(issue)}Signal done again when clean."


def _remedy(issue: str) -> str:
    heading, colon, _ = issue.partition(": ")
    found = (remedy for words, remedy in _REMEDIES.items() if colon and heading.endswith(words))
    return f"{next(found, '')}. ".removeprefix(". ")


def witness_handoff(
    team: str,
    timestamp: str,
    active: tuple[tuple[str, str], ...],
    pending: tuple[str, ...],
    recent: tuple[str, ...],
    warnings: str = "",
    next_steps: tuple[str, ...] = (),
    handoff_type: str = "witness_cycle",
) -> tuple[str, str]:
    """One incarnation to the next: what it must know to continue. `recent` is oldest first; five are kept."""
    metadata = {
        "template": WITNESS_HANDOFF,
        "handoff_type": handoff_type,
        "timestamp": timestamp,
        "rig": team,
        "active_worker_count": str(len(active)),
        "pending_verification_count": str(len(pending)),
    }
    workers = "\n".join(f"- {name}: {status}" for name, status in active) or "None"
    waiting = "\n".join(f"- {item}" for item in pending) or "None"
    actions = "\n".join(f"{n}. {what}" for n, what in enumerate(recent[-5:], 1)) or "None"
    steps = "\n".join(f"- {step}" for step in next_steps or ("Check pending verifications",))
    body = (
        f"Session handoff for {team} Witness.\n\n{write_metadata(metadata)}\n\n"
        f"## Active Workers\n{workers}\n\n## Pending Verifications\n{waiting}\n\n"
        f"## Recent Actions\n{actions}\n\n## Warnings\n{warnings or 'None'}\n\n## Next Steps\n{steps}\n"
    )
    return "Session Handoff", body


def worker_escalation(
    team: str,
    worker: str,
    task: str,
    attempts: int,
    issues: tuple[str, ...],
    escalation: str,
    decisions: dict[str, str | None],
) -> tuple[str, str]:
    """Witness to lead: one worker is stuck, and the lead must decide.

    `decisions`: each that there is, and why it would be refused now; None where it would not.
    """
    can = "|".join(decision for decision, refused in decisions.items() if not refused)
    metadata = {
        "template": WORKER_ESCALATION,
        "rig": team,
        "worker": worker,
        "issue": task,
        "verification_attempts": str(attempts),
    }
    body = (
        f"Worker {worker} cannot complete cleanup.\n\n{write_metadata(metadata)}\n\n"
        f"After {attempts} verification attempts, the following issues remain:\n{_bullets(issues)}\n\n"
        "Requesting guidance:\n"
        f"1. Force kill and abandon changes?{_not_now(decisions['force-kill'])}\n"
        f"2. Reassign to another worker?{_not_now(decisions['reassign'])}\n"
        f"3. Escalate to human?{_not_now(decisions['human'])}\n"
        f"{_KEEP_HERE if 'keep-here' in decisions else ''}\n"
        f"Decide with: headcount decide {escalation} {can}\n"
    )
    return f"Escalation: {worker} stuck on {task}", body


_KEEP_HERE = "4. Keep its work on this machine only? The hub does not have it.\n"


def _not_now(why: str | None) -> str:
    return f" Not now: {why}." if why else ""


STALLED = "WITNESS CHECK: There has been no sign of progress for a while. Say what you wait for, or go on."


def shutdown_request(request_id: str, reason: str) -> str:
    """What a member reads when it is asked: why, and how to answer."""
    return (
        f"You are asked to stand down. Reason: {reason}\n\n"
        "Commit your work first; nothing is lost if you cannot, it will be salvaged. Then answer:\n"
        f"  headcount approve {request_id}\n"
        f'  headcount reject {request_id} --reason "why you must go on"\n'
    )


def not_acknowledged(member: str) -> str:
    """The warning about one that did not answer in time."""
    return f"Agent {member} did not acknowledge shutdown within timeout"


def shutdown_nudge(request_id: str, reason: str) -> str:
    return f"You are asked to stand down ({reason}). Answer with: headcount approve {request_id}"


def findings_for_witness(worker: str, issues: tuple[str, ...]) -> str:
    found = _bullets(issues) or "  - nothing"
    return (
        f"{worker} signalled done or was asked to stand down. Found in its workspace:\n{found}\n\n"
        f"Judge it with: headcount witness verdict {worker.partition('#')[0]} clean|dirty\n"
    )


def swarm_complete(team: str, outcomes: list[tuple[str, str | None]]) -> tuple[str, str]:
    """Witness to lead: everyone is proved gone. The lead got mail about problems before."""
    lines = "\n".join(f"- {name}: {outcome or 'never started'}" for name, outcome in outcomes) or "- nobody"
    body = f"Swarm complete: all members of {team} are proved gone.\n\n{lines}\n\n"
    return f"Swarm complete: {team}", f"{body}The receipt is in the archive.\n"


def write_metadata(metadata: dict[str, str]) -> str:
    """One line a key; a value never breaks out of its line."""
    return "\n".join(f"[{key.upper()}]: {_escape(value)}" for key, value in metadata.items())


def read_metadata(body: str) -> dict[str, str]:
    """The first block of metadata lines in a body, as it was written; empty when there is none."""
    found: dict[str, str] = {}
    for line in body.split("\n"):
        key, colon, value = line.partition("]: ")
        if colon and key.startswith("[") and key[1:].replace("_", "").isalnum() and key.isupper():
            out: list[str] = []
            chars = iter(value)
            for char in chars:
                if char != "\\":
                    out.append(char)
                    continue
                after = next(chars, "")
                out.append({"n": "\n", "r": "\r"}.get(after, after))
            found[key[1:].lower()] = "".join(out)
        elif found:
            break
    return found


def _bullets(issues: tuple[str, ...]) -> str:
    return "\n".join(f"  - {issue}" for issue in issues)


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
