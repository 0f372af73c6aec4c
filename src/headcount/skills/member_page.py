"""Write the member's checklist: what to check before done, and how to report it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.skills.page_parts import bullets, join, seconds, shell, times

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headcount.domain.policy import Policy
    from headcount.domain.settings import Integration


def member_checklist(policy: Policy, integration: Integration) -> str:
    branch = integration.branch or "headcount/<team>/integration"
    return join(
        "# Decommission Checklist",
        "**CRITICAL:** before you signal done, go through this list. The witness looks at every "
        "item itself and "
        f"sends you back if anything is dirty; after {times(policy.max_attempts)} the lead "
        "decides about you.",
        "## Pre-Done Verification",
        "1. Nothing is changed, staged, in conflict or untracked. Expected: no output.",
        shell("git status --porcelain"),
        "2. No stash of yours is left. Expected: no line that names your branch.",
        shell("git stash list"),
        "3. No merge, rebase, cherry-pick or bisect is under way. Expected: nothing of the kind.",
        shell("git status"),
        _work(policy, branch),
        _sync(integration),
        "## If Any Check Fails",
        bullets(*_remedies(policy, integration)),
        "## Signaling Done",
        "Only after ALL checks pass:",
        shell("headcount done --verified"),
        "Your workspace is read at once. If it is dirty you get a nudge and a mail with the very files: fix "
        "them and signal done again. If reviewers ask for changes, do the same.",
        "## When You Are Asked To Stand Down",
        f"Answer within {seconds(policy.answer_timeout_s)}. Plain text is not an answer.",
        shell("headcount inbox --unread", "headcount approve <request>"),
        "To go on, refuse; your reason is read word for word:",
        shell('headcount reject <request> --reason "<what is still to do>"'),
        "Approving is not leaving: another member may refuse, and then you continue. Keep reading your mail "
        "until you are stopped.",
        "Do not end your own session, and do not arrange things with other members: write to the lead.",
        shell('headcount send lead -s "<subject>" -m "<text>"'),
    )  # fmt: skip


def _remedies(policy: Policy, integration: Integration) -> Iterator[str]:
    yield "**Uncommitted changes:** commit them, or discard what is truly unnecessary"
    yield "**Stashes:** pop and commit, or drop what is obsolete"
    yield "**Something under way:** finish it or abort it"
    if policy.require_merged == "always":
        yield "**Not merged:** complete the merge; if that is not yours to do, write to the lead"
    if integration.sync:
        yield f"**Out of sync:** run `{integration.sync}` until it succeeds"


def _work(policy: Policy, branch: str) -> str:
    if policy.require_merged == "always":
        return join(
            f"4. Your work is merged into `{branch}`. Expected: no output.",
            shell(f"git log --oneline {branch}..HEAD"),
        )
    return join(
        "4. Your work is committed on your own branch; in a run the engine merges what was reviewed. "
        "Expected: your commits.",
        shell("git log --oneline -3"),
    )


def _sync(integration: Integration) -> str:
    if not integration.sync:
        return ""
    return join("5. In sync. Expected: exit code 0.", shell(integration.sync))
