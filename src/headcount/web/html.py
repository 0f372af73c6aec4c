"""HTML as values. Text is escaped where it enters an element, so no caller can forget to."""

from __future__ import annotations

import html

_VOID = frozenset(("meta", "br", "rect", "line", "circle", "path"))


class Markup(str):
    """Text that is markup already: only `el` and `raw` make it."""

    __slots__ = ()


Child = str | int | float | None


def el(tag: str, *children: Child, **attributes: str | int | float | None) -> Markup:
    """An element; `class_` is class, `http_equiv` is http-equiv, and what is None is left out."""
    said = "".join(_attribute(name, value) for name, value in attributes.items() if value is not None)
    if tag in _VOID and not children:
        return Markup(f"<{tag}{said}>" if tag in ("meta", "br") else f"<{tag}{said}/>")
    return Markup(f"<{tag}{said}>{join(*children)}</{tag}>")


def join(*children: Child) -> Markup:
    return Markup("".join(_text(child) for child in children if child is not None))


def raw(text: str) -> Markup:
    """For our own style sheets, never for what somebody wrote."""
    return Markup(text)


def _text(child: Child) -> str:
    return child if isinstance(child, Markup) else html.escape(_visible(str(child)), quote=False)


def _attribute(name: str, value: str | int | float) -> str:
    shown = name.rstrip("_").replace("_", "-")
    return f' {shown}="{html.escape(_visible(str(value)))}"'


def _visible(text: str) -> str:
    """Without control characters: some would turn the direction of what stands beside them."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text)
