"""The names by which agents of other systems answer a stand-down, and what each means."""

from __future__ import annotations

from headcount.domain.names import show
from headcount.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

APPROVE = "approve"
REJECT = "reject"

_APPROVALS = frozenset((
    "approve", "approved", "approve_shutdown", "shutdown_approve", "shutdown_approved", "shutdown_approval",
    "shutdown_ack", "shutdown_acknowledge", "shutdown_acknowledged", "shutdown_accepted",
    "shutdown_confirmed",
))  # fmt: skip
_REJECTIONS = frozenset((
    "reject", "rejected", "reject_shutdown", "shutdown_reject", "shutdown_rejected", "shutdown_rejection",
    "shutdown_denied", "shutdown_declined", "shutdown_refused", "deny_shutdown", "decline_shutdown",
))  # fmt: skip
# These say in a field of their own which it is.
_RESPONSES = frozenset(
    ("shutdown_response", "shutdown_reply", "shutdown_answer", "shutdown_request_response")
)


def read_reply(reply: Mapping[str, object]) -> tuple[str, str | None, str] | None:
    """`(approve or reject, request id or None, reason)` of a structured reply, or None."""
    # `shutdownApproved`, `shutdown-approved`, `Shutdown_Approved` and `SHUTDOWN_APPROVED` are one name.
    name = str(reply.get("type", ""))
    if name.isupper():
        name = name.lower()
    spread = "".join(f"_{c.lower()}" if c.isupper() else c for c in name.replace("-", "_").replace(" ", "_"))
    kind = "_".join(filter(None, spread.split("_")))
    if kind in _APPROVALS:
        verdict = APPROVE
    elif kind in _REJECTIONS:
        verdict = REJECT
    elif kind in _RESPONSES:
        verdict = APPROVE if _says_yes(reply) else REJECT
    else:
        return None
    return (
        verdict,
        _text(reply, "request_id", "requestId", "request") or None,
        _text(reply, "reason", "content"),
    )


def _says_yes(reply: Mapping[str, object]) -> bool:
    """Nothing is guessed: a response that does not say yes or no is an error that names the field (A11)."""
    for field in ("approve", "approved", "approval"):
        value = reply.get(field)
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value.lower() in ("true", "false", "yes", "no"):
            return value.lower() in ("true", "yes")
        if value is not None:
            raise UsageError(
                f"{field} is {show(str(value))}", f"{field} must be true or false", code="bad-approve"
            )
    raise UsageError(
        "The answer does not say whether it approves",
        "approve is missing",
        ("Send approve: true, or approve: false with a reason",),
        code="missing-approve",
    )


def _text(reply: Mapping[str, object], *names: str) -> str:
    return next((value for name in names if isinstance(value := reply.get(name), str) and value), "")
