"""A definition's element tree as a Python definition that compiles to the same bytes.

What the reader of TSX has resolved (components, imports, `.map`) stands there as its result. Source text
becomes strings whose white space is what lowering would have made of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from keyword import iskeyword
from typing import TYPE_CHECKING, Final, NamedTuple

from headcount.compiler.diagnostics import Report, snake_case
from headcount.compiler.element import (
    AGENT_TYPES,
    MODELS,
    PLUGIN_AGENT_TYPES,
    TASK_MODES,
    Element,
    TaskRef,
    TeamRef,
    Text,
    WorkerRef,
    task_name,
)
from headcount.compiler.language import LANGUAGE
from headcount.compiler.lower.body import XML_TAGS, code_block, runs
from headcount.compiler.lower.document import ROOTS
from headcount.compiler.lower.inline import INLINE, with_gaps
from headcount.compiler.whitespace import SPACES, cut_layout, dedent_string, squeeze

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TypeAlias

    from headcount.compiler.element import Ref, Value

# Where text is laid out in lines of its own; elsewhere it is inline, or white space between elements.
_LOOSE: Final = frozenset(
    (
        *ROOTS,
        *XML_TAGS,
        "Workflow",
        "Prompt",
        "XmlBlock",
        "XmlSection",
        "div",
        "blockquote",
        "ExecutionContext",
        "FileContext",
        "Markdown",
        "StatusReturn",
        "Step",
        "StepSection",
    ),
)
_INLINE: Final = frozenset((*INLINE, "p", "li", "h1", "h2", "h3", "h4", "h5", "h6"))
_TYPES: Final = {
    **{value: f"AgentType.{name}" for name, value in AGENT_TYPES.items()},
    **{value: f"PluginAgentType.{name}" for name, value in PLUGIN_AGENT_TYPES.items()},
}
_MODELS: Final = {value: f"Model.{name}" for name, value in MODELS.items()}
_MODES: Final = {value: f"TaskMode.{name}" for name, value in TASK_MODES.items()}
_TSX: Final = Report()
_SETUP: Final = ("setup", "copy")
_SUFFIXES: Final = {TaskRef: "task", WorkerRef: "worker", TeamRef: "team"}


def to_python(root: Element) -> str:
    """The source of a Python definition for a tree without mistakes in it."""
    return _Translation(root).source()


class _Translation:
    def __init__(self, root: Element) -> None:
        self.root = root
        self.used: set[str] = set()
        self.refs: dict[int, Ref] = {}
        self._collect(root)
        self.names: dict[int, str] = {}
        for ref in self.refs.values():
            self.names[ref.uid] = self._name(ref)

    def source(self) -> str:
        factories = [self._factory(ref) for ref in self._in_order()]
        body = render("doc = ", self._element(self.root))
        imports = render("from headcount import ", Items("(", sorted(self.used), ")"))
        if "\n" not in imports:
            imports = imports.replace("(", "").replace(")", "")
        blocks = [imports, "\n".join(factories), body] if factories else [imports, body]
        return "\n\n".join(blocks) + "\n"

    def _in_order(self) -> list[Ref]:
        """Tasks, then workers, then the teams that name them."""
        return sorted(self.refs.values(), key=lambda ref: (list(_SUFFIXES).index(type(ref)), ref.uid))

    def _collect(self, element: Element) -> None:
        for value in (value for prop in element.props for value in _flat(prop.value)):
            if isinstance(value, Element):
                self._collect(value)
            elif isinstance(value, TaskRef | WorkerRef | TeamRef):
                self.refs.setdefault(value.uid, value)
                for member in value.members if isinstance(value, TeamRef) else ():
                    self.refs.setdefault(member.uid, member)
        for child in element.children:
            if isinstance(child, Element):
                self._collect(child)

    def _name(self, ref: Ref) -> str:
        """A variable for the ref: its name, or that with what it is, or that with a number."""
        slug = "".join(
            letter if letter.isalnum() and letter.isascii() else "_" for letter in ref.name.lower()
        )
        slug = slug.strip("_") or _SUFFIXES[type(ref)]
        slug = f"_{slug}" if slug[0].isdigit() else slug
        taken = {*self.names.values(), *LANGUAGE, "doc"}
        full = f"{slug}_{_SUFFIXES[type(ref)]}"
        for name in (slug, full, *(f"{full}_{n}" for n in range(2, len(self.refs) + 2))):
            if name not in taken and not iskeyword(name):
                return name
        return f"{full}_{ref.uid}"

    def _use(self, expression: str) -> str:
        self.used.add(expression.partition(".")[0])
        return expression

    def _factory(self, ref: Ref) -> str:
        arguments: list[Expression]
        if isinstance(ref, TaskRef):
            arguments = [literal(ref.subject)]
            if ref.name != task_name(ref.subject):
                arguments.append(literal(ref.name))
            call = "define_task"
        elif isinstance(ref, WorkerRef):
            arguments = self._worker(ref)
            call = "define_worker"
        else:
            arguments = [literal(ref.name)]
            if ref.members:
                arguments.append(Items("[", [self.names[member.uid] for member in ref.members], "]"))
            given = {name: getattr(ref, name) for name in _SETUP if getattr(ref, name) is not None}
            arguments += [named(name, self._value(value)) for name, value in given.items()]
            call = "define_team"
        return render(f"{self.names[ref.uid]} = ", Call(self._use(call), arguments, None))

    def _worker(self, ref: WorkerRef) -> list[Expression]:
        arguments: list[Expression] = [literal(ref.name), self._known(ref.type, _TYPES)]
        if ref.model is not None:
            arguments.append(self._known(ref.model, _MODELS))
        defaults = WorkerRef("", "", None, 0)
        for name in ("agent", "command", "role", "workspace", "finalizers", *_SETUP):
            value = getattr(ref, name)
            if value != getattr(defaults, name):
                arguments.append(named(name, self._value(value)))
        return arguments

    def _known(self, value: str, members: dict[str, str]) -> Expression:
        return self._use(members[value]) if value in members else literal(value)

    def _element(self, element: Element) -> Expression:
        name = self._use(element.name)
        if element.name == "pre" or (element.name == "code" and element.props):
            language, content = code_block(element, _TSX)
            return Call(name, [f"lang={literal(language)}"] if language else [], [literal(content)])
        props = {
            prop.name: prop.value for prop in element.props if prop.name != "key" and prop.value is not None
        }
        arguments = [self._prop(element.name, key, value) for key, value in props.items()]
        children = self._children(element)
        if not arguments and (children or element.name.islower()):
            return Call(name, None, children or None)
        return Call(name, arguments, children or None)

    def _prop(self, owner: str, key: str, value: Value) -> Expression:
        if owner in ("Teammate", "TaskDef") and isinstance(value, str) and key in ("model", "mode"):
            written = self._known(value, _MODELS if key == "model" else _MODES)
        else:
            written = self._value(value)
        name = snake_case(key)
        name += "_" if iskeyword(name) else ""
        return named(name, written) if name.isidentifier() else Items(f"**{{{literal(key)}: ", [written], "}")

    def _value(self, value: Value) -> Expression:
        if isinstance(value, TaskRef | WorkerRef | TeamRef):
            return self.names[value.uid]
        if isinstance(value, Element):
            return self._element(value)
        if isinstance(value, str):
            return string(value)
        if isinstance(value, tuple):
            return Items("[", [self._value(item) for item in value], "]")
        if isinstance(value, Mapping):
            return Items("{", [named(literal(k), self._value(v), ": ") for k, v in value.items()], "}")
        return repr(value)

    def _children(self, element: Element) -> list[Expression]:
        if element.name in _LOOSE:
            return list(self._blocks(runs(element.children)))
        if element.name not in _INLINE:
            return list(self._elements(element.children))
        return list(self._inline(element.children, element.name not in INLINE))

    def _elements(self, children: Sequence[Element | Text]) -> Iterator[Expression]:
        return (self._element(child) for child in children if isinstance(child, Element))

    def _blocks(self, found: list[Element | list[Element | Text]]) -> Iterator[Expression]:
        """Block elements and the text between them; Python has no line breaks that keep two texts apart."""
        for n, run in enumerate(found):
            if isinstance(run, Element):
                yield self._element(run)
                continue
            apart = [isinstance(each, list) for each in (*found[max(n - 1, 0) : n], *found[n + 1 : n + 2])]
            if n and isinstance(found[n - 1], list):
                yield string("\n\n")
            if any(apart) and len(run) == 1 and isinstance(run[0], Text):
                run = [run[0]._replace(value=dedent_string(run[0].value))]
            yield from self._loose(run)

    def _loose(self, run: list[Element | Text]) -> Iterator[Expression]:
        run = list(with_gaps(run, "\n", _TSX))
        pieces = [(c.value, not c.verbatim) if isinstance(c, Text) else ("", False) for c in run]
        texts = cut_layout(pieces)
        for n, (child, text) in enumerate(zip(run, texts, strict=True)):
            if isinstance(child, Element):
                yield self._element(child)
                continue
            if not child.verbatim and n == 0:
                text = text.lstrip(SPACES)
            if not child.verbatim and n == len(run) - 1:
                text = text.rstrip(SPACES)
            if text:
                yield string(text)

    def _inline(self, children: Sequence[Element | Text], trimmed: bool) -> Iterator[Expression]:
        """Inline content; `trimmed` when white space at its ends is layout, as in a paragraph."""
        children = with_gaps(children, " ", _TSX)
        for n, child in enumerate(children):
            if isinstance(child, Element):
                yield self._element(child)
                continue
            text = child.value
            if not child.verbatim:
                text = squeeze(text)
                after = children[n + 1] if n + 1 < len(children) else None
                ends = after is None or (isinstance(after, Element) and after.name not in INLINE)
                text = text.lstrip(" ") if trimmed and n == 0 else text
                text = text.rstrip(" ") if trimmed and ends else text
            if text:
                yield string(text)


def _flat(value: Value) -> Iterator[Value]:
    if type(value) is tuple:
        for item in value:
            yield from _flat(item)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _flat(item)
    else:
        yield value


# --- pretty ----------------------------------------------------------------------------------------------
#
# Python expressions, laid out as a formatter would: on one line if it fits, else an item a line.


WIDTH: Final = 100


class Items(NamedTuple):
    """`[a, b]`, `{k: v}`: items between brackets."""

    start: str
    items: Sequence[Expression]
    end: str


class Call(NamedTuple):
    """`name(arguments)[children]`; None leaves the brackets out."""

    name: str
    arguments: Sequence[Expression] | None
    children: Sequence[Expression] | None


class Lines(NamedTuple):
    """A string of several lines: literals side by side in parentheses, one for each line."""

    name: str
    literals: Sequence[str]


Expression: TypeAlias = "str | Items | Call | Lines"


def render(before: str, expression: Expression, after: str = "", indent: int = 0) -> str:
    """The lines of `before` + expression + `after`; the first line is not indented."""
    flat = before + _on_one_line(expression) + after
    if "\n" not in flat and indent + len(flat) <= WIDTH:
        return flat
    if isinstance(expression, str):
        return flat
    if isinstance(expression, Lines):
        pad = " " * (indent + 4)
        lines = [f"{before}{expression.name}(", *(pad + part for part in expression.literals)]
        return "\n".join([*lines, f"{' ' * indent}){after}"])
    if isinstance(expression, Items):
        return before + _broken(expression.start, expression.items, expression.end, indent) + after
    head = expression.name
    if expression.arguments is not None:
        arguments = Items(f"{head}(", expression.arguments, ")")
        fits = indent + len(before + _on_one_line(arguments)) <= WIDTH - 1 and expression.children
        head = _on_one_line(arguments) if fits else _broken(*arguments, indent)
    if expression.children is None:
        return before + head + after
    return before + _broken(f"{head}[", expression.children, "]", indent) + after


def literal(text: str) -> str:
    """A string in double quotes where Python would take either."""
    quoted = repr(text)
    return f'"{quoted[1:-1]}"' if quoted[0] == "'" and '"' not in text else quoted


def string(text: str) -> Expression:
    lines = text.splitlines(keepends=True)
    return literal(text) if len(lines) < 2 else Lines("", [literal(line) for line in lines])


def named(name: str, value: Expression, sign: str = "=") -> Expression:
    """`name=value`, or with another sign between them."""
    if isinstance(value, str):
        return f"{name}{sign}{value}"
    if isinstance(value, Items):
        return value._replace(start=f"{name}{sign}{value.start}")
    return value._replace(name=f"{name}{sign}{value.name}")


def _on_one_line(expression: Expression) -> str:
    if isinstance(expression, str):
        return expression
    if isinstance(expression, Items):
        return f"{expression.start}{', '.join(map(_on_one_line, expression.items))}{expression.end}"
    text = expression.name
    if isinstance(expression, Lines):
        return f"{text}({' '.join(expression.literals)})"
    if expression.arguments is not None:
        text += f"({', '.join(map(_on_one_line, expression.arguments))})"
    if expression.children is not None:
        text += f"[{', '.join(map(_on_one_line, expression.children))}]"
    return text


def _broken(start: str, items: Sequence[Expression], end: str, indent: int) -> str:
    if not items:
        return f"{start}{end}"
    inner = indent + 4
    lines = [f"{' ' * inner}{render('', item, ',', inner)}" for item in items]
    return "\n".join([start, *lines, f"{' ' * indent}{end}"])
