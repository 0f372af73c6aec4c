"""What `react-agentic` and `headcount` export: factories and enums; every other name is a component."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.compiler.names import AGENT_TYPES, MODELS, PLUGIN_AGENT_TYPES, TASK_MODES
from headcount.compiler.tsx.factories import create_pipeline, define_task, define_team
from headcount.compiler.tsx.values import BuiltIn, EnumObject, Native
from headcount.compiler.tsx.workers import define_worker

if TYPE_CHECKING:
    from headcount.compiler.tsx.values import Evaluated

PACKAGES = frozenset(("react-agentic", "react-agentic/swarm", "headcount"))

_values: dict[str, Evaluated] = {
    "AgentType": EnumObject("AgentType", AGENT_TYPES),
    "PluginAgentType": EnumObject("PluginAgentType", PLUGIN_AGENT_TYPES),
    "Model": EnumObject("Model", MODELS),
    "TaskMode": EnumObject("TaskMode", TASK_MODES),
    "defineTask": Native("defineTask", define_task),
    "defineTeam": Native("defineTeam", define_team),
    "defineWorker": Native("defineWorker", define_worker),
    "createPipeline": Native("createPipeline", create_pipeline),
    "Fragment": BuiltIn(""),
}
VALUE_NAMES = frozenset(_values)
# Components are a few dozen; a process that lives long meets any name.
MAX_KEPT = 100


def built_in(name: str) -> Evaluated:
    """The value that the packages export as `name`; whether a component exists is not decided here."""
    value = _values.get(name)
    if value is None:
        value = BuiltIn(name)
        if len(_values) < MAX_KEPT:
            _values[name] = value
    return value
