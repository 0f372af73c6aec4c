"""Read definition files and what they import, and compile them. The compiler itself does no I/O."""

from __future__ import annotations

import os
import stat
from functools import lru_cache
from typing import TYPE_CHECKING

from headcount.compiler.compile import Compiled, Source, compile_source
from headcount.compiler.dialects import TEAMMATE
from headcount.compiler.element import Diagnostic, Span

if TYPE_CHECKING:
    from headcount.compiler.dialects import Dialect

_ROOT_MARKS = (".git", "headcount.toml", "package.json")
_MOST_BYTES = 16 << 20  # the compiler itself takes far less of TSX


def compile_file(path: str, dialect: Dialect = TEAMMATE, source: bytes | None = None) -> Compiled:
    """Compile the definition at `path`; its bytes may be given. Never raises for what is in the file."""
    return compile_source(path, read_source(path, source), dialect)


def read_source(path: str, source: bytes | None = None) -> Source:
    """The element tree of a file, by the reader for its suffix."""
    if source is None:
        try:
            source = _read(path)
        except (OSError, ValueError) as error:
            reason = (error.strerror if isinstance(error, OSError) else "") or str(error)
            unreadable = Diagnostic("unreadable", f"Cannot read the definition: {reason}", Span(path, 1, 1))
            return Source(None, (unreadable,), (os.path.realpath(path),))
    if path.endswith(".py"):
        from headcount.app.python_definition import read_python

        return Source(*read_python(path, source))
    from headcount.compiler.tsx import read_tsx

    found = read_tsx(path, source, DiskFiles())
    return Source(found.root, tuple(found.diagnostics), tuple(found.files))


def _read(path: str) -> bytes:
    """Return a regular file with half the system calls of `open`, which show over a thousand small files.

    `O_NONBLOCK`: a pipe in its place would make the reader wait.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("it is not a regular file")
        chunks: list[bytes] = []
        left = _MOST_BYTES
        while chunk := os.read(descriptor, 1 << 16):
            chunks.append(chunk)
            left -= len(chunk)
            if left < 0:
                raise ValueError(f"it has more than {_MOST_BYTES >> 20} MB")
        return b"".join(chunks)
    finally:
        os.close(descriptor)


class DiskFiles:
    """The files on disk, for the imports of a TSX definition."""

    def read(self, path: str) -> bytes:
        from headcount.compiler.tsx.source import Unreadable

        try:
            return _read(path)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise Unreadable("unreadable", f"Cannot read {path}: {reason}", "Check the path.") from None

    def resolve(self, path: str) -> str:
        return os.path.realpath(path)

    def is_file(self, path: str) -> bool:
        return os.path.isfile(path)

    def root_of(self, directory: str) -> str:
        place = directory
        while not any(os.path.exists(os.path.join(place, mark)) for mark in _ROOT_MARKS):
            parent = os.path.dirname(place)
            if parent == place:
                return directory
            place = parent
        return place


def source_line(found: Diagnostic) -> str:
    """The line that the diagnostic points to; nothing when it cannot be read, or is too long to help."""
    try:
        lines = _lines(found.span.file, os.stat(found.span.file).st_mtime_ns)
    except (OSError, ValueError):
        return ""
    text = lines[found.span.line - 1] if found.span.line <= len(lines) else ""
    return text if len(text) <= 200 else ""


@lru_cache(maxsize=2)
def _lines(path: str, changed: int) -> list[str]:
    """A file's lines, kept for the next diagnostic of the same file as long as it is the same."""
    return _read(path).decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
