"""Write the lead's skill: the task loop, the two-step shutdown, the gates, and the end of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.protocol.completion import checklist
from headcount.protocol.phase import Phase
from headcount.protocol.task_step import ASKS
from headcount.protocol.task_turn import REASON_REVIEWER, REASON_WORKER
from headcount.skills.page_parts import (
    QUALITY,
    SPEC,
    WORKER,
    as_json,
    bullets,
    join,
    seconds,
    shell,
    times,
    tool,
)  # fmt: skip

if TYPE_CHECKING:
    from headcount.domain.policy import Policy
    from headcount.domain.settings import Gates

_VERDICT = (
    "You stand at its commit; change nothing. Say headcount review pass <task>, or headcount review changes "
    "<task> --reason WHY. Tell the lead the same, and of which commit, with "
    'headcount send lead -s Review -m "$(git rev-parse HEAD) WHAT".'
)
_REVIEW_SPEC = f"Review task <task> against its description. {_VERDICT}"
_REVIEW_CODE = f"Review the code of task <task>. {_VERDICT}"
_ACKNOWLEDGED = {
    "type": "shutdown_response",
    "from": "worker#1",
    "requestId": "<request>",
    "subject": "Shutdown approved",
}


def lead_skill(policy: Policy, gates: Gates) -> str:
    return join(
        "# Leading a team",
        "You give out work and decide what is escalated. You never stop, kill, nudge or inspect "
        "a member: the "
        "witness does that (see the authority page). Where a definition exists, `headcount run FILE` carries "
        "out Steps 5 and 6 by itself, by the same rules; follow them by hand only where there is none.",
        _loop(policy),
        _gates(policy, gates),
        "## Team Shutdown",
        "Shutdown is asked for, answered, verified and only then carried out. A member's work is inspected, "
        "and what is dirty is sent back or saved, before anything of it is stopped.",
        _verification(policy),
        _red_flags(policy),
        _errors(policy),
    )


def _loop(policy: Policy) -> str:
    at_once = "one at a time" if policy.tasks_at_once == 1 else f"at most {policy.tasks_at_once} at once"
    return join(
        "## STEP 5: Task execution loop",
        f"For each task in dependency order, {at_once}:",
        "### 5.1 Spawn a worker for this task",
        "Take the model from the task's metadata. It begins where you stand, with all that you merged.",
        shell(
            "headcount task list --status pending --json",
            f"headcount spawn {WORKER} --reviewed --at $(git rev-parse HEAD) --model <model> "
            "--prompt 'Run headcount task claim <task> and do what it says. Write a failing test first, then "
            "the code that makes it pass; commit each step. Run all tests before headcount done.'",
        ),
        "### 5.2 Wait for the worker",
        "Its done signal goes to the witness, who inspects its workspace. What is dirty is sent back without "
        f"you, at most {times(policy.max_attempts)}; you hear of it only when that did not help. The task "
        "stands in review when the worker has said done, and the worker is `verified` when it is clean.",
        shell("headcount task list --status in_review", "headcount status <team>"),
        "### 5.3 Spawn both reviewers",
        "Each looks at one commit: where the worker stood when it was verified.",
        shell(
            _spawn_reviewer(SPEC, "haiku", _REVIEW_SPEC),
            _spawn_reviewer(QUALITY, "opus", _REVIEW_CODE),
        ),
        "### 5.4 Wait for both reviews to pass",
        shell("headcount inbox --unread --wait 600"),
        "Both must pass, for the very commit that will be merged. Changes go back to the worker in the "
        f"reviewers' own words, at most {times(policy.review_rounds)}; then the task is blocked.",
        shell('headcount send worker -s "Changes requested" -m "<what the reviewers wrote>"'),
        "For the next round shut both reviewers down (5.5) and spawn them anew (5.3).",
        "### 5.5 Shut down ALL agents of this task",
        "Ask each, then wait for all three (Shutdown Verification, below).",
        *(_request(who) for who in (WORKER, SPEC, QUALITY)),
        f"Wait for the answers of all three, at most {seconds(policy.answer_timeout_s)} each. Who did not "
        "answer is recorded as unanswered, with a warning, and stopped all the same once its work is safe.",
        "### 5.6 Mark the task complete",
        "Merge the commit that both named, then say so. A conflict is a request for changes.",
        shell("git merge --no-edit <commit>", "headcount task complete <task>"),
        "### 5.7 Loop to the next task",
        "Only after every agent of this task is gone, stuck or escalated, as the status shows it.",
    )


def _spawn_reviewer(role: str, model: str, prompt: str) -> str:
    return f"headcount spawn {role} --role {role} --at {WORKER} --model {model} --prompt '{prompt}'"


def _request(who: str) -> str:
    reason = REASON_WORKER if who == WORKER else REASON_REVIEWER
    return tool("send_message", type="shutdown_request", recipient=who, reason=reason)


def _verification(policy: Policy) -> str:
    return join(
        "## Shutdown Verification",
        "Two steps, and the second is not optional: a request that nobody has answered proves nothing.",
        "### Step 1: Request shutdown",
        "For each active agent (worker, spec-reviewer, code-quality-reviewer). By command:",
        shell(f'headcount down <team> --member {WORKER} --reason "{REASON_WORKER}" --no-wait'),
        "### Step 2: Verify shutdown",
        'Each answer is a message to you. Plain text such as "Acknowledged, exiting" is not an answer.',
        as_json(_ACKNOWLEDGED),
        "An answer is not an end either. A member is gone when its processes are proved to be:",
        tool("shutdown_status", request_id="<request>"),
        f"**Timeout:** without an answer within {seconds(policy.answer_timeout_s)}\n\n"
        '1. the warning "Agent <name> did not acknowledge shutdown within timeout" is logged,\n'
        "2. the shutdown goes on: its workspace is inspected, its work saved, its processes "
        "ended and counted.",
        "**IMPORTANT:** do NOT spawn agents for the next task before all agents of this one have answered or "
        "timed out, and are gone.",
    )


def _gates(policy: Policy, gates: Gates) -> str:
    command = (
        f"`{gates.verify}`" if gates.verify else "the command `verify` of the definition or the settings"
    )
    limits = [
        f"{name}: {limit} lines" if limit else f"{name}: no limit"
        for name, limit in (
            ("a file", gates.max_file_lines),
            ("a function", gates.max_function_lines),
            ("everything that the phase added", gates.max_total_lines),
        )
    ]
    return join(
        "## STEP 6: Complete the phase",
        "### 6.1 Verification gate",
        f"Run {command} on what you merged. It passes by its exit code; a gate that could not run has "
        "not passed.",
        "### 6.2 Complexity gate",
        bullets(*limits),
        "### 6.3 Complete phase",
        "**Completion Checklist: verify ALL before the status is complete.**",
        "\n".join(
            f"{n}. [ ] {item.title}" for n, item in enumerate(checklist(Phase("", ""), ()), 1)
        ),
        "Team cleanup is one call. It asks whoever is left, saves, stops and proves as above:",
        tool("team_shutdown", reason="Phase complete"),
        "**Only after ALL items are verified** the phase is complete. `headcount run` writes that to "
        "`.headcount/teams/<team>/status.json`; without it, the end is in the team's archive:",
        as_json({
            "status": "complete",
            "started_at": "<ISO time with offset>",
            "completed_at": "<ISO time with offset>",
        }),
        "Then stop. You are stood down with your team, as the last but the witness.",
    )  # fmt: skip


def _red_flags(policy: Policy) -> str:
    return join(
        "## Red Flags",
        "**Never:**",
        bullets(
            "Spawn agents for the next task before the current agents are shut down",
            "Skip shutdown verification: wait for every answer, or its timeout",
            "Leave teammates running after the phase completes",
            "Proceed without requesting shutdown of ALL active agents",
            "Kill a session or a process yourself, or ask a member to do it",
            "Take a member's word for a clean workspace, a finished task or an exit",
            "Count one review twice, or a review of another commit",
            "Answer an escalation twice: the first decision wins",
        ),
        "**Always:**",
        bullets(
            "Request shutdown of worker, spec-reviewer and code-quality-reviewer after each task",
            f"Wait for each acknowledgment, or its {seconds(policy.answer_timeout_s)}, before the next task",
            "Run team cleanup at the end of the phase",
            "Log a warning for every agent that did not acknowledge",
            "Read the reason of a refusal, word for word, before you ask again",
            "Leave inspections, nudges and kills to the witness",
        ),
    )


def _errors(policy: Policy) -> str:
    waits = times(policy.max_waits) if policy.max_waits else "never"
    return join(
        "## Error Handling",
        "**Shutdown request not acknowledged:**",
        bullets(
            f"Wait {seconds(policy.answer_timeout_s)} for the acknowledgment",
            'The warning "Agent <name> did not acknowledge shutdown within timeout" is logged',
            "Go on; the agent may have ended already, and is looked at either way",
        ),
        "**Shutdown refused:**",
        bullets(
            "Nobody is stopped; the reason is in the status and in your inbox",
            f"Ask again; refused {times(ASKS)}, it is escalated",
        ),
        f"**A worker cannot clean up:** found dirty {times(policy.max_attempts)}, it is escalated to you, "
        "once. Decide:",
        shell("headcount escalations", "headcount decide <escalation> reassign"),
        bullets(
            "`force-kill`: its work is saved, then it is ended",
            "`reassign`: the same, and its task goes to another worker, who starts from what was saved",
            "`human`: a person takes it over; nothing is stopped",
            f"`wait`: it is nudged once more; may be chosen {waits}",
        ),
        "**The run must end now:** ask the witness; it stops what is under way, nothing new starts.",
        shell('headcount abort <team> --reason "<why>"'),
        "**Cleanup operation fails:**",
        bullets(
            f"It is retried {times(policy.cleanup_retries)} by itself"
            if policy.cleanup_retries
            else "It is not retried",
            "If it still fails, the team is closed all the same, with what is left and a warning",
            "Put that into the completion notes; it does not hold the phase up, as long as nobody is left",
        ),
    )
