"""The factories and enums that `react-agentic` and `headcount` export; every other name is a component."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.compiler.element import UNKNOWN, Element, TaskRef, TeamRef, WorkerRef
from headcount.compiler.tsx.values import (
    UNDEFINED,
    BuiltIn,
    Children,
    EnumObject,
    Function,
    JsObject,
    Native,
    PlaceholderText,
    describe,
    is_nullish,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headcount.compiler.tsx.functions import Call
    from headcount.compiler.tsx.values import Evaluated

PACKAGES = frozenset(("react-agentic", "react-agentic/swarm", "headcount"))
DEFAULT_TYPE = "general-purpose"

_REVIEW = "compound-engineering:review:"
ENUMS = {
    "AgentType": {
        "Bash": "Bash",
        "Explore": "Explore",
        "Plan": "Plan",
        "GeneralPurpose": DEFAULT_TYPE,
    },
    "PluginAgentType": {
        "SecuritySentinel": _REVIEW + "security-sentinel",
        "PerformanceOracle": _REVIEW + "performance-oracle",
        "ArchitectureStrategist": _REVIEW + "architecture-strategist",
        "BestPracticesResearcher": "compound-engineering:research:best-practices-researcher",
    },
    "Model": {"Haiku": "haiku", "Sonnet": "sonnet", "Opus": "opus"},
    "TaskMode": {"Plan": "plan"},
}
# Who a worker is when the definition is run; none of this reaches the Markdown.
WORKER_OPTIONS = ("agent", "command", "role", "workspace", "finalizers", "model", "type")

NO_OPTIONS: dict[str, Evaluated] = {}


def derive_name(subject: str) -> str:
    """A task's short name, when it is given none: the start of the subject, white space as hyphens."""
    start = subject[:15].lower()
    lead = "-" if start[:1].isspace() else ""
    return (lead + "-".join(start.split())).rstrip("-")


def define_task(call: Call) -> Evaluated:
    _no_more_than(call, 2, "defineTask")
    return _task(call, "defineTask")


def _task(call: Call, factory: str) -> Evaluated:
    subject = _string(call, 0, f"{factory} needs a subject", required=True)
    name = _string(call, 1, "A task's name must be a string")
    if subject is UNKNOWN or name is UNKNOWN:
        return UNKNOWN
    return TaskRef(subject, derive_name(subject) if name is None else name, call.reader.next_uid())


def define_team(call: Call) -> Evaluated:
    _no_more_than(call, 2, "defineTeam")
    name = _string(call, 0, "defineTeam needs a name", required=True)
    members: Evaluated = call.arguments[1] if len(call.arguments) > 1 else UNDEFINED
    if is_nullish(members):
        members = ()
    if members is not UNKNOWN and type(members) not in (tuple, Children):
        members = call.refuse(
            1, f"A team's members are an array of workers, not {describe(members)}", "Write [a, b]."
        )
    if name is UNKNOWN or members is UNKNOWN:
        return UNKNOWN
    for member in members:
        if not isinstance(member, WorkerRef) and member is not UNKNOWN:
            hint = "List what defineWorker() gave."
            call.refuse(1, f"A team's members are workers, not {describe(member)}", hint)
    workers = tuple(member for member in members if isinstance(member, WorkerRef))
    return TeamRef(name, workers, call.reader.next_uid())


def define_worker(call: Call) -> Evaluated:
    _no_more_than(call, 4, "defineWorker")
    options: Mapping[str, Evaluated] = NO_OPTIONS
    positional = call.arguments
    if len(positional) > 1 and type(positional[-1]) is JsObject:
        *positional, options = positional
        _check_options(call, options)
    name = _string(call, 0, "defineWorker needs a name", required=True)
    kind = _worker_type(call, positional[1] if len(positional) > 1 else options.get("type", UNDEFINED))
    model = positional[2] if len(positional) > 2 else options.get("model", UNDEFINED)
    if not (is_nullish(model) or isinstance(model, str) or model is UNKNOWN):
        model = call.refuse(
            2, f"A worker's model is a string, not {describe(model)}", "Use Model.Opus or 'opus'."
        )
    if name is UNKNOWN or kind is UNKNOWN or model is UNKNOWN:
        return UNKNOWN
    if not options:
        return WorkerRef(name, kind, None if is_nullish(model) else str(model), call.reader.next_uid())
    return _worker(call, name, kind, None if is_nullish(model) else str(model), options)


def _worker(
    call: Call, name: str, kind: str, model: str | None, options: Mapping[str, Evaluated]
) -> Evaluated:
    texts = {key: _option_text(call, options, key) for key in ("agent", "role", "workspace")}
    command = _command(call, options.get("command"), "command")
    finalizers = options.get("finalizers")
    commands = (
        [_command(call, each, "finalizers") for each in finalizers or ()]
        if isinstance(finalizers, tuple)
        else []
    )
    if finalizers is not None and not isinstance(finalizers, tuple):
        _refuse_option(call, "finalizers", "a list of commands")
    return WorkerRef(
        name,
        kind,
        model,
        call.reader.next_uid(),
        texts["agent"],
        command,
        texts["role"] or "worker",
        texts["workspace"],
        tuple(each for each in commands if each is not None),
    )


def _worker_type(call: Call, value: Evaluated) -> Evaluated:
    """A string, an enum member, or an imported `<Agent>`, whose name it takes."""
    if is_nullish(value):
        return DEFAULT_TYPE
    if isinstance(value, Function):
        from headcount.compiler.tsx.functions import call_function

        value = call_function(call.reader, value, [], call.node, call.scope)
    if isinstance(value, Element) and value.name == "Agent":
        names = [prop.value for prop in value.props if prop.name == "name"]
        value = names[0] if names else call.refuse(1, "The <Agent> has no name", "Give it a name.")
    if value is UNKNOWN or type(value) is str:
        return value
    hint = "Use AgentType.Explore, a string, or an imported <Agent>."
    return call.refuse(1, f"A worker's type is a string or an <Agent>, not {describe(value)}", hint)


def _check_options(call: Call, options: Mapping[str, Evaluated]) -> None:
    from headcount.compiler.tsx.report import did_you_mean

    for key in options:
        if key not in WORKER_OPTIONS:
            hint = did_you_mean(key, list(WORKER_OPTIONS))
            call.refuse(len(call.nodes) - 1, f"defineWorker has no option {key}", hint)


def _option_text(call: Call, options: Mapping[str, Evaluated], key: str) -> str | None:
    value = options.get(key)
    if value is None or value is UNDEFINED or value is UNKNOWN or type(value) is str:
        return value if isinstance(value, str) else None
    _refuse_option(call, key, "a string")
    return None


def _command(call: Call, value: Evaluated, key: str) -> tuple[str, ...] | None:
    """A command is a list of strings: there is no shell that would split it."""
    if value is None or value is UNDEFINED or value is UNKNOWN:
        return None
    if type(value) is tuple and value and all(isinstance(part, str) for part in value):
        return tuple(str(part) for part in value)
    _refuse_option(call, key, "a list of strings")
    return None


def _refuse_option(call: Call, key: str, wanted: str) -> None:
    call.refuse(
        len(call.nodes) - 1, f"The option {key} must be {wanted}", 'For example ["./agent.sh", "bob"].'
    )


def _string(call: Call, index: int, message: str, required: bool = False) -> Evaluated:
    """The string argument at `index`; None when it may be absent, and is."""
    value = call.arguments[index] if index < len(call.arguments) else UNDEFINED
    if value is UNKNOWN or type(value) is str:
        return value
    if type(value) is PlaceholderText:
        name, scope, node = value.unbound[0]
        return call.reader.report.add(
            scope.module.source, node, "unbound-name", f"{name} is not defined", "Declare it, or import it."
        )
    if is_nullish(value) and not required:
        return None
    return call.refuse(index, f"{message}, not {describe(value)}", "Write a string or a constant.")


def _no_more_than(call: Call, count: int, name: str) -> None:
    if len(call.arguments) > count:
        call.refuse(count, f"{name} takes at most {count} arguments", "Remove the rest.")


def create_pipeline(call: Call) -> Evaluated:
    _no_more_than(call, 1, "createPipeline")
    title = _string(call, 0, "createPipeline needs a title", required=True)
    return PipelineBuilder(title)


class PipelineBuilder:
    """`createPipeline(title).task(…)….build()`. Each `.task` answers with a new one that points to the one
    before, so that a builder kept in a constant and used twice does not grow twice."""

    __slots__ = ("before", "stage", "title")

    def __init__(
        self, title: Evaluated, before: PipelineBuilder | None = None, stage: JsObject | None = None
    ):
        self.title = title
        self.before = before
        self.stage = stage

    def method(self, name: str, call: Call) -> Evaluated:
        if name == "task":
            return self._task(call)
        if name == "build":
            return self.build()
        call.refuse(len(call.nodes), f"A pipeline has no method {name}", "Use .task(…) and .build().")
        return UNKNOWN

    def _task(self, call: Call) -> Evaluated:
        _no_more_than(call, 3, ".task")
        task = _task(call, ".task")
        prompt = call.arguments[2] if len(call.arguments) > 2 else UNDEFINED
        if not (is_nullish(prompt) or isinstance(prompt, str) or prompt is UNKNOWN):
            prompt = call.refuse(2, f"A task's prompt is a string, not {describe(prompt)}", "Write a string.")
        blocked_by = (self.stage["task"],) if self.stage else ()
        stage = {"task": task, "prompt": prompt, "description": prompt, "blockedBy": blocked_by}
        return PipelineBuilder(self.title, self, JsObject(stage))

    def build(self) -> JsObject:
        stages: list[JsObject] = []
        builder: PipelineBuilder | None = self
        while builder is not None and builder.stage is not None:
            stages.append(builder.stage)
            builder = builder.before
        stages.reverse()
        tasks = {stage["task"].name: stage["task"] for stage in stages if stage["task"] is not UNKNOWN}
        return JsObject({"title": self.title, "tasks": JsObject(tasks), "stages": tuple(stages)})

    def exported(self, reader: object, name: str) -> Evaluated:
        """The members of what `.build()` gives, for those who forgot it."""
        from headcount.compiler.tsx.scope import MISSING

        return self.build().get(name, MISSING)


_values: dict[str, Evaluated] = {name: EnumObject(name, dict(members)) for name, members in ENUMS.items()}
_values |= {
    "defineTask": Native("defineTask", define_task),
    "defineTeam": Native("defineTeam", define_team),
    "defineWorker": Native("defineWorker", define_worker),
    "createPipeline": Native("createPipeline", create_pipeline),
    "Fragment": BuiltIn(""),
}
VALUE_NAMES = frozenset(_values)


def built_in(name: str) -> Evaluated:
    value = _values.get(name)
    if value is None:
        value = BuiltIn(name)
        if len(_values) < 100:  # components are a few dozen; a long-lived process meets any name
            _values[name] = value
    return value


def is_built_in_value(name: str) -> bool:
    return name in VALUE_NAMES
