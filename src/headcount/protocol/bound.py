"""How long a stand-down can take at most, computed from the policy alone (I8).

Counted from the last time that a person did something about it (asked, forced, decided): from then on every
step has a limit, so the whole has one, whatever the agents do. Members are asked and stopped all at once,
so their number counts in three places only: a start that is under way may have waited for its turn; whoever
stood idle may claim a task while others answer, one after the other, and must be asked then; and what they
leave behind is cleaned up a few at a time.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from headcount.protocol.shutdown import LAST_ROLES
from headcount.protocol.team import CLOSE_STEPS

if TYPE_CHECKING:
    from headcount.domain.policy import Policy

ACTS_AT_ONCE = 64  # acts wait for git, the disk and the ends of processes
CLOSE_AT_ONCE = 16  # finalizers, or workspaces: it is the disk's answer that is waited for
_SILENCES = 3  # a nudge is left unanswered: told again, its screen captured, escalated


def bound_s(policy: Policy, members: int | None = None) -> float:
    """To shutdown, rejected, escalated or stuck; for a team of so many, else of as many as there may be."""
    size = policy.max_members if members is None else members
    asking = start_s(policy, size) + size * policy.answer_timeout_s
    stages = 1 + len(LAST_ROLES)
    return asking + stages * one_member_s(policy) + _closing_s(policy, size)


def start_s(policy: Policy, members: int) -> float:
    """Until so many that are to be started at once are, or are given up: each has its time from its turn."""
    return max(1, math.ceil(members / ACTS_AT_ONCE)) * policy.starting_timeout_s


def one_member_s(policy: Policy) -> float:
    """From its first inspection to the last look at its workspace."""
    inspections = policy.max_attempts * policy.judging_timeout_s
    nudges = policy.max_attempts * _SILENCES * policy.nudge_timeout_s
    # SIGTERM is sent again when its own process ends first, so that grace may run twice; SIGKILL has one too.
    stopping = policy.exit_grace_s + 3 * policy.stop_grace_s
    return inspections + nudges + 2 * policy.salvage_timeout_s + stopping


def close_step_s(policy: Policy, members: int) -> float:
    """One step of closing a team of so many: its work is done in rounds, and each has the time of one."""
    return max(1, math.ceil(members / CLOSE_AT_ONCE)) * policy.finalizer_timeout_s


def _closing_s(policy: Policy, members: int) -> float:
    return len(CLOSE_STEPS) * (1 + policy.cleanup_retries) * close_step_s(policy, members)
