"""Define the policy: every limit and number of the rules. Users set it in `headcount.toml`, `[policy]`."""

from __future__ import annotations

from dataclasses import field
from typing import Final, Protocol

from headcount.value_classes import dataclass


def _doc(text: str) -> dict[str, str]:
    return {"doc": text}


# Where secrets usually are. Templates that hold none are taken out again.
PRIVATE: Final = (
    ".env", ".env.*", "!.env.example", "!.env.sample", "!.env.template", ".envrc", "*.pem", "*.key", "*.p12",
    "*.pfx", "*.jks", "*.keystore", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", ".netrc", ".npmrc",
    ".pypirc", ".pgpass", ".git-credentials",
)  # fmt: skip


FIRST_KINDS: Final = ("escalation", "ask", "failure")
NOTIFY_KINDS: Final = (*FIRST_KINDS, "question", "limit")


@dataclass(frozen=True, slots=True)
class Policy:
    """Time limits, retries, and how much may run at once."""

    answer_timeout_s: float = field(default=30, metadata=_doc("time to answer a stand-down request"))
    checkout_timeout_s: float = field(
        default=240, metadata=_doc("time to create a workspace, and as much for its setup")
    )
    start_timeout_s: float = field(
        default=60, metadata=_doc("time from the workspace to a running member; then the start is undone")
    )
    inspect_timeout_s: float = field(default=60, metadata=_doc("time to inspect a workspace"))
    judge_timeout_s: float = field(default=60, metadata=_doc("time for a verdict on the findings"))
    nudge_timeout_s: float = field(
        default=120, metadata=_doc("time between nudges, and from the last one to an escalation")
    )
    salvage_timeout_s: float = field(
        default=300, metadata=_doc("time to save a workspace and read it back; also to remove 16 workspaces")
    )
    exit_grace_s: float = field(
        default=5, metadata=_doc("time for a client to exit in its own way, before SIGTERM")
    )
    stop_grace_s: float = field(
        default=10, metadata=_doc("time from SIGTERM to SIGKILL, and from SIGKILL to stuck")
    )
    finalizer_timeout_s: float = field(default=60, metadata=_doc("time for a finalizer"))
    gate_timeout_s: float = field(default=1800, metadata=_doc("time for the verification gate"))
    stall_timeout_s: float = field(
        default=1800,
        metadata=_doc("time without progress before a member counts as stalled and is nudged once"),
    )
    cycle_after_s: float = field(default=0, metadata=_doc("age at which a member is cycled; 0: never"))
    cycle_on_compact: bool = field(
        default=False, metadata=_doc("cycle a member before its client compacts its context")
    )
    max_attempts: int = field(default=3, metadata=_doc("failed inspections before an escalation"))
    max_waits: int = field(default=1, metadata=_doc('how often an escalation may be answered with "wait"'))
    on_escalation: str = field(
        default="ask", metadata=_doc('"ask": someone decides; "force-kill": the policy decides')
    )
    on_ask: str = field(
        default="ask",
        metadata=_doc(
            'who answers a permission request that no pattern decides: "ask": you; "lead": you or the lead; '
            '"deny": it is denied'
        ),
    )
    ask_timeout_s: float = field(
        default=600, metadata=_doc("time to answer a permission request; then it is denied")
    )
    notify: tuple[str, ...] = field(default=(), metadata=_doc("the same as `notify.command`"))
    max_members: int = field(default=16, metadata=_doc("members alive at once"))
    tasks_at_once: int = field(default=1, metadata=_doc("tasks in progress at once in `run`"))
    review_rounds: int = field(default=3, metadata=_doc("how often changes may be requested for one task"))
    task_restarts: int = field(
        default=1, metadata=_doc("how often a lost member of a task is replaced before the task is blocked")
    )
    restarts: int = field(
        default=2,
        metadata=_doc("how often in a row a client that failed is started again before its member fails"),
    )
    budget_tokens: int = field(
        default=0, metadata=_doc("tokens after which a member is asked to stand down; 0: no limit")
    )
    budget_turns: int = field(
        default=0, metadata=_doc("turns after which a member is asked to stand down; 0: no limit")
    )
    budget_usd: float = field(
        default=0, metadata=_doc("dollars after which a member is asked to stand down; 0: no limit")
    )
    budget_team_usd: float = field(
        default=0,
        metadata=_doc("dollars of a whole team after which a member that spends more is asked; 0: no limit"),
    )
    budget_day_usd: float = field(
        default=0,
        metadata=_doc("the same for all teams of this state directory on one day; 0: no limit"),
    )
    limit_wait_s: float = field(
        default=60,
        metadata=_doc("wait at a usage limit if the client does not name its end; doubled each time"),
    )
    wake_on_mail: bool = field(
        default=True,
        metadata=_doc("tell a client that is idle in a terminal about new mail, on an empty input line"),
    )
    cleanup_retries: int = field(default=1, metadata=_doc("retries of a failed cleanup step"))
    judge: str | tuple[str, ...] = field(
        default="rules", metadata=_doc('who judges findings: "rules", "witness", or a command')
    )
    require_merged: str = field(default="run", metadata=_doc("when unmerged commits count as dirty"))
    peer_mail: bool = field(default=False, metadata=_doc("members may write to each other"))
    salvage_max_mb: int = field(
        default=2048, metadata=_doc("largest salvage; above it the workspace is kept")
    )
    salvage_ignored_max_mb: int = field(
        default=256, metadata=_doc("largest part of ignored files; above it the workspace is kept")
    )
    salvage_private: tuple[str, ...] = field(
        default=PRIVATE,
        metadata=_doc("untracked files that no ref may hold: saved in the archive beside the state"),
    )
    salvage_skip: tuple[str, ...] = field(
        default=(), metadata=_doc("ignored files that can be built again: listed in the receipt, not saved")
    )
    salvage_skip_known: bool = field(
        default=True,
        metadata=_doc(
            "also skip well-known build directories, such as `node_modules` beside a `package.json`"
        ),
    )
    checkpoint_s: float = field(
        default=60, metadata=_doc("time between checkpoints of a workspace that changes; 0: none")
    )
    checkpoint_max_mb: int = field(
        default=512, metadata=_doc("largest store of checkpoints of one workspace; the oldest are deleted")
    )
    containment: str = field(
        default="auto",
        metadata=_doc('how a member\'s processes are contained; "auto": the strongest safe way'),
    )

    keep_days: int = field(
        default=30,
        metadata=_doc("days that logs, read mail, archives and checkpoints of a closed team are kept"),
    )
    keep_mb: int = field(
        default=2048, metadata=_doc("the same by size, for all closed teams; the oldest go first")
    )

    # What `[notify]` chose when the team began, if it has a way to notify. It is not a setting of its own.
    notify_kinds: tuple[str, ...] = ()

    def notifies(self, kind: str) -> bool:
        return kind in (self.notify_kinds or (FIRST_KINDS if self.notify else ()))

    @property
    def starting_timeout_s(self) -> float:
        return self.checkout_timeout_s + self.start_timeout_s

    @property
    def judging_timeout_s(self) -> float:
        return self.inspect_timeout_s + self.judge_timeout_s


def list_used_up(policy: Policy, spent: Spent) -> list[str]:
    """Return the budgets that a member has used up, in words: "1,650 of 600 tokens"."""
    counted = ((spent.tokens, policy.budget_tokens, "tokens"), (spent.turns, policy.budget_turns, "turns"))
    paid = (
        (spent.cost_usd, policy.budget_usd, ""),
        (spent.team_usd, policy.budget_team_usd, " of the team"),
        (spent.day_usd, policy.budget_day_usd, " of the day"),
    )
    return [
        *(f"{used:,} of {budget:,} {what}" for used, budget, what in counted if 0 < budget <= used),
        *(f"${used:,.2f} of ${budget:,.2f}{what}" for used, budget, what in paid if 0 < budget <= used),
    ]


class Spent(Protocol):
    """The usage of a member so far, the cost of its team, and of the day."""

    @property
    def tokens(self) -> int: ...
    @property
    def turns(self) -> int: ...
    @property
    def cost_usd(self) -> float: ...
    @property
    def team_usd(self) -> float: ...
    @property
    def day_usd(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Limits:
    """Largest sizes that headcount accepts."""

    message_bytes: int = field(default=100_000, metadata=_doc("the body of one message"))
    description_bytes: int = field(default=10_000, metadata=_doc("the description of a team or a task"))
    subject_characters: int = field(default=200, metadata=_doc("the subject of a message or a task"))
    tasks: int = field(default=1_000, metadata=_doc("tasks of one team"))
    members: int = field(default=1_000, metadata=_doc("members of one team"))
