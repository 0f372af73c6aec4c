"""Body elements: what may stand in a Command, Agent, Skill, Workflow or Prompt beside the team components.

Each has one rendering, whatever the dialect, so it becomes Markdown here. `depth` is how many Workflows
are around it: a heading goes one level down for each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from headcount.compiler.element import UNKNOWN, Element, Text
from headcount.compiler.lower.inline import (
    INLINE,
    inline,
    inline_element,
    no_children,
    not_inside,
    paragraph,
    with_gaps,
)
from headcount.compiler.lower.props import PROPS, number_text, read_props
from headcount.compiler.quoting import fence, quote, table_cell, table_row, xml_block
from headcount.compiler.whitespace import SPACES, dedent, dedent_string, is_laid_out, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headcount.compiler.diagnostics import Report
    from headcount.compiler.element import Value

_LISTS: Final = frozenset(("ul", "ol", "List"))
# Components that are an XML block with a fixed tag.
XML_TAGS: Final = {
    "Role": "role",
    "UpstreamInput": "upstream_input",
    "DownstreamConsumer": "downstream_consumer",
    "Methodology": "methodology",
    "DeviationRules": "deviation_rules",
    "CommitRules": "commit_rules",
    "WaveExecution": "wave_execution",
    "CheckpointHandling": "checkpoint_handling",
}
_RULERS: Final = {"left": ":---", "center": ":---:", "right": "---:"}


def body(children: Sequence[Element | Text], owner: str, depth: int, report: Report) -> str:
    """Body elements only, as Markdown: the inside of a Prompt, a block quote, an item."""
    return "\n\n".join(
        block
        for run in runs(children)
        if (
            block := loose(run, report) if isinstance(run, list) else block_element(run, owner, depth, report)
        )
    )


def runs(children: Sequence[Element | Text]) -> list[Element | list[Element | Text]]:
    """Split children into block elements and the runs of inline content between them. A string that was laid
    out in lines of its own is a run by itself."""
    found: list[Element | list[Element | Text]] = []
    run: list[Element | Text] = []
    for n, child in enumerate(children):
        if isinstance(child, Text) and child.is_break and not run:
            continue
        if _is_inline(child) and not _stands_alone(children, n):
            run.append(child)
            continue
        found += [run] if run else []
        found.append(child if isinstance(child, Element) else [child])
        run = []
    return [*found, run] if run else found


def _is_inline(child: Element | Text) -> bool:
    return isinstance(child, Text) or (child.name in INLINE and not _is_code_block(child))


def _stands_alone(children: Sequence[Element | Text], n: int) -> bool:
    """Whether a child is a string that was laid out, with no other inline content on its lines."""
    child = children[n]
    if not isinstance(child, Text) or not child.verbatim or not is_laid_out(child.value):
        return False
    before, after = children[max(n - 1, 0) : n], children[n + 1 : n + 2]
    return all(_parts(each, True) for each in before) and all(_parts(each, False) for each in after)


def _parts(child: Element | Text, at_end: bool) -> bool:
    """Whether a line ends where the child does, or starts where it starts."""
    if not isinstance(child, Text) or child.verbatim:
        return not _is_inline(child) or (isinstance(child, Text) and child.is_break)
    lines = child.value.split("\n")
    return len(lines) > 1 and not lines[-1 if at_end else 0].strip(SPACES)


def _is_code_block(element: Element) -> bool:
    """`code` that names its language and stands among blocks is a block."""
    return element.name == "code" and any(prop.name in ("lang", "className") for prop in element.props)


def loose(run: list[Element | Text], report: Report) -> str:
    """Inline content that stands among blocks; see `text` for what happens to its white space."""
    children = with_gaps(run, "\n", report)
    if len(children) == 1 and isinstance(children[0], Text) and children[0].verbatim:
        return dedent_string(children[0].value)
    pieces: list[tuple[str, bool]] = []
    for child in children:
        if isinstance(child, Text):
            pieces.append((child.value, not child.verbatim))
        else:
            pieces.append((inline_element(child, report), False))
    joined = dedent(pieces)
    # Blanks between a tag and the text on its line are layout, as in JSX.
    on_the_tags_line = pieces and pieces[0][1] and pieces[0][0].partition("\n")[0].strip(SPACES)
    joined = joined.lstrip(SPACES) if on_the_tags_line else joined
    return joined if "\n" in joined else joined.strip(SPACES)


def block_element(element: Element, owner: str, depth: int, report: Report) -> str:
    write = BLOCKS.get(element.name)
    if write is None and element.name in PROPS:
        # Few definitions use these components, so most never import them.
        from headcount.compiler.lower.presentation import PRESENTATION

        write = PRESENTATION.get(element.name)
    if write is None:
        not_inside(element, owner, report)
        return ""
    return write(element, depth, report)


def _heading(element: Element, depth: int, report: Report) -> str:
    read_props(element, report)
    level = min(int(element.name[1]) + depth, 6)
    return f"{'#' * level} {one_line(inline(element.children, element.name, report))}"


def _paragraph(element: Element, depth: int, report: Report) -> str:
    read_props(element, report)
    return paragraph(element.children, "p", report)


def _rule(element: Element, depth: int, report: Report) -> str:
    read_props(element, report)
    no_children(element, report)
    return "---"


def _quote(element: Element, depth: int, report: Report) -> str:
    read_props(element, report)
    return quote(body(element.children, "blockquote", depth, report))


def _list(element: Element, depth: int, report: Report) -> str:
    props, _ = read_props(element, report)
    number = props.get("start", 1)
    items: list[str] = []
    for child in element.children:
        if isinstance(child, Element) and child.name == "li":
            marker = f"{number + len(items)}." if element.name == "ol" else "-"
            items.append(_item(child, marker, depth, report))
        elif isinstance(child, Element) or child.value.strip(SPACES):
            name = child.name if isinstance(child, Element) else "text"
            hint = "Put it into an li."
            report.error(
                "misplaced", f"{element.name} only accepts li children, got: {name}", child.span, hint
            )
    return "\n".join(items)


def _item(element: Element, marker: str, depth: int, report: Report) -> str:
    read_props(element, report)
    written = ""
    for run in runs(element.children):
        if isinstance(run, list):
            block, gap = paragraph(run, "li", report), "\n\n"
        else:
            block = block_element(run, "li", depth, report)
            gap = "\n" if run.name in _LISTS else "\n\n"
        if block:
            written = f"{written}{gap}{block}" if written else block
    return f"{marker} {indent(written)}"


def indent(text: str) -> str:
    """Lines after the first, two deeper."""
    return "\n".join(f"  {line}" if n and line else line for n, line in enumerate(text.split("\n")))


def _code_block(element: Element, depth: int, report: Report) -> str:
    return fence(*code_block(element, report))


def code_block(element: Element, report: Report) -> tuple[str, str]:
    """Language and content of a `pre`, with or without a `code` inside, or of a `code` among blocks."""
    language = _language(element, report)
    pieces: list[tuple[str, bool]] = []
    for child in with_gaps(element.children, "\n", report):
        if isinstance(child, Text):
            pieces.append((child.value, not child.verbatim))
        elif child.name == "code":
            language = _language(child, report) or language
            pieces += [_raw(grandchild, report) for grandchild in with_gaps(child.children, "\n", report)]
        else:
            not_inside(child, element.name, report)
    pieces = [piece for n, piece in enumerate(pieces) if piece[0].strip(SPACES) or 0 < n < len(pieces) - 1]
    is_string = len(pieces) == 1 and not pieces[0][1]
    return language, dedent_string(pieces[0][0]) if is_string else dedent(pieces)


def _raw(child: Element | Text, report: Report) -> tuple[str, bool]:
    if isinstance(child, Text):
        return child.value, not child.verbatim
    return inline([child], "code", report), False


def _language(element: Element, report: Report) -> str:
    props, _ = read_props(element, report)
    named: str = props.get("lang") or props.get("className", "")
    return one_line(named.removeprefix("language-")).replace("`", "")


def xml_name(element: Element, report: Report) -> tuple[str, dict[str, str]]:
    """Tag and attributes of an XML block; no tag when its name cannot be one."""
    props, whole = read_props(element, report)
    name: str = XML_TAGS.get(element.name) or props.pop("name", "")
    if whole and not name.replace("-", "_").replace(".", "_").replace(":", "_").isidentifier():
        hint = "Use letters, digits, - and _, as in execution_context."
        report.error("wrong-type", f"{element.name} name {name!r} cannot be a tag", element.span, hint)
        return "", {}
    return name, props


def _xml_block(element: Element, depth: int, report: Report) -> str:
    name, attributes = xml_name(element, report)
    return xml_block(name, body(element.children, element.name, depth, report), attributes)


def _div(element: Element, depth: int, report: Report) -> str:
    """With a name an XML block, without one a container that leaves no trace."""
    if is_named(element):
        return _xml_block(element, depth, report)
    read_props(element, report)
    return body(element.children, "div", depth, report)


def is_named(element: Element) -> bool:
    return any(prop.name == "name" for prop in element.props)


def _context(element: Element, depth: int, report: Report) -> str:
    props, _ = read_props(element, report)
    return context_block(element, props.get("paths", ()), props.get("prefix", "@"), depth, report)


def context_block(element: Element, given: Sequence[Value], prefix: str, depth: int, report: Report) -> str:
    """An `execution_context` of paths, each with its prefix once, and what the children add."""
    paths = [one_line(block_text(path, element, report)) for path in given]
    lines = [path if path.startswith(prefix) else f"{prefix}{path}" for path in paths]
    inner = body(element.children, element.name, depth, report)
    return xml_block("execution_context", "\n".join([*lines, "", inner] if inner else lines))


def _raw_markdown(element: Element, depth: int, report: Report) -> str:
    read_props(element, report)
    for child in element.children:
        if isinstance(child, Element) and child.name not in INLINE:
            not_inside(child, "Markdown", report)
    return loose([c for c in element.children if isinstance(c, Text) or c.name in INLINE], report)


def _list_component(element: Element, depth: int, report: Report) -> str:
    props, _ = read_props(element, report)
    no_children(element, report)
    start = props.get("start", 1)
    ordered = props.get("ordered", False)
    items = [block_text(item, element, report) for item in props.get("items", ())]
    return "\n".join(f"{f'{start + n}.' if ordered else '-'} {indent(item)}" for n, item in enumerate(items))


def _table(element: Element, depth: int, report: Report) -> str:
    props, _ = read_props(element, report)
    no_children(element, report)
    return table(element, props, report)


def table(element: Element, props: dict[str, Any], report: Report) -> str:
    empty: str = props.get("emptyCell", "")
    rows = [row for row in props.get("rows", ()) if row is not UNKNOWN]
    headers = props.get("headers")
    width = len(headers) if headers is not None else max(map(len, rows), default=0)
    for n, row in enumerate(rows, 1):
        if len(row) > width:
            what = f"Table row {n} has {len(row)} cells, but there are {width} headers"
            report.error("table-width", what, element.span, "Add a header, or remove a cell.")
    lines = [
        _row(headers or (), width, empty if headers else "", element, report),
        _ruler(element, props, width, report),
    ]
    return "\n".join([*lines, *(_row(row, width, empty, element, report) for row in rows)])


def _row(cells: Sequence[Value], width: int, empty: str, element: Element, report: Report) -> str:
    written = [table_cell(one_line(block_text(cell, element, report))) or empty for cell in cells]
    return table_row(written + [empty] * (width - len(written)))


def _ruler(element: Element, props: dict[str, tuple[Value, ...]], width: int, report: Report) -> str:
    marks: list[str] = []
    for side in props.get("align", ()):
        mark = _RULERS.get(side) if isinstance(side, str) else None
        if mark is None and side is not UNKNOWN and side is not None:
            what = f"Table align has {side!r}"
            report.error("wrong-type", what, element.span, report.suggest(str(side), _RULERS))
        marks.append(mark or ":---")
    return table_row((marks + [":---"] * width)[:width])


def block_text(value: Value, element: Element, report: Report) -> str:
    """A value that stands as text: in a table, a list or a path."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return number_text(value)
    if isinstance(value, Element) and value.name in INLINE:
        return inline_element(value, report)
    if value is not None and value is not UNKNOWN:
        got = value.name if isinstance(value, Element) else "something else"
        what = f"{element.name} takes strings, numbers and inline elements, got: {got}"
        report.error("wrong-type", what, element.span, "Give it a string.")
    return ""


BLOCKS: Final[dict[str, Callable[[Element, int, Report], str]]] = {
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), _heading),
    "p": _paragraph,
    "hr": _rule,
    "ul": _list,
    "ol": _list,
    "blockquote": _quote,
    "pre": _code_block,
    "code": _code_block,
    **dict.fromkeys(("XmlBlock", "XmlSection", *XML_TAGS), _xml_block),
    "div": _div,
    "Table": _table,
    "List": _list_component,
    "ExecutionContext": _context,
    "Markdown": _raw_markdown,
}
