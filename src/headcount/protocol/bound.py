"""Compute how long a stand-down can take, from the policy alone (I8)."""

# The bound counts from the last time that a person requested, forced or decided something. From then on
# every step has a limit, so the whole has one, whatever the agents do.
#
# Members are asked and stopped in parallel. Their number counts in three places only:
#
# - a start that is in progress may have waited for a free thread;
# - idle members may claim tasks while others answer, one after the other, and are then asked;
# - closing cleans up a few members at a time.
#
# The explorer and the simulator check the bound in every run. A limit that is added to the policy but not
# here makes a test fail, if a run can reach it.

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from headcount.protocol.shutdown import LAST_ROLES
from headcount.protocol.team import CLOSE_STEPS

if TYPE_CHECKING:
    from headcount.domain.policy import Policy

ACTS_AT_ONCE = 64  # threads; acts mostly wait for git, the disk and processes
CHECKOUTS_AT_ONCE = 2  # at least (`workspace/worktrees.py`); each keeps a processor and the disk busy
CLOSE_AT_ONCE = 16  # finalizers or workspaces; they mostly wait for the disk
_SILENCES = 3  # after a nudge: a reminder, a capture of the screen, an escalation


def bound_s(policy: Policy, members: int | None = None) -> float:
    """Return the bound to shutdown, rejected, escalated or stuck. `members` defaults to `max_members`."""
    size = policy.max_members if members is None else members
    asking = start_s(policy, size) + size * policy.answer_timeout_s
    stages = 1 + len(LAST_ROLES)
    return asking + stages * one_member_s(policy) + _closing_s(policy, size)


def start_s(policy: Policy, members: int) -> float:
    """Return the bound for so many starts at once: checkouts in rounds, then the setup and start of each."""
    rounds = max(1, math.ceil(members / CHECKOUTS_AT_ONCE))
    turns = max(1, math.ceil(members / ACTS_AT_ONCE))
    return rounds * policy.checkout_timeout_s + turns * policy.starting_timeout_s


def one_member_s(policy: Policy) -> float:
    """Return the bound for one member, from its first inspection to the last read of its workspace."""
    inspections = policy.max_attempts * policy.judging_timeout_s
    nudges = policy.max_attempts * _SILENCES * policy.nudge_timeout_s
    # If its own process ends first, SIGTERM is sent again, so that grace may run twice. SIGKILL has one too.
    stopping = policy.exit_grace_s + 3 * policy.stop_grace_s
    return inspections + nudges + 2 * policy.salvage_timeout_s + stopping


def close_step_s(policy: Policy, members: int) -> float:
    """Return the bound for one closing step. Members are handled in rounds, each with the time of one.

    A finalizer has a limit of its own. A workspace is read whole again before it is removed, which takes as
    long as saving it.
    """
    rounds = max(1, math.ceil(members / CLOSE_AT_ONCE))
    return rounds * (policy.finalizer_timeout_s + policy.salvage_timeout_s)


def _closing_s(policy: Policy, members: int) -> float:
    return len(CLOSE_STEPS) * (1 + policy.cleanup_retries) * close_step_s(policy, members)
