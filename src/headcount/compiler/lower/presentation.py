"""The presentational components of react-agentic: names for blocks that a definition could write itself.

A closed list. Eight are an XML block with a fixed tag, and `XmlSection` is another name for `XmlBlock`. The
others are headings, tables and check lists. Its control flow and its runtime are not part of this language.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from headcount.compiler.element import UNKNOWN, Element
from headcount.compiler.lower.body import block_text, body, context_block, table
from headcount.compiler.lower.inline import no_children
from headcount.compiler.lower.props import flag, read_props
from headcount.compiler.quoting import inline_code, xml_block
from headcount.compiler.whitespace import SPACES, one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from headcount.compiler.diagnostics import Report
    from headcount.compiler.element import Value

STEP_VARIANTS: Final = ("heading", "bold", "xml")


def _returns(element: Element, depth: int, report: Report) -> str:
    """`StructuredReturns`: a heading for each `StatusReturn` in it."""
    read_props(element, report)
    sections: list[str] = []
    for child in element.children:
        if isinstance(child, Element) and child.name == "StatusReturn":
            props, _ = read_props(child, report)
            inner = body(child.children, "StatusReturn", depth, report)
            head = f"{'#' * min(2 + depth, 6)} {one_line(props.get('status', ''))}"
            sections.append(f"{head}\n\n{inner}" if inner else head)
        elif isinstance(child, Element) or child.value.strip(SPACES):
            got = child.name if isinstance(child, Element) else "text"
            what = f"StructuredReturns only accepts StatusReturn children, got: {got}"
            report.error("wrong-child", what, child.span, "Use StatusReturn inside StructuredReturns.")
    if not sections:
        hint = "Add a StatusReturn with a status."
        what = "StructuredReturns requires at least one StatusReturn child"
        report.missing("returns-empty", what, element.span, hint)
    return xml_block("structured_returns", "\n" + "\n\n".join(sections) + "\n")


def _stray_return(element: Element, depth: int, report: Report) -> str:
    report.error(
        "misplaced",
        "StatusReturn must be used inside StructuredReturns",
        element.span,
        "Wrap it in StructuredReturns.",
    )
    return ""


def _criteria(element: Element, depth: int, report: Report) -> str:
    """`SuccessCriteria`: a check list; an item is a text, or `{text, checked}`."""
    props, _ = read_props(element, report)
    no_children(element, report)
    lines: list[str] = []
    for item in props.get("items", ()):
        checked: object = False
        if isinstance(item, Mapping):
            _known_keys(item, ("text", "checked"), element, report)
            checked = flag(item.get("checked") or False)
            item = item.get("text")
        lines.append(f"- [{'x' if checked is True else ' '}] {one_line(block_text(item, element, report))}")
    return xml_block("success_criteria", "\n".join(lines))


def _routes(element: Element, depth: int, report: Report) -> str:
    """`OfferNext`: the commands to go on with, each `{name, path, description}`."""
    props, _ = read_props(element, report)
    no_children(element, report)
    lines: list[str] = []
    for route in props.get("routes", ()):
        if route is UNKNOWN:
            continue
        if not isinstance(route, Mapping):
            what = "OfferNext routes takes objects with name, path and description"
            report.error("wrong-type", what, element.span, "Write { name: '…', path: '…' }.")
            continue
        _known_keys(route, ("name", "path", "description"), element, report)
        name, path = (_required(route, key, element, report) for key in ("name", "path"))
        described = one_line(block_text(route.get("description"), element, report))
        lines.append(f"- **{name}**: {described}" if described else f"- **{name}**")
        lines.append(f"  {inline_code(path)}")
    return xml_block("offer_next", "\n".join(lines))


def _required(values: Mapping[str, Value], key: str, element: Element, report: Report) -> str:
    value = values.get(key)
    if not value:
        what = f"{element.name} has an item without {key}"
        report.missing("missing-prop", what, element.span, f"Add {key}: a string.")
    return one_line(block_text(value, element, report))


def _known_keys(given: Mapping[str, Value], known: tuple[str, ...], element: Element, report: Report) -> None:
    for key in given:
        if key not in known:
            what = f"{element.name} has an item with an unknown key {key}"
            report.error("unknown-prop", what, element.span, report.suggest(key, known))


def _step(element: Element, depth: int, report: Report) -> str:
    """`Step` and `StepSection`: a numbered section; `variant` is `heading`, `bold` or `xml`."""
    props, _ = read_props(element, report)
    number, name = one_line(props.get("number", "")), one_line(props.get("name", ""))
    variant = props.get("variant", "heading")
    if variant not in STEP_VARIANTS:
        what = f"{element.name} prop variant cannot be {variant!r}"
        report.error("wrong-type", what, element.span, report.suggest(variant, STEP_VARIANTS))
    inner = body(element.children, element.name, depth, report)
    described = props.get("description", "")
    inner = "\n\n".join(filter(None, (described, inner)))
    if variant == "xml":
        return xml_block("step", inner, {"number": number, "name": name})
    title = f"Step {number}: {name}"
    head = f"**{title}**" if variant == "bold" else f"{'#' * min(2 + depth, 6)} {title}"
    return f"{head}\n\n{inner}" if inner else head


def _data_table(element: Element, depth: int, report: Report) -> str:
    """`DataTable`: a table with a caption, or a message where there are no rows."""
    props, _ = read_props(element, report)
    no_children(element, report)
    message = props.get("emptyMessage", "")
    written = message if message and not props.get("rows") else table(element, props, report)
    return _titled(props.get("caption", ""), written)


def _bullets(element: Element, depth: int, report: Report) -> str:
    props, _ = read_props(element, report)
    no_children(element, report)
    lines = [f"- {one_line(block_text(item, element, report))}" for item in props.get("items", ())]
    return _titled(props.get("title", ""), "\n".join(lines))


def _files(element: Element, depth: int, report: Report) -> str:
    props, _ = read_props(element, report)
    written = context_block(element, props.get("files", ()), props.get("prefix", "@"), depth, report)
    return _titled(props.get("title", ""), written)


def _titled(title: str, written: str) -> str:
    return f"**{one_line(title)}**\n\n{written}" if title else written


PRESENTATION: Final[dict[str, Callable[[Element, int, Report], str]]] = {
    "StructuredReturns": _returns,
    "StatusReturn": _stray_return,
    "SuccessCriteria": _criteria,
    "OfferNext": _routes,
    "Step": _step,
    "StepSection": _step,
    "DataTable": _data_table,
    "BulletList": _bullets,
    "FileContext": _files,
}
