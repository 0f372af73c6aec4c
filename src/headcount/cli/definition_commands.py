"""`headcount build`, `graph` and `skills`: write files from definitions and from the rules.

The answer goes to standard output, diagnostics go to standard error.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from headcount.app import builds as building
from headcount.app.builds import Built, Options, build, find_sources
from headcount.app.definition_files import source_line
from headcount.cli.streams import write_whole
from headcount.cli.terminal_output import Progress
from headcount.compiler.diagnostics import WARNING, as_data, printable, render
from headcount.compiler.dialects import DIALECTS
from headcount.errors import DefinitionError, UsageError, WorldError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence

    from headcount.compiler.dialects import Dialect
    from headcount.compiler.element import Diagnostic
    from headcount.compiler.workflow_graph import Drawing

# From here on a terminal gets to see how far it is.

_SAID = {
    building.WRITTEN: "Wrote {output}",
    building.STALE: "{output} is out of date",
    building.PART: "Skipped {source}: no root of its own, another definition imports it",
}


def configure_build(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("sources", nargs="+", metavar="SRC", help="a .tsx or .py definition, a folder, or a quoted pattern")
    add("-o", "--output", metavar="DIR", help="write to this directory, not next to each source")
    add(
        "--layout",
        choices=("flat", "claude"),
        help="claude: commands/, agents/, skills/NAME/ (default: build.layout, else flat)",
    )
    add(
        "--dialect",
        choices=(*DIALECTS, "auto"),
        help="which calls the client understands (default: build.dialect, else teammate)",
    )
    add("--stdout", action="store_true", help="print the Markdown, write nothing")
    add("--check", action="store_true", help="write nothing; exit 1 if the files on disk differ")
    add("--watch", action="store_true", help="build again when a definition or an import changes")
    add("--strict", action="store_true", help="warnings count as errors")
    add("--to", choices=("python",), help="print the definition in this language instead")


def run_build(args: argparse.Namespace) -> int:
    if args.watch and (args.check or args.stdout or args.to or args.json):
        raise UsageError("--watch goes with none of --check, --stdout, --to and --json")
    sources = find_sources(args.sources)
    _refuse_python(sources)
    if args.to:
        return _to_python(sources, args.json)
    dialect, layout = _from_settings(args.dialect, args.layout)
    options = Options(_dialect(dialect), args.output, layout == "claude", args.check, args.stdout)
    if args.watch:
        return _watch(args, options)
    totals = Totals(args.strict)
    if args.json:
        results = totals.count(build(sources, options))
        import json

        files = [
            {
                "source": result.source,
                "output": result.output,
                "status": result.status,
                "diagnostics": [as_data(found, source_line(found)) for found in result.diagnostics],
                **({"markdown": result.markdown} if result.markdown is not None else {}),
            }
            for result in results
        ]
        answer = {"files": files, "errors": totals.errors, "warnings": totals.warnings}
        print(json.dumps(answer, ensure_ascii=True, indent=2))
    else:
        for result in totals.count(_with_progress(build(sources, options), len(sources))):
            _show(result)
        _summarize(totals)
    _note_teammate_calls(totals)
    return totals.exit_code


def _refuse_python(sources: Sequence[str]) -> None:
    """Check who calls, if a program is among the sources. TSX alone needs no state."""
    if any(source.endswith(".py") for source in sources):
        from headcount.app.caller import refuse_python

        refuse_python(sources, os.environ)


def _from_settings(dialect: str | None, layout: str | None) -> tuple[str, str]:
    """Complete the options from `headcount.toml`. Most builds have neither file nor variable to read."""
    if dialect is not None and layout is not None:
        return dialect, layout
    place = os.getcwd()
    while not os.path.exists(os.path.join(place, ".git")) and place != os.path.dirname(place):
        place = os.path.dirname(place)
    path = os.path.join(place, "headcount.toml")
    named = "HEADCOUNT_BUILD_DIALECT" in os.environ or "HEADCOUNT_BUILD_LAYOUT" in os.environ
    if not named and not os.path.exists(path):
        return dialect or "teammate", layout or "flat"
    from headcount.app.settings_file import read_settings

    found = read_settings(path if os.path.exists(path) else None, os.environ).build
    return dialect or found.dialect, layout or found.layout


def _note_teammate_calls(totals: Totals) -> None:
    if totals.calls_teammate:
        print(
            "Note: no released Claude Code has the Teammate calls. For today's clients, build with"
            ' `--dialect agent`, or set `dialect = "agent"` under [build] in headcount.toml.',
            file=sys.stderr,
        )


class Totals:
    """How many results of each status there were, and what that means for the exit code."""

    def __init__(self, strict: bool) -> None:
        self.strict = strict
        self.by_status: dict[str, int] = {}
        self.warnings = 0
        self.errors = 0
        self.calls_teammate = False

    def count(self, results: Iterable[Built]) -> Iterator[Built]:
        for result in results:
            self.by_status[result.status] = self.by_status.get(result.status, 0) + 1
            warnings = sum(found.severity == WARNING for found in result.diagnostics)
            self.warnings += warnings
            self.errors += len(result.diagnostics) - warnings
            self.calls_teammate = self.calls_teammate or result.calls_teammate
            yield result

    @property
    def exit_code(self) -> int:
        if building.UNWRITABLE in self.by_status:
            return 4
        if building.FAILED in self.by_status or (self.strict and self.warnings):
            return DefinitionError.exit_code
        return 1 if building.STALE in self.by_status else 0


def _dialect(name: str) -> Dialect:
    if name != "auto":
        return DIALECTS[name]
    from headcount.app.builds import detect_dialect

    found = detect_dialect()
    print(f"Dialect {found.dialect.name}: {found.because}.", file=sys.stderr)
    return found.dialect


def _show(result: Built) -> None:
    for line in result.printed.splitlines():
        print(printable(line), file=sys.stderr)
    for found in result.diagnostics:
        print(render(found, source_line(found)), file=sys.stderr)
    if result.markdown is not None:
        write_whole(result.markdown)
    elif result.status in _SAID:
        print(printable(_SAID[result.status].format(output=result.output, source=result.source)))


def _summarize(totals: Totals) -> None:
    counts = totals.by_status
    built = sum(counts.values()) - counts.get(building.PART, 0)
    if counts.get(building.PRINTED):
        return
    failed = counts.get(building.FAILED, 0) + counts.get(building.UNWRITABLE, 0)
    if failed and built > 1:
        print(f"Compiled {built - failed} of {built} definitions; {failed} failed.")
    elif not failed and counts.get(building.UNCHANGED) == built:
        print(f"Nothing to do: {built} of {built} up to date.")
    elif built > 1:
        print(f"Compiled {built} definitions.")


def _with_progress(results: Iterable[Built], total: int) -> Iterator[Built]:
    progress = Progress()
    for done, result in enumerate(results, 1):
        progress.wipe()  # output and progress never mix
        yield result
        progress.count("Compiled", done, total)
    progress.wipe()


def _to_python(sources: Sequence[str], as_json: bool) -> int:
    from headcount.app.bounded_compile import Compiler
    from headcount.compiler.to_python import to_python

    if len(sources) != 1 or not sources[0].endswith(".tsx"):
        raise UsageError("--to python takes one .tsx definition", f"Got {len(sources)}: {', '.join(sources)}")
    with Compiler() as compiler:
        compiled = compiler.compile(sources[0])
        root = compiler.read(sources[0]).root
    python = None if compiled.failed or root is None else to_python(root)
    if as_json:
        _print_python(sources[0], compiled.diagnostics, python)
    else:
        for found in compiled.diagnostics:
            print(render(found, source_line(found)), file=sys.stderr)
        sys.stdout.write(python or "")
    return DefinitionError.exit_code if python is None else 0


def _print_python(source: str, diagnostics: Sequence[Diagnostic], python: str | None) -> None:
    import json

    status = building.FAILED if python is None else building.PRINTED
    found = [as_data(one, source_line(one)) for one in diagnostics]
    print(json.dumps({"source": source, "status": status, "diagnostics": found, "python": python}, indent=2))


def _watch(args: argparse.Namespace, options: Options) -> int:
    from time import sleep

    from headcount.app.build_watch import INTERVAL_S, Watcher, changes

    def find() -> list[str]:
        try:
            sources = find_sources(args.sources)
        except UsageError:
            return []
        _refuse_python(sources)
        return sources

    def rebuild(sources: list[str]) -> None:
        totals = Totals(args.strict)
        results = []
        for result in totals.count(build(sources, options)):
            results.append(result._replace(markdown=None))
            _show(result)
        first = not watcher.sources
        watcher.built(results)
        _summarize(totals)
        if first:
            _note_teammate_calls(totals)

    watcher = Watcher()
    rebuild(find())
    print(f"Watching {len(watcher.sources)} definitions and what they import. Ctrl-C ends.", file=sys.stderr)
    try:
        for due in changes(watcher, find, lambda: sleep(INTERVAL_S)):
            rebuild(due)
            sys.stdout.flush()
    except KeyboardInterrupt:
        pass
    return 0


# --- graph -----------------------------------------------------------------------------------------------
#
# `headcount graph FILE`: members, tasks with dependencies and shutdown, as Mermaid or SVG.


def configure_graph(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a .tsx or .py definition")
    parser.add_argument("--svg", action="store_true", help="a self-contained SVG, not Mermaid")
    parser.add_argument("-o", "--output", metavar="FILE", help="write to this file, not to standard output")


def run_graph(args: argparse.Namespace) -> int:
    if not args.file.endswith((".tsx", ".py")):
        raise UsageError(
            f"Cannot draw {args.file!r}", "A definition is a .tsx or a .py file", code="no-source"
        )
    _refuse_python([args.file])
    from headcount.app.bounded_compile import compile_bounded

    compiled = compile_bounded(args.file)
    if not args.json:
        for found in compiled.diagnostics:
            print(render(found, source_line(found)), file=sys.stderr)
    if compiled.document is None:
        if args.json:
            _print_graph(
                {"diagnostics": [as_data(found, source_line(found)) for found in compiled.diagnostics]}
            )
        return DefinitionError.exit_code
    from headcount.compiler.workflow_graph import draw

    drawing = draw(compiled.document)
    if drawing.groups and (args.output or not args.json):
        _write_picture(args.output, _picture(drawing, args.svg))
    if args.output and drawing.groups and not args.json:
        print(f"Wrote {args.output}")
    if args.json:
        _print_graph({"title": drawing.title, "groups": _groups_data(drawing)})
    if not drawing.groups:
        print(f"{args.file} has no team, task or shutdown to draw.", file=sys.stderr)
    return 0 if drawing.groups else 1


def _picture(drawing: Drawing, svg: bool) -> str:
    if svg:
        from headcount.compiler.graph_svg import to_svg

        return to_svg(drawing)
    from headcount.compiler.workflow_graph import to_mermaid

    return to_mermaid(drawing)


def _write_picture(path: str | None, picture: str) -> None:
    if path is None:
        write_whole(picture)
        return
    from headcount.app.builds import write_atomically

    try:
        write_atomically(path, picture.encode(errors="replace"))
    except OSError as error:
        raise WorldError(f"Could not write {path}", error.strerror or str(error), code="unwritable") from None


def _groups_data(drawing: Drawing) -> list[dict[str, object]]:
    return [
        {
            "workflow": group.title or None,
            "sections": [
                {
                    "kind": section.kind,
                    "title": section.title,
                    "nodes": [node._asdict() for node in section.nodes],
                    "edges": [{"from": a, "to": b} for a, b in section.edges],
                }
                for section in group.sections
            ],
        }
        for group in drawing.groups
    ]


def _print_graph(answer: dict[str, object]) -> None:
    import json

    print(json.dumps(answer, indent=2))


# --- skills ----------------------------------------------------------------------------------------------
#
# `headcount skills`: write the instructions for lead, witness and members, from the rules and the policy.


def configure_skills(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", default="headcount-skills", metavar="DIR", help="default: headcount-skills"
    )


def run_skills(args: argparse.Namespace) -> int:
    import json

    from headcount import __version__
    from headcount.app.settings_file import find_settings, read_settings
    from headcount.skills import write_skills

    settings = read_settings(find_settings(os.getcwd()), os.environ)
    files = write_skills(settings, __version__)
    try:
        for name, content in files.items():
            path = os.path.join(args.output, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(content)
    except OSError as error:
        why = error.strerror or str(error)
        hint = "Choose another directory with -o DIR"
        raise WorldError(f"Did not write {args.output}", why, (hint,), code="cannot-write") from error
    if args.json:
        print(json.dumps({"directory": args.output, "files": sorted(files)}, ensure_ascii=False))
    else:
        print(f"Wrote {len(files)} files to {args.output}.")
        print(f"As a plugin: claude --plugin-dir {args.output}/claude")
        print(f"As sections for an AGENTS.md: {args.output}/agents/")
    return 0
