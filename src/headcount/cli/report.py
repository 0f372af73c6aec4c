"""`headcount report`: what happened, in one HTML file that needs nothing else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from headcount.app.app import open_app
from headcount.app.report import pick_any, read_report
from headcount.cli.options import add_team_word
from headcount.errors import NotAllowed, WorldError

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add_team_word(parser, "open or closed; TEAM#2 for one of its generations")
    add(
        "-o",
        "--output",
        metavar="FILE.html",
        help="default: TEAM-report.html here, or with --json none; - for standard output",
    )


def run(args: argparse.Namespace) -> int:
    app = open_app(make=False)
    team = pick_any(app, args.team)
    report = read_report(app, team)
    path = args.output or ("-" if args.json else f"{report['team']}-report.html")
    if path != "-" and app.caller.is_member:
        # A member with permissions = "edit" runs this command unasked, and writes in its workspace only.
        raise NotAllowed(
            f"Did not write {path}", "a member writes no file by this command",
            ("Print it: `headcount report -o -`",), code="not-allowed",
        )  # fmt: skip
    if path != "-":
        _write(path, report)
    if args.json:
        print(json.dumps(report, ensure_ascii=False))
    elif path == "-":
        print(_page(report), end="")
    else:
        members = len(report["members"])
        counted = f"{members} {'member' if members == 1 else 'members'}, {len(report['story'])} lines"
        print(f"Wrote {path}: {counted}.")
    return 0


def _page(report: dict[str, Any]) -> str:
    from headcount.web.report import write_report

    return write_report(report)


def _write(path: str, report: dict[str, Any]) -> None:
    page = _page(report)
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(page)
    except OSError as error:
        raise WorldError(
            f"Could not write {path}",
            error.strerror or str(error),
            ("Choose another with -o FILE.html",),
            code="unwritable",
        ) from None
