"""What the store itself takes from a team's settings: limits, and whether members may write to each other."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from headcount.domain.policy import Limits, Policy
from headcount.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

_POLICY = Policy()


def read_limits(settings: Mapping[str, Any]) -> tuple[Limits, bool]:
    """`limits` and `policy.peer_mail` of the settings; what is not said has its default."""
    said = settings.get("limits") or {}
    for name, value in said.items():
        if name not in {field.name for field in fields(Limits)}:
            raise UsageError(f"There is no limit {name!r}", code="unknown-setting")
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise UsageError(
                f"limits.{name} is {value!r}", "a limit is a whole number from 1", code="bad-setting"
            )
    policy = settings.get("policy") or {}
    return Limits(**said), bool(policy.get("peer_mail", _POLICY.peer_mail))
