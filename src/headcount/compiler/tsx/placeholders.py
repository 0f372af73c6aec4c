"""`${name}` where `name` is bound nowhere: text for the reader of a prompt, a mistake anywhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.compiler.element import Element, Text
from headcount.compiler.tsx.values import PlaceholderText

if TYPE_CHECKING:
    from headcount.compiler.element import Prop
    from headcount.compiler.tsx.reader import Reader
    from headcount.compiler.tsx.values import Evaluated


def settle(reader: Reader, element: Element, in_prompt: bool = False) -> Element:
    """The same tree with plain strings; placeholders outside prompts are reported."""
    in_prompt = in_prompt or element.name == "Prompt"
    props = tuple(_settle_prop(reader, prop) for prop in element.props)
    children = tuple(_settle_child(reader, child, in_prompt) for child in element.children)
    return element._replace(props=props, children=children)


def _settle_prop(reader: Reader, prop: Prop) -> Prop:
    return prop._replace(value=_settle_value(reader, prop.value, prop.name == "prompt"))


def _settle_child(reader: Reader, child: Element | Text, in_prompt: bool) -> Element | Text:
    if isinstance(child, Element):
        return settle(reader, child, in_prompt)
    return child._replace(value=_settle_value(reader, child.value, in_prompt))


def _settle_value(reader: Reader, value: Evaluated, in_prompt: bool) -> Evaluated:
    if type(value) is PlaceholderText:
        if not in_prompt:
            _report(reader, value)
        return str(value)
    if type(value) is tuple:
        return tuple(_settle_value(reader, item, in_prompt) for item in value)
    if type(value) is dict:
        return {key: _settle_value(reader, item, in_prompt) for key, item in value.items()}
    return settle(reader, value, in_prompt) if isinstance(value, Element) else value


def _report(reader: Reader, text: PlaceholderText) -> None:
    for name, scope, node in text.unbound:
        hint = f"Declare {name}, or import it; only in a prompt ${{{name}}} stays as text."
        reader.report.add(scope.module.source, node, "unbound-name", f"{name} is not defined", hint)
