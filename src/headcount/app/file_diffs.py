"""Read what a member made file by file: first the numbers of all files, then the lines of one."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from headcount.app import review
from headcount.app.transcripts import read_test_results
from headcount.errors import UsageError

if TYPE_CHECKING:
    from headcount.app.app import App
    from headcount.app.review import Made

MOST_FILES = 2_000
MOST_LINES = 20_000
LONGEST = 2_000
_HUNK = re.compile(rb"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


class ChangedFile(NamedTuple):
    """A path as git has it, with its name before a rename. `added` is None for a binary file."""

    path: str
    was: str
    added: int | None
    deleted: int | None

    def as_dict(self) -> dict[str, Any]:
        return {**self._asdict(), "path": _show(self.path), "was": _show(self.was)}


class Line(NamedTuple):
    """A line of a diff: its sign (`@` for the head of a hunk), its numbers before and after, its text."""

    sign: str
    old: int | None
    new: int | None
    text: str


def read_files(app: App, name: str, team: str | None = None) -> dict[str, Any]:
    """Return the commits and the changed files of a member, and the test results in its output."""
    made = review.find_made(app, name, team)
    files = list_changed(made)
    return {
        **review.describe(made),
        "unsaved": made.count_unsaved(),
        "files": [file.as_dict() for file in files[:MOST_FILES]],
        "filesLeftOut": max(0, len(files) - MOST_FILES),
        "tests": read_test_results(app, made.key, made.team),
    }


def read_file(app: App, name: str, number: int, team: str | None = None) -> tuple[ChangedFile, list[Line]]:
    """Return the lines of the file with this number in the list of `read_files`."""
    made = review.find_made(app, name, team)
    files = list_changed(made)
    if not 0 <= number < len(files):
        raise UsageError(
            f"There is no file {number} in the diff of {made.key}", f"it has {len(files)}",
            code="unknown-file",
        )  # fmt: skip
    file = files[number]
    paths = [path for path in (file.was, file.path) if path]
    return file, parse_lines(made.read_diff("--patch", "--find-renames", paths=paths))


def list_changed(made: Made) -> list[ChangedFile]:
    fields = iter(made.read_diff("--numstat", "--find-renames", "-z").split(b"\0"))
    files = []
    for record in fields:
        if record.count(b"\t") < 2:
            continue  # the end, or a path with a conflict, which follows again with its numbers
        added, deleted, path = record.split(b"\t", 2)
        was = b""
        if not path:
            was, path = next(fields, b""), next(fields, b"")
        numbers = (int(number) if number.isdigit() else None for number in (added, deleted))
        files.append(ChangedFile(os.fsdecode(path), os.fsdecode(was), *numbers))
    return files


def parse_lines(patch: bytes) -> list[Line]:
    """Return the lines of the hunks of one file. Names and modes before the first hunk are left out."""
    lines: list[Line] = []
    old = new = 0
    for raw in patch.split(b"\n"):
        hunk = _HUNK.match(raw)
        sign = raw[:1].decode("latin-1")
        if hunk:
            old, new = int(hunk[1]), int(hunk[2])
            lines.append(Line("@", None, None, _text(raw)))
        elif lines and sign and sign in "+- \\":
            is_old, is_new = sign in "- ", sign in "+ "
            lines.append(Line(sign, old if is_old else None, new if is_new else None, _text(raw[1:])))
            old, new = old + is_old, new + is_new
        elif raw.startswith(b"diff "):
            old = new = 0
        if len(lines) > MOST_LINES:
            lines[-1] = Line("@", None, None, f"Only the first {MOST_LINES:,} lines are shown.")
            return lines
    return lines


def _text(raw: bytes) -> str:
    """Return a line of a file with a visible carriage return, and cut where it is too long to read."""
    text = raw[: 4 * LONGEST].decode("utf-8", "replace")
    if len(text) <= LONGEST and len(raw) <= 4 * LONGEST:
        return f"{text[:-1]}␍" if text.endswith("\r") else text
    return f"{text[:LONGEST]}… {len(raw) - len(text[:LONGEST].encode()):,} more bytes"


def _show(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "replace")
