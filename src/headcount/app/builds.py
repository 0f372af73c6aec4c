"""Compile sources and write, or compare, their outputs. One bad file does not stop the others.

Results come out one by one, so that a build of ten thousand files holds one of them in memory. Two things
are known only at the end: in Claude Code's layout, whether two definitions have one name; and whether a
file without a root is a part of another source, which imports it, or a mistake.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple

from headcount.app.bounded_compile import Compiler
from headcount.compiler.compile import SUFFIXES, Compiled
from headcount.compiler.dialects import TEAMMATE, dialect_for_version
from headcount.compiler.element import Diagnostic, Span
from headcount.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from headcount.compiler.dialects import Dialect
    from headcount.compiler.ir import Document

FAILED: Final = "failed"  # it does not compile, or has no place to go
UNWRITABLE: Final = "unwritable"  # it compiles, and the file could not be written
PART: Final = "part"  # no root of its own; another source imports it
WRITTEN: Final = "written"
UNCHANGED: Final = "unchanged"
STALE: Final = "stale"  # --check: what is on disk differs, or is missing
PRINTED: Final = "printed"  # --stdout


class Options(NamedTuple):
    dialect: Dialect
    folder: str | None = None
    claude_layout: bool = False
    check: bool = False
    stdout: bool = False


class Built(NamedTuple):
    source: str
    output: str | None
    status: str
    diagnostics: tuple[Diagnostic, ...]
    files: tuple[str, ...]
    printed: str
    markdown: str | None
    calls_teammate: bool = False


def build(sources: Sequence[str], options: Options) -> Iterator[Built]:
    """Build every source. Results are in the order of the sources, except for those that must wait."""
    read: set[str] = set()  # what was imported
    rootless: list[Compiled] = []
    plan = _plan_by_name if options.claude_layout else _plan_by_path
    with Compiler() as compiler:
        for compiled, output in plan(compiler, sources, options):
            if _has_no_root(compiled):
                rootless.append(compiled)
                continue
            read.update(compiled.files[1:])
            yield _finish(compiled, output, options)
    parts = set(map(os.path.realpath, read)) if rootless else read
    for compiled in rootless:
        is_part = os.path.realpath(compiled.path) in parts
        yield _result(compiled, None, PART if is_part else FAILED, () if is_part else compiled.diagnostics)


def _has_no_root(compiled: Compiled) -> bool:
    return [found.code for found in compiled.diagnostics] == ["no-root"]


def _plan_by_path(
    compiler: Compiler, sources: Sequence[str], options: Options
) -> Iterator[tuple[Compiled, str | None]]:
    """Yield each definition as soon as its output is known to be its own. Those with a `folder`, and those
    whose base names clash, wait until all are compiled."""
    by_name = _clashes((source, flat_output(source, options.folder)) for source in sources)
    waiting: list[Compiled] = []
    taken: list[tuple[str, str]] = []
    for source in sources:
        compiled = compiler.compile(source, options.dialect)
        output = _flat_output(compiled, options)
        moved = compiled.document is not None and compiled.document.folder
        if moved or (by_name and os.path.realpath(output) in by_name):
            waiting.append(compiled)
        else:
            taken.append((source, output))
            yield compiled, output
    if waiting:
        outputs = [(one.path, _flat_output(one, options)) for one in waiting if not _has_no_root(one)]
        clashes = _clashes([*taken, *outputs])
        for one in waiting:
            output = _flat_output(one, options)
            shared = clashes.get(os.path.realpath(output))
            if shared and not options.stdout and not _has_no_root(one):
                yield _clash(one, output, shared), None
            else:
                yield one, output


def _flat_output(compiled: Compiled, options: Options) -> str:
    below = compiled.document.folder if compiled.document is not None else ""
    return flat_output(compiled.path, options.folder, below)


def _plan_by_name(
    compiler: Compiler, sources: Sequence[str], options: Options
) -> Iterator[tuple[Compiled, str | None]]:
    """Outputs are named by the definitions, so all are compiled before the first is written."""
    compiled = [compiler.compile(source, options.dialect) for source in sources]
    outputs = {
        one.path: output
        for one in compiled
        if one.document is not None and (output := claude_output(one.document, options.folder)) is not None
    }
    clashes = _clashes(outputs.items())
    for one in compiled:
        output = outputs.get(one.path)
        if output is None:
            yield (one if one.document is None else _without_file_name(one)), None
        elif (shared := clashes.get(os.path.realpath(output))) and not options.stdout:
            yield _clash(one, output, shared), None
        else:
            yield one, output


def _clashes(outputs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The outputs that more than one source would be written to, and those sources."""
    first: dict[str, str] = {}
    clashes: dict[str, list[str]] = {}
    folders: dict[str, str] = {}
    for source, output in outputs:
        place = _resolve(output, folders)
        if place in first:
            clashes.setdefault(place, [first[place]]).append(source)
        else:
            first[place] = source
    return clashes


def _clash(compiled: Compiled, output: str, sources: list[str]) -> Compiled:
    others = ", ".join(source for source in sources if source != compiled.path)
    what = f"{others} would be written to {output} as well"
    return _refused(
        compiled, "same-output", what, "Rename one of them, or build them into different folders."
    )


def _without_file_name(compiled: Compiled) -> Compiled:
    name = compiled.document.name if compiled.document else ""
    hint = "Use letters, digits and dashes; a Command may have a namespace, as in review:pr."
    return _refused(compiled, "file-name", f"The name {name!r} cannot be the name of a file", hint)


def _refused(compiled: Compiled, code: str, what: str, hint: str) -> Compiled:
    span = compiled.document.span if compiled.document else Span(compiled.path, 1, 1)
    found = Diagnostic(code, what, span, hint)
    return compiled._replace(markdown=None, document=None, diagnostics=(*compiled.diagnostics, found))


def _finish(compiled: Compiled, output: str | None, options: Options) -> Built:
    if compiled.markdown is None or output is None:
        return _result(compiled, None, FAILED, compiled.diagnostics)
    if options.stdout:
        return _result(compiled, None, PRINTED, compiled.diagnostics, compiled.markdown)
    data = compiled.markdown.encode()
    if read_bytes(output) == data:
        return _result(compiled, output, UNCHANGED, compiled.diagnostics)
    if options.check:
        return _result(compiled, output, STALE, compiled.diagnostics)
    try:
        write_atomically(output, data)
    except OSError as error:
        what = f"Cannot write {output}: {error.strerror or error}"
        found = (*compiled.diagnostics, Diagnostic("unwritable", what, Span(compiled.path, 1, 1)))
        return _result(compiled, output, UNWRITABLE, found)
    return _result(compiled, output, WRITTEN, compiled.diagnostics)


def _result(
    compiled: Compiled,
    output: str | None,
    status: str,
    diagnostics: tuple[Diagnostic, ...],
    markdown: str | None = None,
) -> Built:
    calls = status in (WRITTEN, PRINTED) and "Teammate({ operation" in (compiled.markdown or "")
    return Built(
        compiled.path, output, status, diagnostics, compiled.files, compiled.printed, markdown, calls
    )


# --- plan ------------------------------------------------------------------------------------------------
#
# Which files are meant, and where the Markdown of each goes.


_MAGIC: Final = frozenset("*?[")
CLAUDE_HOME: Final = ".claude"


def find_sources(patterns: Iterable[str]) -> list[str]:
    """The definitions that paths, folders and glob patterns name, each once, in a stable order.

    A folder stands for the definitions directly in it; `**` in a pattern goes deeper. Hidden folders and
    `node_modules` are passed over by patterns.
    """
    found: dict[str, str] = {}
    folders: dict[str, str] = {}
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
            found.setdefault(_resolve(path, folders), path)
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


# --- files -----------------------------------------------------------------------------------------------
#
# Outputs on disk: a reader sees the old file or the new one, never a part of it.


def read_bytes(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def _resolve(path: str, folders: dict[str, str]) -> str:
    """`os.path.realpath`, which inspects every directory on the way, once for each of the `folders`."""
    folder, name = os.path.split(path)
    if folder not in folders:
        folders[folder] = os.path.realpath(folder)
    place = os.path.join(folders[folder], name)
    return os.path.realpath(place) if name in (".", "..") or os.path.islink(place) else place


def write_atomically(path: str, data: bytes) -> None:
    """Write beside the file, and rename. A symbolic link stays one. Nothing is flushed to disk: after a power
    failure the next build writes what is missing."""
    path = os.path.realpath(path) if os.path.islink(path) else path
    folder, name = os.path.split(path)
    scratch = os.path.join(folder, f".{name}.{os.getpid()}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    try:
        descriptor = os.open(scratch, flags, 0o666)
    except FileNotFoundError:
        os.makedirs(folder, exist_ok=True)
        descriptor = os.open(scratch, flags, 0o666)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
        os.replace(scratch, path)
    except BaseException:
        os.unlink(scratch)
        raise


# --- detect ----------------------------------------------------------------------------------------------
#
# `--dialect auto`: ask the Claude Code on PATH for its version.


TIMEOUT_S = 20


class Detected(NamedTuple):
    dialect: Dialect
    because: str


def detect_dialect(command: str = "claude") -> Detected:
    """The dialect that the client on PATH understands; the default one when there is none to ask."""
    import re
    import shutil
    import subprocess

    path = shutil.which(command)
    if path is None:
        return Detected(TEAMMATE, f"no {command} on PATH")
    try:
        answer = subprocess.run(
            [path, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        return Detected(TEAMMATE, f"{path} --version failed: {error}")
    said = answer.stdout.decode(errors="replace").strip()
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", said)
    if found is None:
        return Detected(TEAMMATE, f"{path} --version said {said[:60]!r}")
    return Detected(dialect_for_version(tuple(map(int, found.groups()))), f"{path} is {found[0]}")
