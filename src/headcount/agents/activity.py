"""Turn the lines of a client into what a person wants to know: what it is doing, and what it did.

Each client reads its own lines into `Step`s (`Seen.steps`). The rest is the same for all clients: `Doing`
derives one line of activity and the refusals, `Meter` adds up usage, `Transcript` writes the steps as text. A
step repeats the words of a client, its model and its tools, so the place that prints it escapes it.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from typing import TYPE_CHECKING, Any

from headcount.agents.client import Seen, Step, understand

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

WAITING = "waiting for the model"
_REMEMBERED = 256  # tools whose result has not arrived; a client that never sends one costs no memory

# The tools of clients by their names in lower case: the activity, and the argument that names its object.
_RUNNING, _READING, _EDITING = ("running", ("command", "cmd")), ("reading", ()), ("editing", ())
_PATHS = ("file_path", "filePath", "absolute_path", "notebook_path", "dir_path", "path")
_TOOLS: dict[str, tuple[str, tuple[str, ...]]] = {
    name: what
    for names, what in (
        ("bash run_shell_command exec_command shell shell_command local_shell", _RUNNING),
        ("read read_file list list_directory ls notebookread", _READING),
        ("edit write multiedit notebookedit write_file replace", _EDITING),
        ("grep glob grep_search search_file_content", ("searching for", ("pattern", "query"))),
        ("webfetch web_fetch", ("fetching", ("url", "prompt"))),
        ("websearch web_search google_web_search", ("searching the web for", ("query",))),
        ("task agent", ("using a subagent:", ("description",))),
    )
    for name in names.split()
}
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_SERVERS = re.compile(r"^(?:mcp_+)?headcount_+")
# The sum of a test run: pytest, unittest, cargo, Jest and those that write alike.
TEST_SUMS = re.compile(r"\d+ (?:failed|passed|errors?)\b(?:[,;] \d+ \w+)*|FAILED \([^)\n]*\)")
_LAST_PART = 4000
_SHELLS = ("bash", "sh", "zsh")


def tool_step(number: object, name: str, given: object) -> Step:
    """Return the step of a tool that a client begins to use, in words: "editing src/x.py"."""
    arguments: Mapping[str, Any] = given if isinstance(given, dict) else {}
    what, names = _TOOLS.get(name.lower(), ("", ()))
    if what:
        about = next((arguments[one] for one in names or _PATHS if arguments.get(one)), "")
        text = show_command(about) if names == _RUNNING[1] else show_path(str(about))
        return Step("tool", f"{what} {text}".rstrip(), str(number), text)
    if name.lower() in ("apply_patch", "patch"):
        paths = _PATCHED.findall(str(arguments.get("input") or arguments.get("patchText") or given))
        return edit_step(number, paths)
    return Step("tool", f"using {_SERVERS.sub('', name)}", str(number), name)


def edit_step(number: object, paths: list[str]) -> Step:
    shown = ", ".join(show_path(path) for path in paths[:3]) + (", …" if len(paths) > 3 else "")
    return Step("tool", f"editing {shown}" if shown else "editing files", str(number), shown)


def show_command(command: object) -> str:
    """Return a command as its author wrote it, without the shell that a client puts before it."""
    if isinstance(command, list):
        words = [str(word) for word in command]
    else:
        try:
            words = shlex.split(str(command))
        except ValueError:
            return str(command)
    if len(words) == 3 and os.path.basename(words[0]) in _SHELLS and words[1] in ("-c", "-lc"):
        return words[2]
    return shlex.join(words) if isinstance(command, list) else str(command)


def show_path(path: str) -> str:
    """Return a path relative to the workspace, in which the host runs, if it is below it."""
    try:
        place = f"{os.getcwd()}/"
    except OSError:  # its client has removed it
        return path
    return path[len(place) :] if path.startswith(place) else path


def parse_arguments(text: object) -> object:
    """Return the arguments of a call, which some interfaces pass as a text of JSON."""
    try:
        return json.loads(str(text))
    except ValueError:
        return {"input": text}


def _summarize(step: Step) -> str:
    """Return how a tool ended, if that is worth a word: the sum of a test run, or its failure."""
    sums = TEST_SUMS.findall(step.text[-_LAST_PART:])
    return str(sums[-1]) if sums else ("failed" if step.failed else "")


class Doing:
    """Derives the activity and the refusals of one client from its steps, in order."""

    def __init__(self) -> None:
        self._tools: dict[str, Step] = {}
        self._refused: dict[str, None] = {}
        self._said = ""

    def follow(self, seen: Seen) -> Seen:
        """Return the same with its activity, and the command that was refused."""
        for step in seen.steps:
            activity, refused = self._follow(step)
            seen = seen._replace(activity=activity or seen.activity, refused=refused or seen.refused)
        return seen

    def _follow(self, step: Step) -> tuple[str, str]:
        if step.kind == "said":
            self._said = (self._said + step.text)[:_LAST_PART] if step.partial else step.text
            return f"said: {self._said.strip()}", ""
        self._said = ""
        if step.kind == "tool":
            _remember(self._tools, step.id, step)
            return step.text, ""
        tool = self._tools.get(step.id, Step("tool"))
        if step.kind == "refused":
            if step.id and step.id in self._refused:
                return "", ""
            _remember(self._refused, step.id, None)
            return f"{tool.text}: refused" if tool.text else "", tool.about or step.text
        if step.kind == "result":
            if step.id in self._refused:
                return "", ""
            summary = _summarize(step) if tool.text.startswith(_RUNNING[0]) else ""
            return f"{tool.text}: {summary}" if summary else WAITING, ""
        return WAITING, ""


def _remember(known: dict[str, Any], key: str, value: object) -> None:
    known.pop(key, None)
    known[key] = value
    if len(known) > _REMEMBERED:
        del known[next(iter(known))]


class Meter:
    """Adds up the usage of one conversation. Clients repeat an answer in several lines, and end with a sum.

    Measured: when Claude Code 2.1.325 continues a conversation, it sums the tokens of the turn and the
    dollars of the conversation; Codex 0.166.0 sums the tokens of the conversation.
    """

    def __init__(self) -> None:
        self._answers: dict[str, tuple[int, float]] = {}
        self._tokens = {"turn": 0, "conversation": 0}
        self._cost = 0.0

    def begin_turn(self) -> None:
        self._tokens["turn"] = 0

    def count(self, seen: Seen) -> Seen:
        """Return the same with the tokens and dollars that no earlier line had."""
        tokens, cost = seen.tokens, seen.cost_usd
        if seen.sum:
            tokens = max(tokens - self._tokens[seen.sum], 0)
            # A client that was killed may have forgotten what it spent before, and begins at 0.
            cost -= self._cost if cost >= self._cost else 0.0
        elif seen.answer:
            before = self._answers.get(seen.answer, (0, 0.0))
            _remember(self._answers, seen.answer, (max(before[0], tokens), max(before[1], cost)))
            tokens, cost = max(tokens - before[0], 0), max(cost - before[1], 0.0)
        for part in self._tokens:
            self._tokens[part] += tokens
        self._cost = seen.cost_usd if seen.sum and seen.cost_usd else self._cost + cost
        return seen._replace(tokens=tokens, cost_usd=cost)


# --- transcript ------------------------------------------------------------------------------------------

_SHOWN_LINES, _WIDTH = 12, 300


class Transcript:
    """Writes the lines of a client as text that people read. Lines of another format stay as they are."""

    def __init__(self, read: Callable[[str], Seen]) -> None:
        self._read = read
        self._shown: dict[str, Step] = {}
        self._is_open = False  # a text that continues with the next line

    def render(self, line: str) -> Iterator[str]:
        """Yield text for one line, with the ends of lines."""
        seen = understand(self._read, line)
        if not line.startswith("{"):
            yield from self._paragraph(line.rstrip("\n"))
        for step in seen.steps:
            yield from self._write(step)
        for trouble in filter(None, (seen.limit, seen.overflow, seen.login)):
            yield from self._paragraph(f"! {trouble}")
        if seen.sum or seen.turn == "ended":
            yield from self._paragraph(f"-- end of turn{_describe_sum(seen)}")

    def close(self) -> Iterator[str]:
        if self._is_open:
            self._is_open = False
            yield "\n"

    def _write(self, step: Step) -> Iterator[str]:
        if step.kind == "said" and step.partial:
            self._is_open = True
            yield step.text
        elif step.kind == "said":
            yield from self._paragraph(step.text)
        elif step.kind == "told":
            yield from self._paragraph("\n".join(f"< {line}" for line in step.text.splitlines()))
        elif step.kind == "tool" and self._shown.get(step.id) != step:
            _remember(self._shown, step.id, step)
            yield from self._paragraph(f"> {step.text}")
        elif step.kind == "refused":
            yield from self._paragraph("    refused")
        elif step.kind == "result":
            lines = step.text.splitlines() or (["failed"] if step.failed else [])
            more = len(lines) - _SHOWN_LINES
            shown = [*lines[:_SHOWN_LINES], f"… {more} more lines"] if more > 0 else lines
            yield from self._paragraph("\n".join(f"    {line[:_WIDTH]}" for line in shown))

    def _paragraph(self, text: str) -> Iterator[str]:
        yield from self.close()
        if text:
            yield f"{text}\n"


def _describe_sum(seen: Seen) -> str:
    cost = f", ${seen.cost_usd:.4f} so far" if seen.cost_usd else ""
    return f": {seen.tokens:,} tokens{' so far' * (seen.sum == 'conversation')}{cost}" if seen.sum else ""
