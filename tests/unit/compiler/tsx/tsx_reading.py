"""Short ways to write a definition and to look at what was read."""

from __future__ import annotations

from headcount.compiler.element import Element, Text
from headcount.compiler.tsx import ReadResult, read_tsx

NAMES = (
    "Agent, AgentType, Command, Model, PluginAgentType, Prompt, ShutdownSequence, Table, TaskDef, TaskMode,"
    " TaskPipeline, Team, Teammate, createPipeline, defineTask, defineTeam, defineWorker"
)
IMPORT = f"import {{ {NAMES} }} from 'react-agentic';"


def definition(body: str, head: str = "") -> str:
    """A file with `head` in line 2 and `body` as the children of its root in line 4."""
    return f"{IMPORT}\n{head}\nexport default <Command name='n' description='d'>\n{body}\n</Command>;\n"


def read_source(source: str | bytes) -> ReadResult:
    return read_tsx("team.tsx", source if isinstance(source, bytes) else source.encode())


def read(body: str, head: str = "") -> ReadResult:
    return read_source(definition(body, head))


def children(body: str, head: str = "") -> tuple[Element | Text, ...]:
    """The root's children, where nothing is wrong."""
    found = read(body, head)
    assert found.diagnostics == ()
    assert found.root is not None
    return found.root.children


def only(body: str, head: str = "") -> Element:
    """The one element that the body is, where nothing is wrong."""
    (element,) = children(body, head)
    assert isinstance(element, Element)
    return element


def props(element: Element) -> dict[str, object]:
    return {prop.name: prop.value for prop in element.props}


def value(expression: str, head: str = "") -> object:
    """What an expression evaluates to, as a prop."""
    return props(only(f"<X v={{{expression}}} />", head)).get("v", "absent")


def shape(node: Element | Text) -> object:
    """An element as (name, children), text as its string: trees that are easy to compare."""
    if isinstance(node, Text):
        return node.value
    return (node.name, [shape(child) for child in node.children])


def shapes(body: str, head: str = "") -> list[object]:
    return [shape(child) for child in children(body, head)]


def problems(body: str, head: str = "") -> list[str]:
    """`line:column code` of each diagnostic."""
    return [f"{d.span.line}:{d.span.column} {d.code}" for d in read(body, head).diagnostics]


def codes(body: str, head: str = "") -> list[str]:
    return [d.code for d in read(body, head).diagnostics]
