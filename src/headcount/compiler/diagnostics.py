"""Collect diagnostics, show them to people, and list their codes.

The compiler collects diagnostics and raises none, so one build shows all mistakes of a file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from headcount.compiler.element import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headcount.compiler.element import Span

ERROR = "error"
WARNING = "warning"
MAX_SUGGESTIONS = 100


class Report:
    """The diagnostics of one file so far.

    `partial` is set when a reader has left things out that it reported: whoever would complain that
    something is missing then keeps quiet, so that one mistake is reported once.
    """

    __slots__ = ("failed", "items", "partial", "python", "suggested")

    def __init__(self, python: bool = False, items: Iterable[Diagnostic] = ()) -> None:
        self.items: list[Diagnostic] = list(items)
        self.python = python
        self.suggested = 0
        self.failed = self.partial = any(item.severity == ERROR for item in self.items)

    def error(self, code: str, message: str, span: Span, hint: str = "") -> None:
        self.failed = True
        self.items.append(Diagnostic(code, message, span, hint))

    def missing(self, code: str, message: str, span: Span, hint: str = "") -> None:
        """An error about something absent, which a reader may have left out."""
        self.failed = True
        if not self.partial:
            self.items.append(Diagnostic(code, message, span, hint))

    def warn(self, code: str, message: str, span: Span, hint: str = "") -> None:
        self.items.append(Diagnostic(code, message, span, hint, severity=WARNING))

    def suggest(self, word: str, known: Iterable[str]) -> str:
        """What was probably meant. Comparing words takes time, and nobody reads the hundredth guess."""
        self.suggested += 1
        return did_you_mean(word, known) if self.suggested <= MAX_SUGGESTIONS else ""

    def spell(self, prop: str) -> str:
        """A prop's name as the author writes it: snake_case in Python, camelCase in TSX."""
        return snake_case(prop) if self.python else prop


def closest(word: str, known: Iterable[str]) -> str:
    """The known word that was probably meant, or nothing."""
    # Only mistakes pay for difflib.
    from difflib import get_close_matches

    by_lower = {name.lower(): name for name in known}
    found = get_close_matches(word.lower().replace("_", ""), by_lower, 1, 0.6)
    return by_lower[found[0]] if found else ""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    names = sorted(known)
    guess = closest(word, names)
    return f"Did you mean {guess}?" if guess else f"Known here: {', '.join(names)}."


def camel_case(name: str) -> str:
    """`auto_chain` → `autoChain`; a trailing underscore only avoids a Python keyword."""
    head, *rest = name.rstrip("_").split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


def snake_case(name: str) -> str:
    if name.islower():
        return name
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def kebab_case(name: str) -> str:
    return snake_case(name).replace("_", "-")


# --- show ------------------------------------------------------------------------------------------------
#
# Print a diagnostic for a person: the line that editors parse, the source line, and how to fix it.


def render(found: Diagnostic, source: str) -> str:
    """`file:line:column: message [code]`, then the `source` line with the place marked, then the hint."""
    where = f"{found.span.file}:{found.span.line}:{found.span.column}"
    said = "warning: " if found.severity == WARNING else ""
    lines = [printable(f"{where}: {said}{found.message} [{found.code}]")]
    if source:
        margin = source[: found.span.column - 1]
        lines.append(f"    {printable(source)}")
        lines.append("    " + "".join("\t" if letter == "\t" else " " for letter in margin) + "^")
    if found.hint:
        lines.append(printable(f"  hint: {found.hint}"))
    return "\n".join(lines)


def as_data(found: Diagnostic, source: str) -> dict[str, object]:
    return {
        "file": found.span.file,
        "line": found.span.line,
        "column": found.span.column,
        "severity": found.severity,
        "code": found.code,
        "message": found.message,
        "hint": found.hint,
        "text": found.text or source.strip(),
    }


def printable(text: str) -> str:
    """Without control characters: a definition is somebody else's text, and this goes to a terminal."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() or letter in "\t\u00a0" else "\ufffd" for letter in text)


# --- codes -----------------------------------------------------------------------------------------------
#
# Every code that a diagnostic can have, and what it means.
#
# Programs match on codes; `headcount explain CODE` prints these.


CODES: Final = {
    "bad-literal": "A string, number or template of the TSX source is malformed.",
    "client-name": (
        "A team's or worker's name that no client's own tools accept. The Markdown is "
        "written; `headcount run` refuses the name. Use letters, digits, - and _, at most "
        "64."
    ),
    "client-value": (
        "A model or mode that the schema of the dialect's client does not list, so the client would refuse "
        "the call. The Markdown is written."
    ),
    "closing-tag": "A closing tag does not match the tag that is open.",
    "declared-twice": "The TSX source declares one name twice.",
    "definition-cycle": "The value of a TSX constant depends on itself.",
    "dependency-cycle": "Tasks that wait for each other can never start. Remove one of the dependencies.",
    "duplicate-prop": "An element has one prop twice.",
    "duplicate-task": "A task has one id in the document, so it can have one TaskDef only.",
    "duplicate-worker": (
        "Clients distinguish members by name. Two members of a team have one name, or one member is asked "
        "to shut down twice."
    ),
    "empty-expression": "Empty braces where a value is needed.",
    "file-name": (
        "In Claude Code's layout the definition's name becomes the file's name, "
        "and this one is not a valid file name."
    ),
    "foreign-import": "A TSX definition can import its own files and the language, and nothing else.",
    "import-cycle": "Files import each other, and a value that is needed depends on itself.",
    "many-roots": "The TSX source exports more than one root.",
    "misplaced": "A component or element is in a place where it is not allowed.",
    "import-outside": (
        "An import leads out of the definition's repository or package, links resolved. Such files are not "
        "read."
    ),
    "missing-import": "An imported file does not exist.",
    "missing-prop": "A component lacks a prop that it needs.",
    "never-shut-down": ("A Workflow spawns a worker, and none of its ShutdownSequences stops it."),
    "never-spawned": ("A ShutdownSequence asks a worker to stop that no Team of the same Workflow spawns."),
    "no-root": "A definition has exactly one root: a Command, an Agent or a Skill.",
    "no-such-export": "The imported file has no export of that name.",
    "not-a-child": "A value among the children is not a valid child.",
    "not-a-component": "A value is used as a component but is not one.",
    "not-a-value": "A value cannot be a prop.",
    "not-text": "A value has no text to put into a string.",
    "not-understood": (
        "TSX is read and never executed, and this expression cannot be evaluated. Write "
        "it with constants, literals, templates, spreads, conditions over constants, or "
        "`.map` over a literal array."
    ),
    "not-utf-8": "The source is not UTF-8, so its text cannot be known.",
    "pipeline-empty": "A TaskPipeline without a TaskDef does nothing.",
    "prompt-empty": "A prompt is given and empty. The Markdown is written, with nothing to do in it.",
    "prompt-missing": "A Teammate or TaskDef has neither a prompt nor a Prompt with something in it.",
    "prompt-outside": "A Prompt belongs to the Teammate or TaskDef that it instructs.",
    "prompt-twice": "There are two prompts; only one is allowed.",
    "python-error": "The Python definition raised an error while it ran.",
    "reassigned": "A TSX variable is changed after it was declared. Definitions are read, never executed, so "
    "a name keeps its first value.",
    "returns-empty": "StructuredReturns describes what an agent may return, so it needs a StatusReturn.",
    "same-output": "Two sources have the same output file. headcount writes neither.",
    "syntax": "The source does not parse.",
    "table-width": ("A row of a Table has more cells than there are headers; a renderer would drop them."),
    "team-empty": "A Team has no Teammate.",
    "teammate-outside-team": "A Teammate takes its team from the Team around it.",
    "too-deep": "The definition is nested too deeply.",
    "too-large": "The source, or its result, exceeds a limit of the compiler.",
    "unbound-name": "A name is unbound: no constant, import or parameter has it.",
    "unknown-dependency": "A task is blocked by one that the document never creates.",
    "unknown-element": "No component or HTML element of the language has this name.",
    "unknown-enum-member": "The enum has no such member.",
    "unknown-member": "An object or ref has no such member.",
    "unknown-prop": "The component has no such prop.",
    "unreadable": "The definition could not be read from disk.",
    "unwritable": "The output could not be written to disk.",
    "vars-unfilled": "A Prompt with vars has a {{name}} in its text that vars does not have.",
    "vars-unused": "A Prompt's vars has a name that its text does not use.",
    "workers-empty": "A ShutdownSequence names no worker. Use Cleanup for the cleanup call alone.",
    "workflow-team": "A Workflow and the Team in it name different teams.",
    "workflow-teams": "A Workflow has one team. Use a separate Workflow for each team.",
    "wrong-argument": "A factory was called with an argument that it does not take.",
    "wrong-call": "A name of the Python language was called with arguments that it does not take.",
    "wrong-child": "A component has a child that it does not accept.",
    "wrong-type": "A prop's value has the wrong type.",
}
