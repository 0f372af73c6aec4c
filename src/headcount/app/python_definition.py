"""Read a Python definition: run the file, find its root, and list the files that it came from.

A definition is a program and runs with the rights of the user that builds it; a TSX source never runs. It
cannot disturb the build:

- it has a namespace of its own, and modules beside it are imported again for every file;
- it reads nothing from standard input, and its output is kept apart and bounded;
- an exception becomes a diagnostic.
"""

from __future__ import annotations

import importlib
import io
import linecache
import os
import sys
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Final, NamedTuple

from headcount.compiler import python_session as sessions
from headcount.compiler.element import Diagnostic, Span
from headcount.compiler.language import Node
from headcount.compiler.lower.document import ROOTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headcount.compiler.element import Element
    from headcount.compiler.python_session import Session

PRINT_LIMIT: Final = 64 * 1024
_PACKAGE: Final = "_headcount_definition"
_ROOT_NAME: Final = "doc"
# The folder of this package, which stands below the definition's when the latter is our own checkout.
_OURS: Final = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep


class PythonSource(NamedTuple):
    root: Element | None
    diagnostics: tuple[Diagnostic, ...]
    files: tuple[str, ...]
    printed: str


class _PrintedTooMuch(Exception):
    pass


class _Printed(io.StringIO):
    def write(self, text: str) -> int:
        if self.tell() + len(text) > PRINT_LIMIT:
            raise _PrintedTooMuch
        return super().write(text)


def read_python(path: str, source: bytes | None = None) -> PythonSource:
    """Run the definition at `path` (its bytes may be given) and take its root."""
    session = sessions.begin(linecache.getline)
    place = os.path.realpath(path)
    session.shown[place] = path
    printed = _Printed()
    files: list[str] = [place]
    root: Element | None = None
    try:
        root = _run(place, path, source, session, printed, files)
    finally:
        sessions.end(session)
    return PythonSource(root, tuple(session.problems), tuple(files), printed.getvalue())


def _run(
    place: str, path: str, source: bytes | None, session: Session, printed: _Printed, files: list[str]
) -> Element | None:
    try:
        if source is None:
            with open(place, "rb") as file:
                source = file.read()
        code = compile(source, place, "exec", dont_inherit=True)
        namespace: dict[str, object] = {"__name__": f"{_PACKAGE}.{_stem(place)}", "__package__": _PACKAGE}
        namespace["__file__"] = place
        with _Aside(place, printed, files):
            exec(code, namespace)
            # The root is what `doc` holds, or makes when it is a function; else the one root made in this
            # file.
            given = namespace.get(_ROOT_NAME)
            if callable(given) and not isinstance(given, Node) and hasattr(given, "__code__"):
                given = given()
            if isinstance(given, Node) and given.name in ROOTS:
                return given.freeze()
            roots = {
                id(value): (name, value)
                for name, value in namespace.items()
                if isinstance(value, Node) and value.name in ROOTS and value.span.file == path
            }
            if len(roots) == 1:
                return next(iter(roots.values()))[1].freeze()
            if not session.problems or roots:
                session.problems.append(_no_root(sorted(name for name, _ in roots.values()), given, path))
            return None
    except (Exception, SystemExit) as error:
        session.problems.append(_as_diagnostic(error, path, place, session))
        return None


class _Aside:
    """The interpreter, set up for one definition and put back as it was."""

    def __init__(self, place: str, printed: _Printed, files: list[str]) -> None:
        self.folder = os.path.dirname(place)
        self.printed = printed
        self.files = files

    def __enter__(self) -> None:
        self.kept = (sys.stdout, sys.stdin, sys.path[:], sys.dont_write_bytecode, set(sys.modules))
        sys.stdout, sys.stdin = self.printed, io.StringIO()
        sys.path.insert(0, self.folder)
        # A cached neighbour would be trusted by its time stamp, and --watch is quicker than a second.
        sys.dont_write_bytecode = True
        importlib.invalidate_caches()
        package = ModuleType(_PACKAGE)
        package.__path__ = [self.folder]
        sys.modules[_PACKAGE] = package

    def __exit__(self, *_: object) -> None:
        sys.stdout, sys.stdin, sys.path[:], sys.dont_write_bytecode, before = self.kept
        for name in sys.modules.keys() - before:
            file = getattr(sys.modules[name], "__file__", None)
            if name.startswith(_PACKAGE) or (file and _is_neighbour(file, self.folder)):
                del sys.modules[name]
                if file:
                    self.files.append(file)


def _is_neighbour(file: str, folder: str) -> bool:
    """A file of the author's own: below the definition's folder, and neither installed there nor ours."""
    if not file.startswith(folder + os.sep) or file.startswith(_OURS):
        return False
    return "site-packages" not in file[len(folder) :].split(os.sep)


def _stem(place: str) -> str:
    return os.path.splitext(os.path.basename(place))[0]


def _no_root(names: list[str], given: object, path: str) -> Diagnostic:
    start = Span(path, 1, 1)
    if names:
        what = f"The definition has {len(names)} roots: {', '.join(names)}"
        return Diagnostic("no-root", what, start, f"Name the one that is meant `{_ROOT_NAME}`.")
    if isinstance(given, Node):
        what = f"The root of a definition is a Command, an Agent or a Skill, got: {given.name}"
        return Diagnostic("no-root", what, given.span, "Wrap it in a Command with a name and a description.")
    hint = f"Write {_ROOT_NAME} = Command(name=…, description=…)[…], or Agent, or Skill."
    return Diagnostic("no-root", "The definition has no root", start, hint)


def _as_diagnostic(error: BaseException, path: str, place: str, session: Session) -> Diagnostic:
    """What ended the file, and the deepest place in the author's own files that led to it."""
    if isinstance(error, SyntaxError):
        file = path if error.filename in (None, place) else error.filename or path
        span = Span(file, error.lineno or 1, max(error.offset or 1, 1))
        return Diagnostic("syntax", error.msg, span, text=(error.text or "").rstrip("\n"))
    span = _deepest(error.__traceback__, os.path.dirname(place), session) or Span(path, 1, 1)
    if isinstance(error, _PrintedTooMuch):
        what = f"The definition printed more than {PRINT_LIMIT // 1024} KB and was stopped"
        return Diagnostic("python-error", what, span, "A definition says what a team is; print elsewhere.")
    if isinstance(error, SystemExit):
        what = "The definition ended the program with exit()"
        return Diagnostic("python-error", what, span, "Remove the call; let the file run to its end.")
    if isinstance(error, RecursionError):
        return Diagnostic("too-deep", "The definition nests too deeply", span, "Look for a call of itself.")
    hint = _suggestion(error)
    return Diagnostic("python-error", f"{type(error).__name__}: {error}", span, hint)


def _suggestion(error: BaseException) -> str:
    """Names of the language that the file uses but has not imported, or has misspelt."""
    from headcount.compiler.diagnostics import closest
    from headcount.compiler.language import LANGUAGE

    name = getattr(error, "name", None)
    if isinstance(error, NameError) and name in LANGUAGE:
        return f"Add it to the import: from headcount import {name}."
    if isinstance(error, ImportError) and "'headcount'" in str(error):
        asked = str(error).split("'")[1]
        guess = closest(asked, LANGUAGE)
        return f"Did you mean {guess}?" if guess else ""
    return ""


def _deepest(trace: TracebackType | None, folder: str, session: Session) -> Span | None:
    found: Span | None = None
    for step in _steps(trace):
        code = step.tb_frame.f_code
        if code.co_filename in session.shown or _is_neighbour(code.co_filename, folder):
            found = session.span(code, step.tb_lasti, step.tb_lineno)
    return found


def _steps(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next
