"""Setting a repository up: settings, an example, and a client's project files, all to be seen in a diff.

The state directory keeps the old and the new contents, so that `--undo` restores every file byte for byte. A
file that was edited after `init` keeps those edits, and loses only our part.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from headcount.agents.client import read_json
from headcount.agents.project_files import PROJECT_FILES, Change
from headcount.app.home import find_checkout, find_home, make_home
from headcount.app.session import check_here
from headcount.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

_RECORD = "init.json"
_ALWAYS = ("headcount.toml", "team.py")
_SETTINGS = """\
# headcount settings. Everything is optional; list all keys with `headcount explain settings`.

[agents]
default = "{client}"     # the client for workers that name none
{allow}
[build]
dialect = "agent"      # the calls that Claude Code has today
"""
_EXAMPLE = """\
from headcount import Command, Team, Teammate, define_team, define_worker

ann = define_worker("ann")
bob = define_worker("bob")
crew = define_team("crew", [ann, bob])

doc = Command(name="fix-tests", description="Fix the failing tests")[
    Team(team=crew, description="Two who fix tests")[
        Teammate(worker=ann, description="Unit tests", prompt="Fix the failing unit tests, and commit."),
        Teammate(worker=bob, description="Docs", prompt="Correct the README where it is wrong, and commit."),
    ],
]
"""


_ALLOW = """\
# Commands that members may run unasked, beside git and headcount. They ask you for others (`headcount asks`).
# A pattern is one command without shell operators; `*` at its end is any further words.
allow = [{commands}]{found}
"""


class Step(NamedTuple):
    """One file: what happened to it, and what it is for. `state`: written, unchanged, restored, kept."""

    path: str
    state: str
    why: str


def set_up(start: str, client: str | None, environ: Mapping[str, str]) -> list[Step]:
    """Write what is missing. Doing it again changes nothing; where one file cannot be changed, none is."""
    home = make_home(find_home(start, environ))
    check_here(home, environ, "init")
    root = find_checkout(start, home)
    edits = [_read_edit(root, change) for change in _changes(root, client)]
    record = _read_record(home)
    for edit in edits:
        if edit.after != edit.before:
            # The first time counts: what was there before anything of ours.
            key = _key(home, root, edit.change.path)
            first = record.get(key, {"before": edit.before})
            record[key] = {"before": first["before"], "after": edit.after}
    _write_record(home, record)  # first: what is written below can be undone, however far it comes
    return [_write(root, edit) for edit in edits]


def undo(start: str, environ: Mapping[str, str]) -> list[Step]:
    home = find_home(start, environ)
    check_here(home, environ, "init")
    root = find_checkout(start, home)
    record = _read_record(home)
    ours = {change.path: change for files in PROJECT_FILES.values() for change in files}
    here = {path: _key(home, root, path) for path in (*ours, *_ALWAYS)}
    steps = [
        _restore(root, path, record.pop(key), ours.get(path)) for path, key in here.items() if key in record
    ]
    if record:
        _write_record(home, record)
    elif steps:
        os.unlink(f"{home}/{_RECORD}")
    return steps


def _key(home: str, root: str, path: str) -> str:
    """In the record: relative to the main checkout, or, in another one, whole."""
    return path if root == os.path.dirname(home) else f"{root}/{path}"


def _changes(root: str, client: str | None) -> list[Change]:
    settings = _SETTINGS.format(client=client or "claude", allow=_allow(root))
    made = [
        Change("headcount.toml", lambda old: old or settings, None, "settings"),
        Change("team.py", lambda old: old or _EXAMPLE, None, "an example of a team"),
    ]
    return made + list(PROJECT_FILES[client] if client else ())


def _allow(root: str) -> str:
    """Return the setting with the test commands of the repository, and where each was found."""
    found = find_test_commands(root)
    where = f"     # found in {', '.join(found)}" if found else ""
    commands = [command for commands in found.values() for command in commands]
    return _ALLOW.format(found=where, commands=", ".join(map(json.dumps, commands)))


_LOCKS = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lock": "bun"}


def find_test_commands(root: str) -> dict[str, list[str]]:
    """Return the commands that run the tests of a repository, by the file that names them."""
    found = {}
    scripts = read_json(f"{root}/package.json").get("scripts")
    if isinstance(scripts, dict) and "test" in scripts:
        program = next((name for lock, name in _LOCKS.items() if os.path.exists(f"{root}/{lock}")), "npm")
        found["package.json"] = [f"{program} test", f"{program} run test"]
    if re.search(r"^\[tool\.pytest\b|\bpytest\b", _text(f"{root}/pyproject.toml"), re.MULTILINE):
        found["pyproject.toml"] = ["pytest *", "python -m pytest *", "python3 -m pytest *"]
    if re.search(r"^test\s*:", _text(f"{root}/Makefile"), re.MULTILINE):
        found["Makefile"] = ["make test"]
    return found


def _text(path: str) -> str:
    try:
        return _read(path) or ""
    except (OSError, ValueError):
        return ""


class _Edit(NamedTuple):
    change: Change
    before: str | None
    after: str


def _read_edit(root: str, change: Change) -> _Edit:
    """Read a file that `init` changes. A repository may contain a link in its place that leads elsewhere."""
    try:
        if not f"{os.path.realpath(f'{root}/{change.path}')}/".startswith(f"{os.path.realpath(root)}/"):
            raise ValueError("it is a link that leads out of the repository")
        before = _read(f"{root}/{change.path}")
        return _Edit(change, before, change.add(before))
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"Did not change {change.path}", f"it cannot be read: {error}",
            ("Correct it, then run `headcount init` again",),
            code="unreadable-settings",
        ) from error  # fmt: skip


def _write(root: str, edit: _Edit) -> Step:
    path = f"{root}/{edit.change.path}"
    if edit.after == edit.before:
        return Step(edit.change.path, "unchanged", edit.change.why)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(edit.after)
    return Step(edit.change.path, "written", edit.change.why)


def _restore(root: str, path: str, kept: Mapping[str, str | None], change: Change | None) -> Step:
    try:
        now = _read(f"{root}/{path}")
        if now == kept["after"]:
            back, why = kept["before"], "as it was before"
        elif now is not None and change is not None and change.remove is not None:
            back, why = change.remove(now), "without what was ours; it was edited since"
        else:
            return Step(path, "kept", "it was edited since" if now is not None else "it is gone already")
    except ValueError as error:
        return Step(path, "kept", f"it was edited since, and cannot be read: {error}")
    if back is None:
        os.unlink(f"{root}/{path}")
        _remove_if_empty(os.path.dirname(f"{root}/{path}"), root)
        return Step(path, "removed", "it was not there before")
    with open(f"{root}/{path}", "w", encoding="utf-8") as file:
        file.write(back)
    return Step(path, "restored", why)


def _remove_if_empty(directory: str, root: str) -> None:
    if directory != root and not os.listdir(directory):
        os.rmdir(directory)


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _read_record(home: str) -> dict[str, Any]:
    text = _read(f"{home}/{_RECORD}")
    found: dict[str, Any] = json.loads(text) if text else {}
    return found


def _write_record(home: str, record: dict[str, Any]) -> None:
    with open(f"{home}/{_RECORD}", "w", encoding="utf-8") as file:
        json.dump(record, file)
