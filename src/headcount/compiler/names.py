"""The words of the definition language that both sources share: enum members, roles, a task's short name."""

from __future__ import annotations

import re
from typing import Final

_blanks: Final = re.compile(r"\s+").sub
_PLUGIN: Final = "compound-engineering"

AGENT_TYPES: Final = {
    "Bash": "Bash",
    "Explore": "Explore",
    "Plan": "Plan",
    "GeneralPurpose": "general-purpose",
}
PLUGIN_AGENT_TYPES: Final = {
    "SecuritySentinel": f"{_PLUGIN}:review:security-sentinel",
    "PerformanceOracle": f"{_PLUGIN}:review:performance-oracle",
    "ArchitectureStrategist": f"{_PLUGIN}:review:architecture-strategist",
    "BestPracticesResearcher": f"{_PLUGIN}:research:best-practices-researcher",
}
MODELS: Final = {"Haiku": "haiku", "Sonnet": "sonnet", "Opus": "opus"}
TASK_MODES: Final = {"Plan": "plan"}

# Who a worker is to `headcount run`.
ROLES: Final = ("worker", "spec-reviewer", "code-quality-reviewer", "lead", "witness")


def task_name(subject: str) -> str:
    """A task's short name, when it is given none: the first 15 characters of its subject, as a slug."""
    return _blanks("-", subject[:15].lower()).rstrip("-") or subject
