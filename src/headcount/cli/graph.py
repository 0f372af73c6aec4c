"""`headcount graph FILE`: members, tasks with dependencies and shutdown, as Mermaid or SVG."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from headcount.app.inside import refuse_python
from headcount.compiler.compile import compile_file
from headcount.compiler.graph.drawing import draw
from headcount.compiler.show import as_data, render
from headcount.errors import DefinitionError, UsageError, WorldError

if TYPE_CHECKING:
    import argparse

    from headcount.compiler.graph.drawing import Drawing


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a .tsx or .py definition")
    parser.add_argument("--svg", action="store_true", help="a self-contained SVG, not Mermaid")
    parser.add_argument("-o", "--output", metavar="FILE", help="write to this file, not to standard output")


def run(args: argparse.Namespace) -> int:
    if not args.file.endswith((".tsx", ".py")):
        raise UsageError(
            f"Cannot draw {args.file!r}", "A definition is a .tsx or a .py file", code="no-source"
        )
    refuse_python([args.file], os.environ)
    compiled = compile_file(args.file)
    if not args.json:
        for found in compiled.diagnostics:
            print(render(found), file=sys.stderr)
    if compiled.document is None:
        if args.json:
            _print_json({"diagnostics": [as_data(found) for found in compiled.diagnostics]})
        return DefinitionError.exit_code
    drawing = draw(compiled.document)
    if drawing.groups and (args.output or not args.json):
        _write(args.output, _picture(drawing, args.svg))
    if args.output and drawing.groups and not args.json:
        print(f"Wrote {args.output}")
    if args.json:
        _print_json({"title": drawing.title, "groups": _data(drawing)})
    if not drawing.groups:
        print(f"{args.file} has no team, task or shutdown to draw.", file=sys.stderr)
    return 0 if drawing.groups else 1


def _picture(drawing: Drawing, svg: bool) -> str:
    if svg:
        from headcount.compiler.graph.svg import to_svg

        return to_svg(drawing)
    from headcount.compiler.graph.mermaid import to_mermaid

    return to_mermaid(drawing)


def _write(path: str | None, picture: str) -> None:
    if path is None:
        sys.stdout.buffer.write(picture.encode(errors="replace"))
        return
    from headcount.compiler.build.files import write_atomically

    try:
        write_atomically(path, picture.encode(errors="replace"))
    except OSError as error:
        raise WorldError(f"Could not write {path}", error.strerror or str(error), code="unwritable") from None


def _data(drawing: Drawing) -> list[dict[str, object]]:
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


def _print_json(answer: dict[str, object]) -> None:
    import json

    print(json.dumps(answer, indent=2))
