"""The root: Command, Agent or Skill, whose attributes are the frontmatter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from headcount.compiler import ir
from headcount.compiler.diagnostics import closest, kebab_case
from headcount.compiler.element import UNKNOWN, Element, TaskRef, TeamRef, WorkerRef
from headcount.compiler.lower.team_components import Lowering

if TYPE_CHECKING:
    from headcount.compiler.diagnostics import Report
    from headcount.compiler.element import Prop, Value

# What stands first, in this order; a Command keeps the order of its source.
ROOTS: Final[dict[str, tuple[str, ...]]] = {
    "Command": (),
    "Agent": ("name", "description", "tools", "color", "model"),
    "Skill": ("name", "description"),
}


def lower_document(root: Element, report: Report) -> ir.Document | None:
    """The document, or None when its root is none, or has no name."""
    if root.name not in ROOTS:
        report.error(
            "no-root",
            f"The root of a definition is a Command, an Agent or a Skill, got: {root.name}",
            root.span,
            "Wrap it in a Command with a name and a description.",
        )
        return None
    given: dict[str, Value] = dict.fromkeys(ROOTS[root.name], UNKNOWN)
    for prop in root.props:
        if prop.name in ("key", "folder"):
            continue
        if prop.value is None:
            given.pop(prop.name, None)
        elif type(prop.value) is str or _is_plain(prop, report):
            given[prop.name] = prop.value
    for name in ("name", "description"):
        _require(root, name, given.get(name, UNKNOWN), report)
    frontmatter = {kebab_case(name): value for name, value in given.items() if value is not UNKNOWN}
    at = Lowering(report)
    blocks = at.blocks(root.children, root.name)
    return ir.Document(
        root.name,
        str(frontmatter.get("name", "")),
        tuple(frontmatter.items()),
        blocks,
        root.span,
        tuple(at.tasks),
        tuple(at.teams),
        tuple(at.shutdowns),
        tuple(at.workflows),
        {task.task.uid: task.number for task in at.tasks},
        _folder(root, report),
    )


def _folder(root: Element, report: Report) -> str:
    """The directory below `-o` that the root asks for, or nothing. It cannot lead out of `-o`."""
    for prop in root.props:
        if prop.name == "folder" and prop.value is not None and prop.value is not UNKNOWN:
            if isinstance(prop.value, str) and all(map(_is_directory, prop.value.split("/"))):
                return prop.value
            hint = "Write a relative path without . and .., as in team/reviews."
            report.error("file-name", f"{root.name} prop folder cannot be a directory", prop.span, hint)
    return ""


def _is_directory(name: str) -> bool:
    return name.isprintable() and name.strip(". ") == name != "" and not any(c in '\\:*?"<>|' for c in name)


def _require(root: Element, name: str, value: Value, report: Report) -> None:
    if isinstance(value, str) and value.strip():
        return
    if value is UNKNOWN and any(prop.name == name and prop.value is not None for prop in root.props):
        return
    if value is UNKNOWN or value == "" or isinstance(value, str):
        # Any other prop is frontmatter, so one that is misspelt is not an error by itself.
        others = [report.spell(prop.name) for prop in root.props if prop.name not in ROOTS[root.name]]
        guess = closest(name, others)
        hint = f"Write {name}, not {guess}." if guess else f"Add {name}: a string."
        report.missing("missing-prop", f"{root.name} requires a {name} prop", root.span, hint)
    else:
        report.error("wrong-type", f"{root.name} prop {name} is not a string", root.span, "Give it a string.")


def _is_plain(prop: Prop, report: Report) -> bool:
    """Frontmatter holds strings, numbers, booleans, lists and objects of these; else it is an error."""
    if _holds_unknown(prop.value):
        return False
    if not _is_data(prop.value):
        what = f"The attribute {report.spell(prop.name)} cannot be written to the frontmatter"
        report.error(
            "wrong-type", what, prop.span, "Give it a string, a number, true, false, or a list of them."
        )
        return False
    return True


def _holds_unknown(value: Value) -> bool:
    if type(value) is tuple:
        return any(map(_holds_unknown, value))
    if isinstance(value, Mapping):
        return any(map(_holds_unknown, value.values()))
    return value is UNKNOWN


def _is_data(value: Value) -> bool:
    if type(value) is tuple:
        return all(map(_is_data, value))
    if isinstance(value, Mapping):
        return all(map(_is_data, value.values()))
    return not isinstance(value, Element | TaskRef | WorkerRef | TeamRef)
