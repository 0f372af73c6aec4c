"""`defineWorker(name, type?, model?, options?)`.

The options say who the worker is when the definition is run, and never reach the Markdown:

    defineWorker('alice', { agent: 'claude' })
    defineWorker('bob', AgentType.Bash, { command: ['./agent.sh', 'bob'], role: 'spec-reviewer' })

`agent`, `role` and `workspace` are strings, `command` is an array of strings, `finalizers` an array of
commands; `type` and `model` may stand there, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.compiler.element import UNKNOWN, Element, WorkerRef
from headcount.compiler.names import AGENT_TYPES, ROLES
from headcount.compiler.report import did_you_mean
from headcount.compiler.tsx.calls import LAST
from headcount.compiler.tsx.values import UNDEFINED, Function, JsObject, describe, is_nullish

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headcount.compiler.tsx.calls import Call
    from headcount.compiler.tsx.values import Evaluated

OPTIONS = ("agent", "command", "role", "workspace", "finalizers", "model", "type")


def define_worker(call: Call) -> Evaluated:
    name = call.text(0, "A worker's name")
    positional = call.arguments
    options: Mapping[str, Evaluated] | None = None
    if len(positional) > 1 and type(positional[-1]) is JsObject:
        *positional, options = positional
    if len(positional) > 3:
        call.refuse(
            3, "After its model defineWorker takes an object of options", "Remove it, or write { … }."
        )
    given = options or {}
    kind = _type(call, positional[1] if len(positional) > 1 else given.get("type"))
    model = _optional(
        call, positional[2] if len(positional) > 2 else given.get("model"), 2, "A worker's model"
    )
    if name is UNKNOWN or kind is UNKNOWN or model is UNKNOWN:
        return UNKNOWN
    plain = WorkerRef(name, kind, model, call.uids.next())
    return plain if options is None else _with_options(call, plain, options)


def _with_options(call: Call, worker: WorkerRef, options: Mapping[str, Evaluated]) -> WorkerRef:
    for key in options:
        if key not in OPTIONS:
            call.refuse(LAST, f"defineWorker has no option {key}", did_you_mean(key, OPTIONS))
    texts = {key: _optional(call, options.get(key), LAST, key) for key in ("agent", "role", "workspace")}
    if any(value is UNKNOWN for value in texts.values()):
        return worker
    role = texts["role"] or "worker"
    if role not in ROLES:
        call.refuse(LAST, f"There is no role {role}", did_you_mean(role, ROLES))
    command = None if is_nullish(options.get("command")) else _command(call, options["command"], "command")
    if command is not None and texts["agent"] is not None:
        call.refuse(LAST, "A worker has either an agent or a command, not both", "Remove one of them.")
    return worker._replace(
        agent=texts["agent"],
        command=command,
        role=role,
        workspace=texts["workspace"],
        finalizers=_finalizers(call, options.get("finalizers")),
    )


def _type(call: Call, value: Evaluated) -> Evaluated:
    """A string, an enum member, or an imported `<Agent>`, whose name it takes."""
    if type(value) is str:
        return value
    if isinstance(value, Function):
        value = call.run(value)
    if isinstance(value, Element) and value.name == "Agent":
        names = [prop.value for prop in value.props if prop.name == "name"]
        value = names[0] if names else call.refuse(1, "The <Agent> has no name", "Give it a name.")
    if isinstance(value, Element):
        hint = "Use AgentType.Explore, a string, or an imported <Agent>."
        return call.refuse(1, f"A <{value.name}> is no worker's type", hint)
    return (
        AGENT_TYPES["GeneralPurpose"] if is_nullish(value) else _optional(call, value, 1, "A worker's type")
    )


def _optional(call: Call, value: Evaluated, index: int, what: str) -> Evaluated:
    if value is None or value is UNDEFINED:
        return None
    if value == "":
        return call.refuse(index, f"{what} is empty", "Write a string that says something.")
    return call.checked_text(value, index, what)


def _command(call: Call, value: Evaluated, key: str) -> tuple[str, ...] | None:
    """A command is a list of strings: there is no shell that would split it."""
    if type(value) is tuple and value and all(type(part) is str for part in value):
        return value
    if value is not UNKNOWN:
        what = f"The option {key} must be an array of strings, not {describe(value)}"
        call.refuse(LAST, what, "For example ['./agent.sh', 'bob'].")
    return None


def _finalizers(call: Call, value: Evaluated) -> tuple[tuple[str, ...], ...]:
    if is_nullish(value) or value is UNKNOWN:
        return ()
    if type(value) is not tuple:
        call.refuse(
            LAST, "The option finalizers must be an array of commands", "For example [['make', 'clean']]."
        )
        return ()
    commands = [_command(call, each, "finalizers") for each in value]
    return tuple(each for each in commands if each is not None)
