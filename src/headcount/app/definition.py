"""A definition as something to carry out: its team, how each member is started, its tasks."""

from __future__ import annotations

import os
import shlex
from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple

from headcount.app.bounded_compile import compile_bounded
from headcount.app.caller import refuse_python
from headcount.app.definition_files import source_line
from headcount.app.member_start import Plan
from headcount.compiler.diagnostics import render
from headcount.domain.names import check_member_name, check_team_name, show
from headcount.errors import DefinitionError, HeadcountError, UsageError

if TYPE_CHECKING:
    from headcount.compiler import ir
    from headcount.compiler.element import TeamRef


class Definition(NamedTuple):
    """What `up` and `run` carry out: one team. `workflow` is the one around it, if there is one."""

    path: str
    team: str
    description: str
    members: tuple[Plan, ...]
    tasks: tuple[ir.Task, ...]
    workflow: ir.Workflow | None


_USUAL = ("team.py", "team.tsx", "headcount.py", "headcount.tsx")
USUAL_FILES = f"default: {', '.join(_USUAL[:-1])} or {_USUAL[-1]} here"


def find_definition(directory: str) -> str:
    """Return the definition that is meant when none is named: the first of the usual names."""
    for name in _USUAL:
        if os.path.isfile(os.path.join(directory, name)):
            return name
    others = sorted(name for name in os.listdir(directory) if name.endswith((".py", ".tsx")))
    meant = (f"Name it, such as `headcount up {shlex.quote(others[0])}`",) if len(others) == 1 else ()
    raise UsageError(
        "Which definition?",
        f"there is none of {', '.join(_USUAL)} in {directory}",
        (
            *meant,
            "Get an example with `headcount init`",
            'Start one agent: `headcount spawn NAME --prompt "…"`',
        ),
        code="no-source",
    )


def read_definition(path: str) -> Definition:
    """Compile it; what does not compile, has no team, or has names that no client accepts is refused."""
    if not os.path.exists(path):
        raise UsageError(
            f"There is no file {show(path)}",
            f"looked in {os.path.dirname(os.path.abspath(path))}",
            (_instead(path),),
            code="no-source",
        )
    refuse_python([path], os.environ)
    compiled = compile_bounded(path)
    errors = [d for d in compiled.diagnostics if d.severity == "error"]
    if errors or compiled.document is None:
        raise DefinitionError(
            f"{path} does not compile",
            "\n".join(render(d, source_line(d)) for d in errors)
            or "there is no Command, Agent or Skill in it",
            (f"See everything with `headcount build --check {shlex.quote(path)}`",),
            code="definition",
        )
    document = compiled.document
    if len(document.teams) != 1:
        raise DefinitionError(
            f"{path} has {len(document.teams)} teams",
            "up and run start exactly one",
            ("Put each team in a separate file",),
            code="one-team",
        )
    return _definition(path, document)


def _instead(path: str) -> str:
    """What may have been meant; else how one begins."""
    directory, name = os.path.split(path)
    there = os.listdir(directory or ".") if os.path.isdir(directory or ".") else []
    close = get_close_matches(name, [one for one in there if one.endswith((".py", ".tsx"))], n=1)
    if close:
        return f"Did you mean {os.path.join(directory, close[0])}?"
    return "Get an example with `headcount init`"


def _definition(path: str, document: ir.Document) -> Definition:
    team = document.teams[0]
    workflow = next((w for w in document.workflows if w.team.uid == team.team.uid), None)
    try:
        check_team_name(team.team.name)
        for mate in team.members:
            check_member_name(mate.worker.name)
    except HeadcountError as error:
        raise DefinitionError(
            f"{path} cannot be run", f"{error.what}: {error.why}", error.hints, error.code
        ) from error
    directory = os.path.dirname(os.path.abspath(path))
    members = tuple(_plan(mate, team.team, directory) for mate in team.members)
    return Definition(path, team.team.name, team.description, members, document.tasks, workflow)


def _plan(mate: ir.Teammate, team: TeamRef, directory: str) -> Plan:
    worker = mate.worker
    return Plan(
        worker.name,
        agent=worker.agent,
        command=worker.command,
        model=mate.model or worker.model,
        prompt=mate.prompt,
        role=worker.role,
        workspace=worker.workspace,
        finalizers=worker.finalizers,
        directory=directory,
        setup=team.setup if worker.setup is None else worker.setup,
        copy=team.copy if worker.copy is None else worker.copy,
    )
