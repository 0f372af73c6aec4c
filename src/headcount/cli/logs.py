"""`headcount logs`: what a member printed."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from headcount.app.app import open_app
from headcount.app.members import read_output
from headcount.cli.options import add_member, add_team

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    add_member(parser)
    parser.add_argument("-f", "--follow", action="store_true", help="continue until the member is gone")
    add_team(parser)


def run(args: argparse.Namespace) -> int:
    output = read_output(open_app(make=False), args.member, args.team, follow=args.follow and not args.json)
    if args.json:
        print(json.dumps({"member": args.member, "output": "".join(output)}, ensure_ascii=False))
        return 0
    for text in output:
        sys.stdout.write(text)
        sys.stdout.flush()
    return 0
