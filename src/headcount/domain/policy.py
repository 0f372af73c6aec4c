"""Every number that decides anything, in one object. Settable in `headcount.toml` under `[policy]`."""

from __future__ import annotations

from dataclasses import dataclass, field


def _doc(text: str) -> dict[str, str]:
    return {"doc": text}


@dataclass(frozen=True, slots=True)
class Policy:
    """How long each step may take, how often it is tried, and how much may run at once."""

    answer_timeout_s: float = field(default=30, metadata=_doc("asked → unanswered"))
    checkout_timeout_s: float = field(default=240, metadata=_doc("making one workspace"))
    start_timeout_s: float = field(
        default=60, metadata=_doc("its workspace is made → registered, else it is undone")
    )
    inspect_timeout_s: float = field(default=60, metadata=_doc("reading the findings of one workspace"))
    judge_timeout_s: float = field(default=60, metadata=_doc("from findings to a verdict"))
    nudge_timeout_s: float = field(default=120, metadata=_doc("nudged → next step of the ladder"))
    salvage_timeout_s: float = field(default=300, metadata=_doc("snapshot and read-back of one workspace"))
    exit_grace_s: float = field(default=5, metadata=_doc("its own way to exit → SIGTERM"))
    stop_grace_s: float = field(default=10, metadata=_doc("SIGTERM → SIGKILL, and SIGKILL → stuck"))
    finalizer_timeout_s: float = field(
        default=60, metadata=_doc("one finalizer, or a step of cleanup for 16 members")
    )
    gate_timeout_s: float = field(default=1800, metadata=_doc("the command of the verification gate"))
    stall_timeout_s: float = field(
        default=1800, metadata=_doc("no sign of progress: shown as stalled, nudged once")
    )
    cycle_after_s: float = field(default=0, metadata=_doc("age at which a member is cycled; 0: never"))
    cycle_on_compact: bool = field(
        default=False, metadata=_doc("cycle a member whose client is about to compact its context")
    )
    max_attempts: int = field(default=3, metadata=_doc("failed inspections before an escalation"))
    max_waits: int = field(default=1, metadata=_doc('how often an escalation may be answered with "wait"'))
    on_escalation: str = field(default="ask", metadata=_doc('"ask", or "force-kill": decided by policy'))
    notify: tuple[str, ...] = field(default=(), metadata=_doc("a command to run on an escalation"))
    max_members: int = field(default=16, metadata=_doc("alive at once"))
    tasks_at_once: int = field(default=1, metadata=_doc("tasks under way at once in `run`"))
    review_rounds: int = field(default=3, metadata=_doc("how often changes may be requested for one task"))
    task_restarts: int = field(
        default=1, metadata=_doc("how often a lost member of one task is replaced before it is blocked")
    )
    budget_tokens: int = field(
        default=0, metadata=_doc("tokens after which a member is asked to stand down; 0: no limit")
    )
    budget_turns: int = field(default=0, metadata=_doc("the same, for turns of its client"))
    limit_wait_s: float = field(
        default=60,
        metadata=_doc("a usage limit of which the client does not say when it ends; doubled each time"),
    )
    cleanup_retries: int = field(default=1, metadata=_doc("how often a failed cleanup step is tried again"))
    judge: str | tuple[str, ...] = field(default="rules", metadata=_doc('"rules", "witness", or a command'))
    require_merged: str = field(default="run", metadata=_doc('"run", "always" or "never"'))
    peer_mail: bool = field(default=False, metadata=_doc("members may write to each other"))
    salvage_max_mb: int = field(default=2048, metadata=_doc("above: said, the workspace kept, nothing cut"))
    salvage_ignored_max_mb: int = field(default=256, metadata=_doc("the same, for ignored files"))
    containment: str = field(
        default="auto",
        metadata=_doc("how a member's processes are held together: the strongest safe means, or one by name"),
    )

    @property
    def starting_timeout_s(self) -> float:
        return self.checkout_timeout_s + self.start_timeout_s

    @property
    def judging_timeout_s(self) -> float:
        return self.inspect_timeout_s + self.judge_timeout_s


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes that are refused above, with a clear error."""

    message_bytes: int = field(default=100_000, metadata=_doc("the body of one message"))
    description_bytes: int = field(default=10_000, metadata=_doc("the description of a team or a task"))
    subject_characters: int = field(default=200, metadata=_doc("the subject of a message or a task"))
    tasks: int = field(default=1_000, metadata=_doc("tasks of one team"))
    members: int = field(default=1_000, metadata=_doc("members of one team"))
