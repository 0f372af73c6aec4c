"""The document as Markdown: blocks with one blank line between them, one newline at the end.

A component stands under a heading of level 2, one deeper inside a Workflow, which separates its children
with rules. Nothing here can fail: lowering has checked everything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from headcount.compiler import ir
from headcount.compiler.quoting import (
    fence,
    mapping,
    quote_text,
    string,
    table_cell,
    table_row,
    task_flow,
    template,
    xml_block,
)
from headcount.compiler.whitespace import one_line, squeeze

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from headcount.compiler.dialects import Dialect

_TABLE_WIDTH: Final = 80
_TABLE_HEAD: Final = "| ID | Task | Description | Depends On |\n| :--- | :--- | :--- | :--- |"


def write_markdown(document: ir.Document, dialect: Dialect) -> str:
    writer = Writer(dialect, document.numbers)
    frontmatter = "\n".join(["---", *mapping(dict(document.frontmatter)), "---"])
    text = "\n\n".join([frontmatter, *(writer.block(block, 2) for block in document.blocks)]) + "\n"
    try:
        text.encode()
    except UnicodeEncodeError:
        # Half of a character, from an escape in a string: prose has no way to write it.
        text = text.translate(dict.fromkeys(range(0xD800, 0xE000), "\ufffd"))
    return text


def heading(level: int, text: str) -> str:
    return f"{'######'[:level]} {one_line(text)}"


class Writer:
    """Writes blocks of one document; `numbers` has the task ids by `uid`."""

    __slots__ = ("dialect", "numbers")

    def __init__(self, dialect: Dialect, numbers: Mapping[int, int]) -> None:
        self.dialect = dialect
        self.numbers = numbers

    def block(self, block: ir.Block, level: int) -> str:
        return WRITERS[type(block)](self, block, level)

    def prose(self, block: ir.Prose, level: int) -> str:
        return block.markdown

    def xml(self, block: ir.Xml, level: int) -> str:
        inner = "\n\n".join(self.block(each, level) for each in block.blocks)
        return xml_block(block.name, inner, block.attributes)

    def workflow(self, workflow: ir.Workflow, level: int) -> str:
        parts = [heading(level, f"Workflow: {workflow.name}")]
        if workflow.description:
            parts.append(quote_text(workflow.description))
        for block in workflow.blocks:
            parts += ["---", self.block(block, level + 1)]
        return "\n\n".join(parts)

    def team(self, team: ir.Team, level: int) -> str:
        dialect = self.dialect
        name = string(team.team.name)
        parts = [heading(level, f"Team: {team.team.name}")]
        if team.description:
            parts.append(quote_text(team.description))
        if dialect.create:
            call = dialect.create % name
            if team.description:
                call = dialect.create_described % (name, string(team.description))
            parts.append(fence("javascript", call))
        parts.append(heading(level + 1, "Members"))
        for member in team.members:
            parts.append(heading(level + 2, member.worker.name))
            parts.append(fence("javascript", self._spawn(member, name)))
        return "\n\n".join(parts)

    def _spawn(self, member: ir.Teammate, team_name: str) -> str:
        worker = member.worker
        lines = [f"{self.dialect.spawn}({{"]
        if self.dialect.names_team:
            lines.append(f"  team_name: {team_name},")
        lines += [
            f"  name: {string(worker.name)},",
            f"  subagent_type: {string(worker.type)},",
            f"  description: {string(member.description)},",
            f"  prompt: {template(member.prompt)},",
        ]
        if member.model:
            lines.append(f"  model: {string(member.model)},")
        if member.mode:
            lines.append(f"  mode: {string(member.mode)},")
        lines.append(f"  run_in_background: {'true' if member.background else 'false'}\n}})")
        return "\n".join(lines)

    def task(self, task: ir.Task, level: int) -> str:
        if not self.dialect.tasks:
            return self._table((task,))
        lines = [_create_task(task)]
        if task.blocked_by:
            lines.append(self._block_task(task))
        return fence("javascript", "\n".join(lines))

    def pipeline(self, pipeline: ir.Pipeline, level: int) -> str:
        parts = [heading(level, pipeline.title)] if pipeline.title else []
        parts.append(fence("mermaid", task_flow(pipeline.tasks, self.numbers)))
        if self.dialect.tasks:
            lines = ["// Create all tasks", *map(_create_task, pipeline.tasks)]
            blocked = [self._block_task(task) for task in pipeline.tasks if task.blocked_by]
            if blocked:
                lines += ["", "// Set up dependencies", *blocked]
            parts.append(fence("javascript", "\n".join(lines)))
        parts.append(self._table(pipeline.tasks))
        return "\n\n".join(parts)

    def _block_task(self, task: ir.Task) -> str:
        blockers = ", ".join(f'"{self.numbers[blocker.uid]}"' for blocker in task.blocked_by)
        return f'TaskUpdate({{ taskId: "{task.number}", addBlockedBy: [{blockers}] }})'

    def _table(self, tasks: Sequence[ir.Task]) -> str:
        """Without task calls the table is all there is of a task, so nothing is cut from it."""
        lines = [_TABLE_HEAD]
        for task in tasks:
            described = squeeze(task.prompt).strip()
            if self.dialect.tasks and len(described) > _TABLE_WIDTH:
                described = described[: _TABLE_WIDTH - 3] + "..."
            blockers = ", ".join(str(self.numbers[blocker.uid]) for blocker in task.blocked_by)
            name, described = table_cell(one_line(task.task.name)), table_cell(one_line(described))
            lines.append(table_row([str(task.number), name, described, blockers or "-"]))
        return "\n".join(lines)

    def shutdown(self, shutdown: ir.Shutdown, level: int) -> str:
        dialect = self.dialect
        reason = string(shutdown.reason)
        names = [string(worker.name) for worker in shutdown.workers]
        team = one_line(shutdown.team.name) if shutdown.team else "{team}"
        lines = ["// 1. Request shutdown for all workers"]
        lines += [dialect.request % (name, reason) for name in names]
        lines += ["", "// 2. Wait for shutdown_approved messages"]
        lines.append(dialect.wait % team if "%s" in dialect.wait else dialect.wait)
        lines += [f'// {{"type": "shutdown_approved", "from": {name}, ...}}' for name in names]
        if shutdown.cleanup and dialect.delete:
            lines += ["", "// 3. Cleanup team resources", dialect.delete]
        return f"{heading(level, shutdown.title)}\n\n{fence('javascript', chr(10).join(lines))}"

    def cleanup(self, cleanup: ir.Cleanup, level: int) -> str:
        team = one_line(cleanup.team.name) if cleanup.team else "{team}"
        if self.dialect.delete:
            said = fence("javascript", f"// Cleanup team resources of {team}\n{self.dialect.delete}")
        else:
            said = f"Nothing to call: the team {team} ends with the session."
        return f"{heading(level, cleanup.title)}\n\n{said}"


def _create_task(task: ir.Task) -> str:
    fields = f"subject: {string(task.task.subject)}, description: {string(task.prompt)}"
    if task.active_form:
        fields += f", activeForm: {string(task.active_form)}"
    return f"TaskCreate({{ {fields} }})"


WRITERS: Final[dict[type, Callable[[Writer, Any, int], str]]] = {
    ir.Prose: Writer.prose,
    ir.Xml: Writer.xml,
    ir.Workflow: Writer.workflow,
    ir.Team: Writer.team,
    ir.Task: Writer.task,
    ir.Pipeline: Writer.pipeline,
    ir.Shutdown: Writer.shutdown,
    ir.Cleanup: Writer.cleanup,
}
