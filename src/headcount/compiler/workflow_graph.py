"""The graph of a definition: members, tasks with their dependencies, and the shutdown; also as Mermaid.

Document ─ draw ─→ Drawing ─┬ to_mermaid ─→ text
                            └ to_svg ─→ one self-contained SVG
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from headcount.compiler import ir
from headcount.compiler.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable


class Node(NamedTuple):
    id: str
    label: str
    note: str


class Section(NamedTuple):
    """One component: `kind` is team, tasks or shutdown. Edges may lead to nodes of other sections."""

    id: str
    kind: str
    title: str
    nodes: tuple[Node, ...]
    edges: tuple[tuple[str, str], ...]


class Group(NamedTuple):
    """A Workflow, or what stands outside of one (without a title)."""

    title: str
    sections: tuple[Section, ...]


class Drawing(NamedTuple):
    title: str
    groups: tuple[Group, ...]


def draw(document: ir.Document) -> Drawing:
    return Drawing(document.name, tuple(_Sketch(document).groups(document.blocks, "")))


class _Sketch:
    def __init__(self, document: ir.Document) -> None:
        self.numbers = document.numbers
        self.count = 0

    def groups(self, blocks: Iterable[ir.Block], title: str) -> list[Group]:
        """Blocks in order; a Workflow inside makes a group of its own, after what stood before it."""
        found: list[Group] = []
        sections: list[Section] = []
        for block in _unwrapped(blocks):
            if isinstance(block, ir.Workflow):
                found += [Group(title, tuple(sections))] if sections else []
                sections = []
                found += self.groups(block.blocks, block.name)
            elif isinstance(block, ir.Task) and sections and sections[-1].id.startswith("loose"):
                sections[-1] = self._joined(sections[-1], block)
            elif (section := self._section(block)) is not None:
                sections.append(section)
        return [*found, Group(title, tuple(sections))] if sections else found

    def _section(self, block: ir.Block) -> Section | None:
        if isinstance(block, ir.Prose):
            return None
        self.count += 1
        name = f"s{self.count}"
        if isinstance(block, ir.Team):
            nodes = tuple(_member(member, f"{name}m{n}") for n, member in enumerate(block.members, 1))
            return Section(name, "team", f"Team: {block.team.name}", nodes, ())
        if isinstance(block, ir.Pipeline):
            return self._tasks(name, block.title or "Tasks", block.tasks)
        if isinstance(block, ir.Task):
            return self._tasks(f"loose{name}", "Tasks", (block,))
        if isinstance(block, ir.Shutdown):
            return _shutdown(block, name)
        if isinstance(block, ir.Cleanup):
            team = block.team.name if block.team else ""
            return Section(name, "shutdown", block.title, (Node(f"{name}c", "cleanup", team),), ())
        return None

    def _tasks(self, name: str, title: str, tasks: tuple[ir.Task, ...]) -> Section:
        nodes = tuple(Node(f"T{task.number}", task.task.name, _task_note(task)) for task in tasks)
        edges = tuple(
            (f"T{self.numbers[blocker.uid]}", f"T{task.number}")
            for task in tasks
            for blocker in task.blocked_by
        )
        return Section(name, "tasks", title, nodes, edges)

    def _joined(self, section: Section, task: ir.Task) -> Section:
        more = self._tasks(section.id, section.title, (task,))
        return section._replace(nodes=section.nodes + more.nodes, edges=section.edges + more.edges)


def _unwrapped(blocks: Iterable[ir.Block]) -> Iterable[ir.Block]:
    for block in blocks:
        if isinstance(block, ir.Xml):
            yield from _unwrapped(block.blocks)
        else:
            yield block


def _member(member: ir.Teammate, name: str) -> Node:
    kind = member.worker.type.rpartition(":")[2]
    return Node(name, member.worker.name, f"{kind} · {member.model}" if member.model else kind)


def _task_note(task: ir.Task) -> str:
    return task.worker.name if task.worker else task.task.subject


def _shutdown(block: ir.Shutdown, name: str) -> Section:
    nodes = [Node(f"{name}w{n}", worker.name, "asked to stop") for n, worker in enumerate(block.workers, 1)]
    edges: list[tuple[str, str]] = []
    if block.cleanup:
        edges = [(node.id, f"{name}c") for node in nodes]
        nodes.append(Node(f"{name}c", "cleanup", block.team.name if block.team else ""))
    return Section(name, "shutdown", block.title, tuple(nodes), tuple(edges))


# --- mermaid ---------------------------------------------------------------------------------------------
#
# The drawing as a Mermaid flowchart.


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
