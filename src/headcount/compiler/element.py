"""The one tree that both sources make: elements with props and children, and where each stood.

    team.tsx ─ read_tsx ──┐
                          ├─→ Element ─ lower ─→ ir ─ write_markdown ─→ Markdown
    team.py  ─ read_python┘

A reader resolves everything that is a matter of its language (imports, constants, local components,
`.map`, conditionals, fragments); what is left here are the built-in components and HTML elements, by name.
What a reader could not evaluate it has reported already, and puts `UNKNOWN` in its place: whoever meets
it goes on quietly, so that one mistake is reported once.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias


class Span(NamedTuple):
    """A place in a source file; line and column count from 1, as editors do."""

    file: str
    line: int
    column: int


class Diagnostic(NamedTuple):
    """One thing that is wrong, for a person and for an editor."""

    code: str
    message: str
    span: Span
    hint: str = ""
    text: str = ""
    severity: str = "error"

    def render(self) -> str:
        where = f"{self.span.file}:{self.span.line}:{self.span.column}"
        return f"{where}: {self.message} [{self.code}]"


class Unknown:
    """A value that could not be evaluated, and has been reported."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = Unknown()


class TaskRef(NamedTuple):
    """`uid` is the identity: two tasks with one subject are two tasks."""

    subject: str
    name: str
    uid: int


class WorkerRef(NamedTuple):
    name: str
    type: str
    model: str | None
    uid: int
    agent: str | None = None
    command: tuple[str, ...] | None = None
    role: str = "worker"
    workspace: str | None = None
    finalizers: tuple[tuple[str, ...], ...] = ()
    setup: str | None = None
    copy: tuple[str, ...] | None = None


class TeamRef(NamedTuple):
    name: str
    members: tuple[WorkerRef, ...]
    uid: int
    setup: str | None = None
    copy: tuple[str, ...] | None = None


Ref: TypeAlias = "TaskRef | WorkerRef | TeamRef"
Value: TypeAlias = (
    "str | int | float | bool | Unknown | Ref | Element | tuple[Value, ...] | Mapping[str, Value] | None"
)


class Text(NamedTuple):
    """Text among children. `verbatim` is a string expression (`{"x"}`, a Python string), whose white space
    is the author's; other text is source text, whose line breaks and indentation are layout. An empty
    verbatim text stands for a line break that JSX drops, next to a string expression."""

    value: str
    span: Span
    verbatim: bool = False

    @property
    def is_break(self) -> bool:
        return self.verbatim and not self.value


class Prop(NamedTuple):
    name: str
    value: Value
    span: Span


class Element(NamedTuple):
    """`name` as written for built-ins (`Team`, `h1`); props in source order, names as in TSX (camelCase)."""

    name: str
    props: tuple[Prop, ...]
    children: tuple[Element | Text, ...]
    span: Span


# --- names -----------------------------------------------------------------------------------------------
#
# The words of the definition language that both sources share: enum members, roles, a task's short name.


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

# The role of a worker in `headcount run`.
ROLES: Final = ("worker", "spec-reviewer", "code-quality-reviewer", "lead", "witness")
ACP: Final = "acp"  # the agent that has a command, too
ONE_OF_TWO: Final = "Remove one of them; only the agent acp has a command, too."


def task_name(subject: str) -> str:
    """A task's short name, when it is given none: the first 15 characters of its subject, as a slug."""
    return _blanks("-", subject[:15].lower()).rstrip("-") or subject
