"""The drawing as a Mermaid flowchart."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from headcount.compiler.markdown.mermaid import quoted

if TYPE_CHECKING:
    from headcount.compiler.graph.drawing import Drawing, Group, Section


def to_mermaid(drawing: Drawing) -> str:
    lines = ["flowchart TD"]
    before = ""
    for number, group in enumerate(drawing.groups, 1):
        name = f"g{number}"
        if group.title:
            lines += [
                f"  subgraph {name}[{quoted(f'Workflow: {group.title}')}]",
                *_indented(_group(group)),
                "  end",
            ]
        else:
            lines += _group(group)
            name = group.sections[-1].id
        first = name if group.title else group.sections[0].id
        lines += [f"  {before} --> {first}"] if before else []
        before = name
    for group in drawing.groups:
        lines += [f"  {a} --> {b}" for section in group.sections for a, b in section.edges]
    return "\n".join(lines) + "\n"


def _group(group: Group) -> list[str]:
    lines = [line for section in group.sections for line in _section(section)]
    ids = [section.id for section in group.sections]
    return lines + [f"  {a} --> {b}" for a, b in pairwise(ids)]


def _section(section: Section) -> list[str]:
    lines = [f"  subgraph {section.id}[{quoted(section.title)}]", "    direction LR"]
    for node in section.nodes:
        note = f"<br/>{quoted(node.note)[1:-1]}" if node.note and node.note != node.label else ""
        lines.append(f'    {node.id}["{quoted(node.label)[1:-1]}{note}"]')
    return [*lines, "  end"]


def _indented(lines: list[str]) -> list[str]:
    return [f"  {line}" for line in lines]
