"""Which files are meant, and where the Markdown of each goes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from headcount.compiler.compile import SUFFIXES
from headcount.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headcount.compiler.ir import Document

_MAGIC: Final = frozenset("*?[")
CLAUDE_HOME: Final = ".claude"


def find_sources(patterns: Iterable[str]) -> list[str]:
    """The definitions that paths, folders and glob patterns name, each once, in a stable order.

    A folder stands for the definitions directly in it; `**` in a pattern goes deeper. Hidden folders and
    `node_modules` are passed over by patterns.
    """
    found: dict[str, str] = {}
    for pattern in patterns:
        matches = _matches(pattern)
        if not matches:
            raise UsageError(
                f"No definition found for {pattern!r}",
                "Nothing there ends in .tsx or .py",
                ("Name a file, a folder, or a pattern in quotes, as in 'teams/**/*.tsx'",),
                code="no-source",
            )
        for path in matches:
            found.setdefault(os.path.realpath(path), path)
    return list(found.values())


def _matches(pattern: str) -> list[str]:
    if os.path.isdir(pattern):
        return sorted(
            os.path.join(pattern, name)
            for name in os.listdir(pattern)
            if name.endswith(SUFFIXES) and name[0] not in "._"
        )
    if _MAGIC.isdisjoint(pattern) or os.path.exists(pattern):
        if not pattern.endswith(SUFFIXES):
            why = "A definition is a .tsx or a .py file"
            raise UsageError(f"Cannot build {pattern!r}", why, code="no-source")
        # A file that is not there is a diagnostic of its own, and does not stop the others.
        return [pattern]
    import glob

    found = glob.glob(pattern, recursive=True)
    return sorted(
        path for path in found if path.endswith(SUFFIXES) and "node_modules" not in path.split(os.sep)
    )


def flat_output(source: str, folder: str | None, below: str = "") -> str:
    """Beside the source, or in `folder`, or in the directory `below` one of them; under its base name."""
    directory, name = os.path.split(os.path.splitext(source)[0])
    return os.path.join(directory if folder is None else folder, below, f"{name}.md")


def claude_output(document: Document, folder: str | None) -> str | None:
    """Where Claude Code looks for it; a Command `a:b` is `commands/a/b.md`. None: no name for a file."""
    parts = document.name.split(":") if document.kind == "Command" else [document.name]
    if not all(map(_is_file_name, parts)):
        return None
    home = folder or CLAUDE_HOME
    if document.kind == "Skill":
        return os.path.join(home, "skills", document.folder, document.name, "SKILL.md")
    place = "commands" if document.kind == "Command" else "agents"
    return os.path.join(home, place, document.folder, *parts) + ".md"


def _is_file_name(name: str) -> bool:
    return name.isprintable() and name.strip(". ") == name != "" and not any(c in '/\\:*?"<>|' for c in name)
