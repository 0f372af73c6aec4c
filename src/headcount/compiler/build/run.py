"""Compile sources and write, or compare, their outputs. One bad file does not stop the others.

Results come out one by one, so that a build of ten thousand files holds one of them in memory. Two things
are known only at the end: in Claude Code's layout, whether two definitions have one name; and whether a
file without a root is a part of another source, which imports it, or a mistake.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple

from headcount.compiler.build.files import read_bytes, write_atomically
from headcount.compiler.build.plan import claude_output, flat_output
from headcount.compiler.compile import Compiled, compile_file
from headcount.compiler.element import Diagnostic, Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from headcount.compiler.dialects import Dialect

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
    planned = _plan_by_name(sources, options) if options.claude_layout else _plan_by_path(sources, options)
    for compiled, output in planned:
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


def _plan_by_path(sources: Sequence[str], options: Options) -> Iterator[tuple[Compiled, str | None]]:
    """Yield each definition as soon as its output is known to be its own. Those with a `folder`, and those
    whose base names clash, wait until all are compiled."""
    by_name = _clashes((source, flat_output(source, options.folder)) for source in sources)
    waiting: list[Compiled] = []
    taken: list[tuple[str, str]] = []
    for source in sources:
        compiled = compile_file(source, options.dialect)
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


def _plan_by_name(sources: Sequence[str], options: Options) -> Iterator[tuple[Compiled, str | None]]:
    """Outputs are named by the definitions, so all are compiled before the first is written."""
    compiled = [compile_file(source, options.dialect) for source in sources]
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
    for source, output in outputs:
        place = os.path.realpath(output)
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
