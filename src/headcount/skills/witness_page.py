"""Write the witness's instructions: inspect, judge, nudge, stop, escalate, hand over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.domain import templates
from headcount.domain.findings import Finding, Findings, Kind
from headcount.protocol.team import DECISIONS
from headcount.skills.page_parts import bullets, join, seconds, shell, text, times

if TYPE_CHECKING:
    from headcount.domain.policy import Policy


def _issue(kind: Kind, what: str) -> str:
    """Return an issue in the words of an inspection."""
    return Findings("", "", items=(Finding(kind, what, "", ""),)).issues()[0]


_CHANGED = _issue(Kind.MODIFIED, "src/foo.py (modified)")
_STASHED = _issue(Kind.STASH, "5d41402abc4b On headcount/<team>/<member>: half an index")
_UNMERGED = _issue(Kind.UNMERGED, "9e107d9d372b Add the parser")


def witness_instructions(policy: Policy) -> str:
    return join(
        "# The witness",
        "You watch over the members: you look into their workspaces, judge what you see, send back what is "
        "dirty, and are the only one who ends anyone. The engine does the counting, saving and proving; you "
        "add judgement. You implement nothing, and do not plan for other teams.",
        _pre_kill(policy),
        _nudges(),
        _kill(policy),
        _escalation(policy),
        _cycling(policy),
    )


def _pre_kill(policy: Policy) -> str:
    return join(
        "## Pre-Kill Verification Protocol",
        "No session is ended before its workspace was looked at. When a member signals done, or is asked to "
        'stand down, its findings are mailed to you (`judge = "witness"`).',
        "### Verification Steps",
        "1. **Capture its state**, as it is now:",
        shell("headcount witness findings <member>", "headcount witness capture <member>"),
        "2. **Assess it** with your own judgement:",
        bullets(
            "Is anything changed, staged, untracked or in conflict that matters?",
            "Is there a stash that is not meant to stay?",
            "Is a merge, rebase, cherry-pick or bisect under way?",
            "Is its work committed, and on its branch?",
        ),
        f"3. **Decide** within {seconds(policy.judge_timeout_s)}; no verdict counts as dirty:",
        shell(
            "headcount witness verdict <member> clean",
            'headcount witness verdict <member> dirty --issue "uncommitted changes in src/foo.py"',
        ),
        "Clean lets it go on to its reviews or its end; dirty sends it back with what you named. "
        "Whatever you "
        "say, everything in the workspace is saved before anything is stopped.",
    )


def _nudges() -> str:
    return join(
        "### Nudge Templates",
        "A verdict of dirty nudges by itself, in these words. By hand only for what is not about a verdict:",
        shell('headcount witness nudge <member> "Say what you wait for, or go on."'),
        "**Uncommitted Changes**",
        text(templates.witness_check((_CHANGED,))),
        "**Stash Not Empty**",
        text(templates.witness_check((_STASHED,))),
        "**Work Not Merged**",
        text(templates.witness_check((_UNMERGED,))),
        "**Multiple Issues**",
        text(templates.witness_check((_CHANGED, _STASHED))),
        "A nudge waits until its member pauses, and is given once. `delivered: false` means that nobody took "
        "it; its mail is in the inbox all the same.",
    )


def _kill(policy: Policy) -> str:
    return join(
        "## Kill Sequence",
        "Only after verification has passed, or its work was saved and read back:",
        shell('headcount down <team> --member <member> --reason "Verified clean" --no-wait'),
        f"It is asked ({seconds(policy.answer_timeout_s)}), inspected again, told to exit its own way "
        f"({seconds(policy.exit_grace_s)}), sent SIGTERM ({seconds(policy.stop_grace_s)}), then "
        "SIGKILL until "
        "nothing of it is alive. `Verified clean: <member>` and its end are lines in "
        "`.headcount/teams/<team>/witness/verification.log`; what is pending is in `state.json` beside it. "
        "What could not be proved gone is stuck, and is shown so: ask again with the same command.",
    )


def _escalation(policy: Policy) -> str:
    subject, body = templates.worker_escalation(
        "<team>", "<member>", "<task>", policy.max_attempts, (_CHANGED,), "<escalation>",
        dict.fromkeys(DECISIONS),
    )  # fmt: skip
    return join(
        "## Escalation",
        f"Found dirty {times(policy.max_attempts)}, or silent: the lead has to "
        "decide. Silence, "
        f"each {seconds(policy.nudge_timeout_s)}: first a more urgent nudge, second its screen is "
        "captured, third "
        "escalated. One mail, once; the lead hears of problems, not of routine:",
        text(f"Subject: {subject}\n\n{body}"),
        shell("headcount escalations"),
        "Until somebody decides, nothing of that member is stopped.",
    )


def _cycling(policy: Policy) -> str:
    _, note = templates.witness_handoff(
        "<team>", "2026-01-15T10:30:00+00:00", (("<member>", "working on <task>, generation 1"),),
        ("<member>: attempt 1, since 10:25:00, not yet verified",), ("10:20:01 Nudged <member>#1",),
        "<your remarks>", ("Verify the workspace of <member>",),
    )  # fmt: skip
    aged = (
        f"After {seconds(policy.cycle_after_s)} you are cycled by itself."
        if policy.cycle_after_s
        else "Nobody is cycled by age here (`cycle_after_s = 0`)."
    )
    return join(
        "## Session Cycling",
        f"Your context fills up over a long run. {aged}",
        "### Recognizing When to Cycle",
        bullets(
            "You have been running for many hours",
            "You are losing track of which members you have checked",
            "Your answers get slower or less coherent",
            "You are about to begin something complex",
        ),
        "### Handoff Protocol",
        "1. **Look at everything once more:**",
        shell("headcount status <team>", "headcount escalations", "headcount inbox --unread"),
        "2. **Hand over.** The note is composed from the journal; you add what is not in it:",
        shell('headcount cycle --self --remarks "<what your successor must know>"'),
        "3. **End your session.** The note is stored before anything of you is stopped; your successor "
        "starts with it, in your workspace.",
        "### Handoff Note Format",
        text(note),
        "### On Fresh Session Start",
        "The handover of your predecessor stands at the end of your first mail, and stays open "
        "until you act. "
        "Go on with its pending verifications. Without one, look at everything:",
        shell("headcount inbox", "headcount status <team>"),
    )
