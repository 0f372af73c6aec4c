"""`headcount report`: what happened, in one HTML file that needs nothing else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from headcount.app.app import open_app
from headcount.app.report import pick_any, read_report
from headcount.cli.options import add_team_word
from headcount.errors import WorldError

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add_team_word(parser, "open or closed; TEAM#2 for one of its generations")
    add("-o", "--output", metavar="FILE.html", help="default: TEAM-report.html here; - for standard output")


def run(args: argparse.Namespace) -> int:
    app = open_app(make=False)
    team = pick_any(app, args.team)
    report = read_report(app, team)
    if args.json:
        print(json.dumps(report, ensure_ascii=False))
        return 0
    from headcount.web.report import write_report

    page = write_report(report)
    if args.output == "-":
        print(page, end="")
        return 0
    path = args.output or f"{report['team']}-report.html"
    _write(path, page)
    members = len(report["members"])
    print(f"Wrote {path}: {members} {'member' if members == 1 else 'members'}, {len(report['story'])} lines.")
    return 0


def _write(path: str, page: str) -> None:
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
