"""The definition language in Python: what `from headcount import …` gives.

    doc = Command(name="hello", description="Say hello")[
        h1["Hello"],
        Team(team=crew)[Teammate(worker=alice, description="Greet", prompt="Say hello.")],
    ]

Props are keyword arguments in snake_case, children stand in square brackets, and an element without props
needs no parentheses. A wrong call is noted with its place and the file goes on; see `python.session`.
Type checkers read `headcount/__init__.pyi`, which says exactly what each name takes.
"""

from __future__ import annotations

from itertools import count
from types import GeneratorType
from typing import TYPE_CHECKING, Any, Final

from headcount.compiler.diagnostics import camel_case, did_you_mean
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
    Prop,
    Span,
    TaskRef,
    TeamRef,
    Text,
    Unknown,
    WorkerRef,
    task_name,
)
from headcount.compiler.python_session import here, problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from headcount.compiler.element import Value

_uids: Final = count(1)
_REFS: Final = (TaskRef, WorkerRef, TeamRef)
_MOST_BITS: Final = 4096  # Python itself writes out no number of more than 4,300 digits


class Node:
    """An element in the making: props given, children to come in square brackets."""

    __slots__ = ("children", "name", "props", "span")

    def __init__(self, name: str, props: dict[str, object], children: tuple[object, ...], span: Span) -> None:
        self.name = name
        self.props = props
        self.children = children
        self.span = span

    def __getitem__(self, children: object) -> Node:
        return Node(self.name, self.props, (*self.children, children), self.span)

    def __repr__(self) -> str:
        return f"<{self.name} at {self.span.file}:{self.span.line}>"

    def freeze(self) -> Element:
        """The element that both sources make."""
        props = tuple(Prop(camel_case(k), _value(v, k, self), self.span) for k, v in self.props.items())
        return Element(self.name, props, tuple(_children(self.children, self)), self.span)


class Component:
    """A component or HTML element by its name; calling it gives props, square brackets give children."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *positional: object, **props: object) -> Node:
        span = here(1)
        if positional:
            what = f"{self.name} takes its props by name"
            hint = f"Write {self.name}(name=value), and children in square brackets: {self.name}()[…]."
            problem("wrong-call", what, span, hint)
        return Node(self.name, props, (), span)

    def __getitem__(self, children: object) -> Node:
        return Node(self.name, {}, (children,), here(1))

    def __repr__(self) -> str:
        return f"<{self.name}>"


def _children(children: tuple[object, ...], parent: Node) -> list[Element | Text]:
    """As in JSX: lists are laid flat; None, True and False are nothing; numbers are text."""
    found: list[Element | Text] = []
    for child in children:
        if isinstance(child, str):
            found.append(Text(str.__str__(child), parent.span, True))
        elif isinstance(child, Node):
            found.append(child.freeze())
        elif isinstance(child, Component):
            found.append(Element(child.name, (), (), parent.span))
        elif child is None or isinstance(child, bool | Unknown):
            continue
        elif isinstance(child, int | float):
            found.append(Text(str(child), parent.span, True))
        elif isinstance(child, list | tuple | GeneratorType | map | filter) and not isinstance(child, _REFS):
            found += _children(tuple(child), parent)
        else:
            what = f"{parent.name} has a child that is neither text nor an element: {_kind(child)}"
            problem("wrong-child", what, parent.span, "Give it a string, an element, or a list of them.")
    return found


def _value(value: Any, name: str, owner: Node) -> Value:
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        problem("too-large", f"{owner.name} prop {name} has a number of too many digits", owner.span)
        return UNKNOWN
    if value is None or isinstance(value, (bool, int, float, Unknown, *_REFS)):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, Node):
        return value.freeze()
    if isinstance(value, Component):
        return Element(value.name, (), (), owner.span)
    if isinstance(value, dict):
        return {str(key): _value(item, name, owner) for key, item in value.items()}
    if isinstance(value, list | tuple | GeneratorType | map | filter):
        return tuple(_value(item, name, owner) for item in value)
    what = f"{owner.name} prop {name} cannot be {_kind(value)}"
    problem("wrong-type", what, owner.span, "Give it a string, a number, a list, a ref or an element.")
    return UNKNOWN


def _kind(value: object) -> str:
    return f"{type(value).__name__} {value!r}"[:60]


class _Names(type):
    """A class whose attributes are the members; an unknown one is a mistake with a place, not a crash."""

    def __getattr__(cls, name: str) -> Unknown:
        if name.startswith("_"):
            raise AttributeError(name)
        known = [member for member in vars(cls) if not member.startswith("_")]
        what = f"{cls.__name__} has no member {name}"
        problem("unknown-enum-member", what, here(1), did_you_mean(name, known))
        return UNKNOWN


AgentType: Final = _Names("AgentType", (), dict(AGENT_TYPES))
PluginAgentType: Final = _Names("PluginAgentType", (), dict(PLUGIN_AGENT_TYPES))
Model: Final = _Names("Model", (), dict(MODELS))
TaskMode: Final = _Names("TaskMode", (), dict(TASK_MODES))


class _Mistake(Exception):
    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def _factory(make: Callable[..., Any]) -> Callable[..., Any]:
    """A wrong call is a mistake with a place, and gives `UNKNOWN`."""
    name = make.__name__
    known = make.__code__.co_varnames[: make.__code__.co_argcount + make.__code__.co_kwonlyargcount]

    def call(*args: Any, **kwargs: Any) -> Any:
        unknown = [word for word in kwargs if word not in known]
        if unknown:
            hint = did_you_mean(unknown[0], known)
            problem("wrong-call", f"{name} has no argument {unknown[0]}", here(1), hint)
            return UNKNOWN
        if any(value is UNKNOWN for value in (*args, *kwargs.values())):
            return UNKNOWN
        try:
            return make(*args, **kwargs)
        except _Mistake as mistake:
            problem("wrong-call", str(mistake), here(1), mistake.hint)
        except TypeError as error:
            problem("wrong-call", str(error), here(1), f"It takes: {', '.join(known)}.")
        return UNKNOWN

    call.__name__ = call.__qualname__ = name
    call.__doc__ = make.__doc__
    return call


def _text(value: object, what: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _Mistake(f"{what} must be a string that is not empty, got {_kind(value)}", "Give it a string.")
    return str.__str__(value)


def _optional(value: object, what: str) -> str | None:
    return None if value is None else _text(value, what)


def _words(value: object, what: str) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, list | tuple):
        hint = 'Write it as in ["./agent.sh", "bob"].'
        raise _Mistake(f"{what} must be a list of strings, got {_kind(value)}", hint)
    return tuple(_text(word, f"each word of {what}") for word in value)


@_factory
def define_task(subject: str, name: str | None = None) -> TaskRef:
    """A task; its short name, when absent, is made from the subject."""
    subject = _text(subject, "the subject of a task")
    return TaskRef(subject, _optional(name, "the name of a task") or task_name(subject), next(_uids))


@_factory
def define_worker(
    name: str,
    type: str | Node | None = None,
    model: str | None = None,
    *,
    agent: str | None = None,
    command: list[str] | None = None,
    role: str = "worker",
    workspace: str | None = None,
    finalizers: list[list[str]] | tuple[()] = (),
    setup: str | None = None,
    copy: list[str] | None = None,
) -> WorkerRef:
    """A worker. `type` is a string, a member of AgentType or an Agent, whose name it takes; the keyword
    arguments are for `headcount run` and never reach the Markdown."""
    if isinstance(type, Node):
        type = _agent_name(type)
    if role not in ROLES:
        raise _Mistake(f"the role of a worker cannot be {role!r}", did_you_mean(str(role), ROLES))
    if agent not in (None, ACP) and command is not None:
        raise _Mistake("a worker has either an agent or a command, not both", ONE_OF_TWO)
    return WorkerRef(
        name=_text(name, "the name of a worker"),
        type=_optional(type, "the type of a worker") or AGENT_TYPES["GeneralPurpose"],
        model=_optional(model, "the model of a worker"),
        uid=next(_uids),
        agent=_optional(agent, "the agent of a worker"),
        command=None if command is None else _words(command, "the command of a worker"),
        role=role,
        workspace=_optional(workspace, "the workspace of a worker"),
        finalizers=tuple(_words(finalizer, "a finalizer") for finalizer in finalizers),
        setup=_optional(setup, "the setup of a worker"),
        copy=None if copy is None else _words(copy, "the copy of a worker"),
    )


def _agent_name(node: Node) -> str:
    name = node.props.get("name")
    if node.name != "Agent" or not isinstance(name, str):
        raise _Mistake(
            f"the type of a worker cannot be a {node.name}", "Give it a string or an Agent with a name."
        )
    return name


@_factory
def define_team(
    name: str,
    members: list[WorkerRef | Unknown] | tuple[()] = (),
    *,
    setup: str | None = None,
    copy: list[str] | None = None,
) -> TeamRef:
    """A team. `members` informs; the Teammates inside Team decide. The keyword arguments are for
    `headcount run`, as those of a worker, for all of its workers."""
    known = tuple(member for member in members if not isinstance(member, Unknown))
    for member in known:
        if not isinstance(member, WorkerRef):
            raise _Mistake(
                f"a member of a team cannot be {_kind(member)}", "Give it workers from define_worker."
            )
    return TeamRef(
        _text(name, "the name of a team"), known, next(_uids),
        _optional(setup, "the setup of a team"),
        None if copy is None else _words(copy, "the copy of a team"),
    )  # fmt: skip


class Stage:
    """One step of a built pipeline: its task, its prompt, and the tasks before it."""

    __slots__ = ("blocked_by", "prompt", "task")

    def __init__(self, task: TaskRef, prompt: str | None, blocked_by: tuple[TaskRef, ...]) -> None:
        self.task = task
        self.prompt = prompt
        self.blocked_by = blocked_by


class BuiltPipeline:
    __slots__ = ("stages", "tasks", "title")

    def __init__(self, title: str, stages: tuple[Stage, ...]) -> None:
        self.title = title
        self.stages = stages
        self.tasks = tuple(stage.task for stage in stages)


class PipelineBuilder:
    """`create_pipeline("Title").task("Subject", "name", "prompt").task(…).build()`"""

    __slots__ = ("_stages", "_title")

    def __init__(self, title: str) -> None:
        self._title = title
        self._stages: list[Stage] = []

    def task(self, subject: str, name: str | None = None, prompt: str | None = None) -> PipelineBuilder:
        made = define_task(subject, name)
        if made is not UNKNOWN:
            before = (self._stages[-1].task,) if self._stages else ()
            self._stages.append(Stage(made, prompt, before))
        return self

    def build(self) -> BuiltPipeline:
        return BuiltPipeline(self._title, tuple(self._stages))


@_factory
def create_pipeline(title: str) -> PipelineBuilder:
    """A chain of tasks, each blocked by the one before."""
    return PipelineBuilder(_text(title, "the title of a pipeline"))


Command: Final = Component("Command")
Agent: Final = Component("Agent")
Skill: Final = Component("Skill")
Workflow: Final = Component("Workflow")
Team: Final = Component("Team")
Teammate: Final = Component("Teammate")
Prompt: Final = Component("Prompt")
TaskDef: Final = Component("TaskDef")
TaskPipeline: Final = Component("TaskPipeline")
ShutdownSequence: Final = Component("ShutdownSequence")
Cleanup: Final = Component("Cleanup")
XmlBlock: Final = Component("XmlBlock")
Table: Final = Component("Table")
List: Final = Component("List")
ExecutionContext: Final = Component("ExecutionContext")
Markdown: Final = Component("Markdown")
XmlSection: Final = Component("XmlSection")
Role: Final = Component("Role")
UpstreamInput: Final = Component("UpstreamInput")
DownstreamConsumer: Final = Component("DownstreamConsumer")
Methodology: Final = Component("Methodology")
DeviationRules: Final = Component("DeviationRules")
CommitRules: Final = Component("CommitRules")
WaveExecution: Final = Component("WaveExecution")
CheckpointHandling: Final = Component("CheckpointHandling")
StructuredReturns: Final = Component("StructuredReturns")
StatusReturn: Final = Component("StatusReturn")
SuccessCriteria: Final = Component("SuccessCriteria")
OfferNext: Final = Component("OfferNext")
Step: Final = Component("Step")
StepSection: Final = Component("StepSection")
DataTable: Final = Component("DataTable")
BulletList: Final = Component("BulletList")
FileContext: Final = Component("FileContext")
div: Final = Component("div")
h1: Final = Component("h1")
h2: Final = Component("h2")
h3: Final = Component("h3")
h4: Final = Component("h4")
h5: Final = Component("h5")
h6: Final = Component("h6")
p: Final = Component("p")
ul: Final = Component("ul")
ol: Final = Component("ol")
li: Final = Component("li")
blockquote: Final = Component("blockquote")
code: Final = Component("code")
pre: Final = Component("pre")
a: Final = Component("a")
b: Final = Component("b")
strong: Final = Component("strong")
i: Final = Component("i")
em: Final = Component("em")
hr: Final = Component("hr")
br: Final = Component("br")

LANGUAGE: Final = frozenset(
    name
    for name, value in list(globals().items())
    if isinstance(value, Component | _Names) or name.startswith(("define_", "create_"))
)
