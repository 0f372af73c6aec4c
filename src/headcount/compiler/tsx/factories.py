"""The factories of `react-agentic` and `headcount`: `defineTask`, `defineTeam`, `createPipeline`,
`defineWorker`.

The first part reads the arguments of such a call and rejects wrong ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.compiler.diagnostics import did_you_mean
from headcount.compiler.element import (
    ACP,
    AGENT_TYPES,
    MODELS,
    ONE_OF_TWO,
    PLUGIN_AGENT_TYPES,
    ROLES,
    TASK_MODES,
    UNKNOWN,
    Element,
    TaskRef,
    TeamRef,
    WorkerRef,
    task_name,
)
from headcount.compiler.tsx.values import (
    MISSING,
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

    from tree_sitter import Node

    from headcount.compiler.tsx.reader import Reader
    from headcount.compiler.tsx.values import Evaluated, Scope

LAST = -1


class Uids:
    """Numbers that tell refs apart, in the order in which they are made."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last = 0

    def next(self) -> int:
        self._last += 1
        return self._last


class Call:
    """One call with its evaluated arguments; `nodes` are the nodes of the arguments."""

    __slots__ = ("arguments", "node", "nodes", "reader", "scope", "uids")

    def __init__(
        self,
        reader: Reader,
        scope: Scope,
        node: Node,
        arguments: list[Evaluated],
        nodes: tuple[Node, ...],
    ) -> None:
        self.uids = reader.uids
        self.arguments = arguments
        self.reader = reader
        self.scope = scope
        self.node = node
        self.nodes = nodes

    def with_arguments(self, arguments: list[Evaluated]) -> Call:
        """The same call with other arguments, for a factory that is given as a callback."""
        return Call(self.reader, self.scope, self.node, arguments, ())

    def refuse(self, index: int, message: str, hint: str) -> Evaluated:
        """Reports what is wrong with the argument at `index`, or with the call when it is not there."""
        node = self.nodes[index] if self.nodes and index < len(self.nodes) else self.node
        return self.reader.report.add(self.scope.module.source, node, "wrong-argument", message, hint)

    def run(self, function: Function) -> Evaluated:
        """Call a function that was passed as an argument, without arguments, and return its value."""
        from headcount.compiler.tsx.functions import call_function

        return call_function(self.reader, function, [], self.node, self.scope)

    def at_most(self, count: int, name: str) -> None:
        if len(self.arguments) > count:
            self.refuse(count, f"{name} takes at most {count} arguments", "Remove the rest.")

    def argument(self, index: int) -> Evaluated:
        return self.arguments[index] if index < len(self.arguments) else UNDEFINED

    def text(self, index: int, what: str) -> Evaluated:
        """The string at `index`, or UNKNOWN; an empty one names nothing."""
        value = self.argument(index)
        if type(value) is str and value and not value.isspace():
            return value
        if value == "" or (type(value) is str and value.isspace()):
            return self.refuse(index, f"{what} is empty", "Write a string that says something.")
        if value is UNDEFINED:
            return self.refuse(index, f"{what} is missing", "Write it as a string.")
        return self.checked_text(value, index, what)

    def optional_text(self, index: int, what: str) -> Evaluated:
        """The string at `index`, None when it is absent, or UNKNOWN."""
        value = self.argument(index)
        return None if is_nullish(value) else self.text(index, what)

    def checked_text(self, value: Evaluated, index: int, what: str) -> Evaluated:
        """`value` when it is a string without unbound names, else UNKNOWN."""
        if type(value) is str or value is UNKNOWN:
            return value
        if type(value) is PlaceholderText:
            name, scope, node = value.unbound[0]
            hint = f"Declare {name}, or import it."
            return self.reader.report.add(
                scope.module.source, node, "unbound-name", f"{name} is not defined", hint
            )
        return self.refuse(index, f"{what} must be a string, not {describe(value)}", "Write a string.")


# --- factories -------------------------------------------------------------------------------------------
#
# `defineTask`, `defineTeam` and `createPipeline`.


def define_task(call: Call) -> Evaluated:
    call.at_most(2, "defineTask")
    subject = call.text(0, "A task's subject")
    name = call.optional_text(1, "A task's name")
    if subject is UNKNOWN or name is UNKNOWN:
        return UNKNOWN
    return TaskRef(subject, task_name(subject) if name is None else name, call.uids.next())


def define_team(call: Call) -> Evaluated:
    call.at_most(3, "defineTeam")
    name = call.text(0, "A team's name")
    members = call.argument(1)
    if is_nullish(members):
        members = ()
    elif members is not UNKNOWN and type(members) not in (tuple, Children):
        what = f"A team's members are an array of workers, not {describe(members)}"
        members = call.refuse(1, what, "Write [a, b].")
    if name is UNKNOWN or members is UNKNOWN:
        return UNKNOWN
    for member in members:
        if not isinstance(member, WorkerRef) and member is not UNKNOWN:
            what = f"A team's members are workers, not {describe(member)}"
            call.refuse(1, what, "List what defineWorker() gave.")
    workers = tuple([member for member in members if isinstance(member, WorkerRef)])
    return _with_setup(call, TeamRef(name, workers, call.uids.next()), call.argument(2))


def _with_setup(call: Call, team: TeamRef, options: Evaluated) -> TeamRef:
    """`defineTeam(name, members, { setup, copy })`: for `headcount run`, as the options of a worker."""
    if is_nullish(options) or options is UNKNOWN:
        return team
    if type(options) is not JsObject:
        call.refuse(2, "After its members defineTeam takes an object of options", "Write { setup: '…' }.")
        return team
    for key in options:
        if key not in _SETUP:
            call.refuse(2, f"defineTeam has no option {key}", did_you_mean(key, _SETUP))
    setup = _optional(call, options.get("setup"), LAST, "setup")
    return team._replace(setup=None if setup is UNKNOWN else setup, copy=_copy(call, options))


def create_pipeline(call: Call) -> Evaluated:
    call.at_most(1, "createPipeline")
    return PipelineBuilder(call.text(0, "A pipeline's title"))


class PipelineBuilder:
    """`createPipeline(title).task(…)….build()`. Each `.task` answers with a new one that points to the one
    before, so that a builder kept in a constant and used twice does not grow twice."""

    __slots__ = ("before", "stage", "title")

    def __init__(
        self, title: Evaluated, before: PipelineBuilder | None = None, stage: JsObject | None = None
    ) -> None:
        self.title = title
        self.before = before
        self.stage = stage

    def method(self, name: str, call: Call) -> Evaluated:
        if name == "task":
            call.at_most(3, ".task")
            prompt = call.argument(2)
            if not (is_nullish(prompt) or isinstance(prompt, str) or prompt is UNKNOWN):
                prompt = call.refuse(
                    2, f"A task's prompt is a string, not {describe(prompt)}", "Write a string."
                )
            call.arguments = call.arguments[:2]
            task = define_task(call)
            blocked_by = (self.stage["task"],) if self.stage else ()
            stage = {"task": task, "prompt": prompt, "description": prompt, "blockedBy": blocked_by}
            return PipelineBuilder(self.title, self, JsObject(stage))
        if name == "build":
            call.at_most(0, ".build")
            return self.build()
        return call.refuse(
            len(call.arguments), f"A pipeline has no method {name}", "Use .task(…) and .build()."
        )

    def build(self) -> JsObject:
        stages: list[JsObject] = []
        builder: PipelineBuilder | None = self
        while builder is not None and builder.stage is not None:
            stages.append(builder.stage)
            builder = builder.before
        stages.reverse()
        tasks = {stage["task"].name: stage["task"] for stage in stages if stage["task"] is not UNKNOWN}
        return JsObject({"title": self.title, "tasks": JsObject(tasks), "stages": tuple(stages)})

    def exported(self, reader: Reader, name: str) -> Evaluated:
        """The members of what `.build()` gives, without it."""
        return self.build().get(name, MISSING)


# --- workers ---------------------------------------------------------------------------------------------
#
# `defineWorker(name, type?, model?, options?)`.
#
# The options say who the worker is when the definition is run, and never reach the Markdown:
#
#     defineWorker('alice', { agent: 'claude' })
#     defineWorker('bob', AgentType.Bash, { command: ['./agent.sh', 'bob'], role: 'spec-reviewer' })
#
# `agent`, `role`, `workspace` and `setup` are strings, `command` and `copy` are arrays of strings, and
# `finalizers` is an array of commands; `type` and `model` may stand there, too.


_SETUP = ("setup", "copy")
OPTIONS = ("agent", "command", "role", "workspace", "finalizers", *_SETUP, "model", "type")


def define_worker(call: Call) -> Evaluated:
    name = call.text(0, "A worker's name")
    positional = call.arguments
    options: Mapping[str, Evaluated] | None = None
    if len(positional) > 1 and type(positional[-1]) is JsObject:
        *positional, options = positional
    if len(positional) > 3:
        call.refuse(
            3, "After its model defineWorker takes an object of options", "Remove it, or write { … }."
        )
    given = options or {}
    kind = _type(call, positional[1] if len(positional) > 1 else given.get("type"))
    model = _optional(
        call, positional[2] if len(positional) > 2 else given.get("model"), 2, "A worker's model"
    )
    if name is UNKNOWN or kind is UNKNOWN or model is UNKNOWN:
        return UNKNOWN
    plain = WorkerRef(name, kind, model, call.uids.next())
    return plain if options is None else _with_options(call, plain, options)


def _with_options(call: Call, worker: WorkerRef, options: Mapping[str, Evaluated]) -> WorkerRef:
    for key in options:
        if key not in OPTIONS:
            call.refuse(LAST, f"defineWorker has no option {key}", did_you_mean(key, OPTIONS))
    names = ("agent", "role", "workspace", "setup")
    texts = {key: _optional(call, options.get(key), LAST, key) for key in names}
    if any(value is UNKNOWN for value in texts.values()):
        return worker
    role = texts["role"] or "worker"
    if role not in ROLES:
        call.refuse(LAST, f"There is no role {role}", did_you_mean(role, ROLES))
    command = None if is_nullish(options.get("command")) else _command(call, options["command"], "command")
    if command is not None and texts["agent"] not in (None, ACP):
        call.refuse(LAST, "A worker has either an agent or a command, not both", ONE_OF_TWO)
    return worker._replace(
        agent=texts["agent"],
        command=command,
        role=role,
        workspace=texts["workspace"],
        finalizers=_finalizers(call, options.get("finalizers")),
        setup=texts["setup"],
        copy=_copy(call, options),
    )


def _copy(call: Call, options: Mapping[str, Evaluated]) -> tuple[str, ...] | None:
    return None if is_nullish(options.get("copy")) else _command(call, options["copy"], "copy")


def _type(call: Call, value: Evaluated) -> Evaluated:
    """A string, an enum member, or an imported `<Agent>`, whose name it takes."""
    if type(value) is str:
        return value
    if isinstance(value, Function):
        value = call.run(value)
    if isinstance(value, Element) and value.name == "Agent":
        names = [prop.value for prop in value.props if prop.name == "name"]
        value = names[0] if names else call.refuse(1, "The <Agent> has no name", "Give it a name.")
    if isinstance(value, Element):
        hint = "Use AgentType.Explore, a string, or an imported <Agent>."
        return call.refuse(1, f"A <{value.name}> is no worker's type", hint)
    return (
        AGENT_TYPES["GeneralPurpose"] if is_nullish(value) else _optional(call, value, 1, "A worker's type")
    )


def _optional(call: Call, value: Evaluated, index: int, what: str) -> Evaluated:
    if value is None or value is UNDEFINED:
        return None
    if value == "":
        return call.refuse(index, f"{what} is empty", "Write a string that says something.")
    return call.checked_text(value, index, what)


def _command(call: Call, value: Evaluated, key: str) -> tuple[str, ...] | None:
    """A command is a list of strings: there is no shell that would split it."""
    if type(value) is tuple and value and all(type(part) is str for part in value):
        return value
    if value is not UNKNOWN:
        what = f"The option {key} must be an array of strings, not {describe(value)}"
        call.refuse(LAST, what, "For example ['./agent.sh', 'bob'].")
    return None


def _finalizers(call: Call, value: Evaluated) -> tuple[tuple[str, ...], ...]:
    if is_nullish(value) or value is UNKNOWN:
        return ()
    if type(value) is not tuple:
        call.refuse(
            LAST, "The option finalizers must be an array of commands", "For example [['make', 'clean']]."
        )
        return ()
    commands = [_command(call, each, "finalizers") for each in value]
    return tuple(each for each in commands if each is not None)


# --- built_ins -------------------------------------------------------------------------------------------
#
# What `react-agentic` and `headcount` export: factories and enums; every other name is a component.


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
