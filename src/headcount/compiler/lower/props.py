"""What each component takes: names, types, which are required. Literal tables, and the reader of one element.

A kind is a function from a value to the value as the IR keeps it, or `WRONG`. Its name in `EXPECTED` says,
in an error message, what was wanted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from headcount.compiler.element import UNKNOWN, TaskRef, TeamRef, WorkerRef

if TYPE_CHECKING:
    from collections.abc import Callable

    from headcount.compiler.diagnostics import Report
    from headcount.compiler.element import Element, Span, Value

    Kind = Callable[[Value], object]

WRONG: Final = object()
_MOST_DIGITS: Final = 18


def text(value: Value) -> object:
    if type(value) is str:
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return number_text(value)
    return WRONG


def number_text(value: float) -> str:
    """A number as JavaScript prints it: 3.0 is 3."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def flag(value: Value) -> object:
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False}.get(value, WRONG) if isinstance(value, str) else WRONG


def count(value: Value) -> object:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= _MOST_DIGITS:
        return int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int and value >= 0 else WRONG


def task(value: Value) -> object:
    return value if type(value) is TaskRef else WRONG


def worker(value: Value) -> object:
    return value if type(value) is WorkerRef else WRONG


def team(value: Value) -> object:
    return value if type(value) is TeamRef else WRONG


def tasks(value: Value) -> object:
    return _each(value, TaskRef)


def workers(value: Value) -> object:
    return _each(value, WorkerRef)


def values(value: Value) -> object:
    return value if type(value) is tuple else WRONG


def rows(value: Value) -> object:
    if type(value) is not tuple or any(type(row) is not tuple and row is not UNKNOWN for row in value):
        return WRONG
    return value


def mapping(value: Value) -> object:
    return value if isinstance(value, Mapping) else WRONG


def _each(value: Value, kind: type) -> object:
    """Refs are tuples themselves, so the type is compared exactly. What is unknown was reported."""
    if type(value) is not tuple:
        return WRONG
    known = tuple(item for item in value if item is not UNKNOWN)
    if any(type(item) is not kind for item in known):
        return WRONG
    return known


EXPECTED: Final[dict[Kind, str]] = {
    text: "a string",
    flag: "true or false",
    count: "a whole number",
    task: "a task, made with {define_task}",
    tasks: "a list of tasks, each made with {define_task}",
    worker: "a worker, made with {define_worker}",
    workers: "a list of workers, each made with {define_worker}",
    team: "a team, made with {define_team}",
    values: "a list",
    rows: "a list of lists",
    mapping: "an object with names and values",
}

_LANG: Final[dict[str, Kind]] = {"className": text, "lang": text}
_TABLE: Final[dict[str, Kind]] = {"headers": values, "rows": rows, "align": values, "emptyCell": text}
_XML: Final[dict[str, Kind]] = {"name": text}
_STEP: Final[dict[str, Kind]] = {"number": text, "name": text, "variant": text}
_NONE: Final[dict[str, Kind]] = {}

# component or element -> prop -> kind, as in docs/reference/language.md
PROPS: Final[dict[str, dict[str, Kind]]] = {
    "Team": {"team": team, "description": text},
    "Teammate": {
        "worker": worker,
        "description": text,
        "prompt": text,
        "model": text,
        "mode": text,
        "background": flag,
    },
    "Prompt": {"vars": mapping},
    "TaskDef": {
        "task": task,
        "prompt": text,
        "activeForm": text,
        "blockedBy": tasks,
        "worker": worker,
        "model": text,
        "metadata": mapping,
    },
    "TaskPipeline": {"title": text, "autoChain": flag},
    "ShutdownSequence": {"workers": workers, "reason": text, "cleanup": flag, "team": team, "title": text},
    "Cleanup": {"team": team, "title": text},
    "Workflow": {
        "name": text,
        "team": team,
        "description": text,
        "verify": text,
        "maxTotalLines": count,
        "tasksAtOnce": count,
    },
    "XmlBlock": _XML,
    "XmlSection": _XML,
    "div": _XML,
    **dict.fromkeys(("Role", "UpstreamInput", "DownstreamConsumer", "Methodology"), _NONE),
    **dict.fromkeys(("DeviationRules", "CommitRules", "WaveExecution", "CheckpointHandling"), _NONE),
    "StructuredReturns": _NONE,
    "StatusReturn": {"status": text},
    "SuccessCriteria": {"items": values},
    "OfferNext": {"routes": values},
    "Step": _STEP,
    "StepSection": {**_STEP, "description": text},
    "DataTable": {**_TABLE, "caption": text, "emptyMessage": text},
    "BulletList": {"items": values, "title": text},
    "FileContext": {"files": values, "prefix": text, "title": text},
    "Table": _TABLE,
    "List": {"items": values, "ordered": flag, "start": count},
    "ExecutionContext": {"paths": values, "prefix": text},
    "Markdown": _NONE,
    "pre": _LANG,
    "code": _LANG,
    "ol": {"start": count},
    "a": {"href": text},
    **{f"h{level}": _NONE for level in range(1, 7)},
    **dict.fromkeys(("p", "ul", "li", "blockquote", "b", "strong", "i", "em", "hr", "br"), _NONE),
}

REQUIRED: Final[dict[str, tuple[str, ...]]] = {
    "Team": ("team",),
    "Teammate": ("worker", "description"),
    "TaskDef": ("task",),
    "Workflow": ("name", "team"),
    "XmlBlock": ("name",),
    "XmlSection": ("name",),
    "StatusReturn": ("status",),
    "SuccessCriteria": ("items",),
    "OfferNext": ("routes",),
    "Step": ("number", "name"),
    "StepSection": ("number", "name"),
    "DataTable": ("rows",),
    "BulletList": ("items",),
    "FileContext": ("files",),
    "Table": ("rows",),
    "List": ("items",),
    "ExecutionContext": ("paths",),
    "a": ("href",),
}


# Elements whose other props are attributes of the tag that they become.
_ATTRIBUTES: Final = frozenset(("XmlBlock", "XmlSection", "div"))

# One look-up for each element: its kinds, and what it requires.
_SPECS: Final = {name: (kinds, REQUIRED.get(name, ())) for name, kinds in PROPS.items()}


def read_props(element: Element, report: Report) -> tuple[dict[str, Any], bool]:
    """The props by name, checked, and whether every required one is there and known.

    A later prop of the same name wins, as it does in JSX; null and undefined are the same as absent.
    """
    kinds, required = _SPECS[element.name]
    found: dict[str, Any] = {}
    value: Any
    for name, value, span in element.props:
        kind = kinds.get(name)
        if kind is text and type(value) is str:  # most props are plain strings
            found[name] = value
        elif value is None:
            found.pop(name, None)
        elif kind is None and element.name in _ATTRIBUTES and name != "key":
            if _is_attribute(element, name, value, span, report):
                found[name] = text(value)
        elif kind is None:
            if name != "key":
                _unknown_prop(element, name, span, report)
        elif value is UNKNOWN or (value := kind(value)) is not WRONG:
            found[name] = value
        else:
            wanted = expected(PROPS[element.name][name], report)
            report.error(
                "wrong-type",
                f"{element.name} prop {report.spell(name)} is not {wanted}",
                span,
                f"Give it {wanted}.",
            )
            found[name] = UNKNOWN
    whole = True
    for name in required:
        if not found.get(name) or found[name] is UNKNOWN:
            whole = _missing_is_known(element, name, found, report) and whole
    if UNKNOWN in found.values():
        found = {name: value for name, value in found.items() if value is not UNKNOWN}
    return found, whole


def _is_attribute(element: Element, name: str, value: Value, span: Span, report: Report) -> bool:
    """Whether a prop can be written as an attribute; an element without a name has no tag to write it in."""
    if not any(prop.name == "name" for prop in element.props):
        _unknown_prop(element, name, span, report)
        return False
    if value is UNKNOWN or text(value) is not WRONG:
        return value is not UNKNOWN
    report.error("wrong-type", f"{element.name} attribute {name} is not a string", span, "Give it a string.")
    return False


def _missing_is_known(element: Element, name: str, found: dict[str, Any], report: Report) -> bool:
    """Whether a required prop that looks missing is there after all, as an empty list is."""
    value = found.get(name, "")
    if value == "":
        article = "an" if name[0] in "aeiou" else "a"
        report.missing(
            "missing-prop",
            f"{element.name} requires {article} {report.spell(name)} prop",
            element.span,
            f"Add {report.spell(name)}: {expected(PROPS[element.name][name], report)}.",
        )
    return value != "" and value is not UNKNOWN


def _unknown_prop(element: Element, name: str, span: Span, report: Report) -> None:
    known = [report.spell(prop) for prop in PROPS[element.name]]
    hint = report.suggest(report.spell(name), known) if known else f"{element.name} takes no props."
    report.error("unknown-prop", f"{element.name} has no prop {report.spell(name)}", span, hint)


def expected(kind: Kind, report: Report) -> str:
    python = report.python
    return EXPECTED[kind].format(
        define_task="define_task" if python else "defineTask",
        define_worker="define_worker" if python else "defineWorker",
        define_team="define_team" if python else "defineTeam",
    )
