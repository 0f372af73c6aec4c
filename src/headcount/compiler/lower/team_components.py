"""The team components, from elements to IR. Each checks its own props and children and nothing around it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from headcount.compiler import ir
from headcount.compiler.element import UNKNOWN, Element, Text
from headcount.compiler.lower.body import XML_TAGS, block_element, body, is_named, loose, runs, xml_name
from headcount.compiler.lower.inline import no_children, not_inside
from headcount.compiler.lower.props import WRONG, read_props
from headcount.compiler.lower.props import text as text_kind
from headcount.compiler.whitespace import SPACES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from headcount.compiler.diagnostics import Report
    from headcount.compiler.element import TeamRef, Value


class Lowering:
    """What one document has so far, and where in it we stand (`depth` Workflows deep, in `team`'s)."""

    __slots__ = ("depth", "report", "shutdowns", "tasks", "team", "teams", "workflows")

    def __init__(self, report: Report) -> None:
        self.report = report
        self.depth = 0
        self.team: TeamRef | None = None
        self.tasks: list[ir.Task] = []
        self.teams: list[ir.Team] = []
        self.shutdowns: list[ir.Shutdown] = []
        self.workflows: list[ir.Workflow] = []

    def blocks(self, children: Sequence[Element | Text], owner: str) -> tuple[ir.Block, ...]:
        """Everything that stands in a document, a Workflow or an XmlBlock, in order."""
        found: list[ir.Block] = []
        for run in runs(children):
            if not isinstance(run, list) and run.name == "div" and not is_named(run):
                read_props(run, self.report)
                found.extend(self.blocks(run.children, owner))
                continue
            if not isinstance(run, list) and (lower := COMPONENTS.get(run.name)) is not None:
                if (block := lower(self, run)) is not None:
                    found.append(block)
                continue
            if isinstance(run, list):
                written = loose(run, self.report)
            else:
                written = block_element(run, owner, self.depth, self.report)
            if written:
                found.append(ir.Prose(written))
        return tuple(found)


def _team(at: Lowering, element: Element) -> ir.Team | None:
    report = at.report
    props, whole = read_props(element, report)
    members: list[ir.Teammate] = []
    teammates = 0
    for child in element.children:
        if isinstance(child, Text):
            if child.value.strip(SPACES):
                _wrong_child("Team", "Teammate", "text", child, report)
        elif child.name == "Teammate":
            teammates += 1
            if (member := _teammate(at, child)) is not None:
                members.append(member)
        else:
            _wrong_child("Team", "Teammate", child.name, child, report)
    if not teammates:
        hint = "Add a Teammate with a worker, a description and a prompt."
        report.missing("team-empty", "Team requires at least one Teammate child", element.span, hint)
    _check_duplicates(members, report)
    if not whole:
        return None
    team = ir.Team(props["team"], props.get("description", ""), tuple(members), element.span)
    at.teams.append(team)
    return team


def _check_duplicates(members: list[ir.Teammate], report: Report) -> None:
    seen: set[str] = set()
    for member in members:
        name = member.worker.name
        if name in seen:
            hint = "Give each Teammate a worker with a name of its own."
            report.error(
                "duplicate-worker", f"Team has two members with the name {name!r}", member.span, hint
            )
        seen.add(name)


def _wrong_child(owner: str, wanted: str, got: str, child: Element | Text, report: Report) -> None:
    report.error(
        "wrong-child",
        f"{owner} only accepts {wanted} children, got: {got}",
        child.span,
        f"Use {wanted} inside {owner}, and move anything else out, beside the {owner}.",
    )


def _teammate(at: Lowering, element: Element) -> ir.Teammate | None:
    props, whole = read_props(element, at.report)
    prompt = read_prompt(element, props, at.report)
    if not whole or prompt is None:
        return None
    worker = props["worker"]
    return ir.Teammate(
        worker,
        props["description"],
        prompt,
        props.get("model") or worker.model,
        props.get("mode"),
        props.get("background", True),
        element.span,
    )


def _task(at: Lowering, element: Element, before: ir.Task | None = None) -> ir.Task | None:
    """`before` is the task that an auto-chaining pipeline puts this one behind."""
    props, whole = read_props(element, at.report)
    prompt = read_prompt(element, props, at.report)
    if not whole or prompt is None:
        return None
    blocked_by = tuple(dict.fromkeys(props.get("blockedBy", ())))
    if before is not None and before.task not in blocked_by:
        blocked_by = (before.task, *blocked_by)
    task = ir.Task(
        props["task"],
        len(at.tasks) + 1,
        prompt,
        props.get("activeForm", ""),
        blocked_by,
        element.span,
        props.get("worker"),
        props.get("model"),
        props.get("metadata", {}),
    )
    at.tasks.append(task)
    return task


def _pipeline(at: Lowering, element: Element) -> ir.Pipeline | None:
    props, _ = read_props(element, at.report)
    chain = props.get("autoChain", False)
    tasks: list[ir.Task] = []
    whole = True
    for child in element.children:
        if isinstance(child, Text):
            if child.value.strip(SPACES):
                _wrong_child("TaskPipeline", "TaskDef", "text", child, at.report)
        elif child.name == "TaskDef":
            task = _task(at, child, tasks[-1] if chain and tasks else None)
            if task is None:
                whole = False
            else:
                tasks.append(task)
        else:
            _wrong_child("TaskPipeline", "TaskDef", child.name, child, at.report)
    if not tasks and whole:
        hint = "Add a TaskDef with a task and a prompt."
        at.report.missing(
            "pipeline-empty", "TaskPipeline requires at least one TaskDef child", element.span, hint
        )
    return ir.Pipeline(props.get("title", ""), tuple(tasks), element.span)


def _shutdown(at: Lowering, element: Element) -> ir.Shutdown | None:
    props, _ = read_props(element, at.report)
    no_children(element, at.report)
    workers = props.get("workers", ())
    names = [worker.name for worker in workers]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        what = f"ShutdownSequence has the worker {twice!r} twice"
        at.report.error("duplicate-worker", what, element.span, "Ask each worker once.")
    if not workers:
        if not any(prop.name == "workers" and _unknown(prop.value) for prop in element.props):
            at.report.missing(
                "workers-empty",
                "ShutdownSequence requires at least one worker in the workers array",
                element.span,
                "Name the workers to ask; for the cleanup call alone, use Cleanup.",
            )
        return None
    shutdown = ir.Shutdown(
        workers,
        props.get("team", at.team),
        props.get("reason") or "Shutdown requested",
        props.get("cleanup", True),
        props.get("title") or "Shutdown",
        element.span,
    )
    at.shutdowns.append(shutdown)
    return shutdown


def _unknown(value: object) -> bool:
    return value is UNKNOWN or (type(value) is tuple and UNKNOWN in value)


def _cleanup(at: Lowering, element: Element) -> ir.Cleanup:
    props, _ = read_props(element, at.report)
    no_children(element, at.report)
    return ir.Cleanup(props.get("team", at.team), props.get("title") or "Cleanup", element.span)


def _workflow(at: Lowering, element: Element) -> ir.Workflow | None:
    props, whole = read_props(element, at.report)
    outer = at.team
    at.team = props.get("team", outer)
    at.depth += 1
    blocks = at.blocks(element.children, "Workflow")
    at.depth -= 1
    at.team = outer
    if not whole:
        return None
    workflow = ir.Workflow(
        props["name"],
        props["team"],
        props.get("description", ""),
        blocks,
        element.span,
        props.get("verify"),
        props.get("maxTotalLines"),
        props.get("tasksAtOnce"),
    )
    _check_team(workflow, at.report)
    at.workflows.append(workflow)
    return workflow


def _check_team(workflow: ir.Workflow, report: Report) -> None:
    teams = [block for block in workflow.blocks if type(block) is ir.Team]
    for extra in teams[1:]:
        hint = "Give each team a Workflow of its own."
        report.error("workflow-teams", "Workflow can only contain one Team child", extra.span, hint)
    if teams and teams[0].team.name != workflow.team.name:
        own, child = workflow.team.name, teams[0].team.name
        what = f"Workflow team prop ({own}) must match Team child ({child})"
        report.error("workflow-team", what, workflow.span, "Give both the same team.")


def _xml(at: Lowering, element: Element) -> ir.Xml | None:
    name, attributes = xml_name(element, at.report)
    blocks = at.blocks(element.children, element.name)
    return ir.Xml(name, blocks, attributes) if name else None


def _misplaced(at: Lowering, element: Element) -> None:
    not_inside(element, "a document", at.report)


COMPONENTS: Final[dict[str, Callable[[Lowering, Element], ir.Block | None]]] = {
    "Team": _team,
    "TaskDef": _task,
    "TaskPipeline": _pipeline,
    "ShutdownSequence": _shutdown,
    "Cleanup": _cleanup,
    "Workflow": _workflow,
    **dict.fromkeys(("XmlBlock", "XmlSection", "div", *XML_TAGS), _xml),
    "Teammate": _misplaced,
    "Prompt": _misplaced,
}


# --- prompt ----------------------------------------------------------------------------------------------
#
# A prompt: the `prompt` prop or the Prompt child, with `{{name}}` filled from `vars`.


_slot: Final = re.compile(r"\{\{[ \t]*([A-Za-z_$][\w$-]*)[ \t]*\}\}")


def read_prompt(element: Element, props: dict[str, Any], report: Report) -> str | None:
    """The prompt, or None when it is missing or could not be known; both are reported by then.

    In a Teammate the child wins over the prop; in a TaskDef both together are an error. A `prompt` that is
    given and empty is a warning: pipelines are filled in step by step.
    """
    errors = len(report.items)
    child = _prompt_child(element, report) if element.children else ""
    prop: str = props.get("prompt", "")
    if child and prop and element.name == "TaskDef":
        report.error(
            "prompt-twice",
            "TaskDef cannot have both a prompt prop and <Prompt> child",
            element.span,
            "Remove one of them.",
        )
    if child or prop:
        return child or prop
    if len(report.items) > errors:
        return None  # an error inside the Prompt is why it is empty
    if "prompt" in props:
        what = f"The prompt of this {element.name} is empty"
        report.warn("prompt-empty", what, element.span, "Write what is to be done.")
        return ""
    if not any(given.name == "prompt" and given.value is UNKNOWN for given in element.props):
        report.missing(
            "prompt-missing",
            f"{element.name} requires either a <Prompt> child or prompt prop",
            element.span,
            "Write what is to be done in one of them; an empty <Prompt> counts as none.",
        )
    return None


def _prompt_child(element: Element, report: Report) -> str:
    found: list[str] = []
    for child in element.children:
        if isinstance(child, Element) and child.name == "Prompt":
            found.append(_content(child, report))
        elif isinstance(child, Element) or child.value.strip(SPACES):
            got = child.name if isinstance(child, Element) else "text"
            what = f"{element.name} only accepts a Prompt child, got: {got}"
            report.error("misplaced", what, child.span, "Wrap it in a Prompt.")
    if len(found) > 1:
        what = f"{element.name} can only contain one Prompt child"
        report.error("prompt-twice", what, element.span, "Join them into one.")
    return "\n\n".join(filter(None, found))


def _content(element: Element, report: Report) -> str:
    props, _ = read_props(element, report)
    written = body(element.children, "Prompt", 0, report)
    return _fill(written, props["vars"], element, report) if "vars" in props else written


def _fill(written: str, given: Mapping[str, Value], element: Element, report: Report) -> str:
    used: set[str] = set()

    def value_of(match: re.Match[str]) -> str:
        name = match[1]
        used.add(name)
        if name not in given:
            what = f"Prompt has {{{{{name}}}}} in its text, and vars has no {name}"
            report.error("vars-unfilled", what, element.span, report.suggest(name, given))
        value = text_kind(given.get(name, ""))
        if value is WRONG and given[name] is not UNKNOWN:
            what = f"Prompt vars has a {name} that is not a string"
            report.error("wrong-type", what, element.span, "Give it a string.")
        return value if isinstance(value, str) else ""

    filled = _slot.sub(value_of, written)
    for name in given:
        if name not in used:
            what = f"Prompt vars has {name}, and its text has no {{{{{name}}}}}"
            report.error("vars-unused", what, element.span, "Use it in the text, or remove it from vars.")
    return filled
