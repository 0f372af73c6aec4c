"""`headcount attach`: the terminal of a member. Detach with Ctrl-b d."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from headcount.app.app import open_app
from headcount.app.members import attach_command
from headcount.cli.options import add_member, add_team

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    add_member(parser)
    add_team(parser)


def run(args: argparse.Namespace) -> int:
    command = attach_command(open_app(make=False), args.member, args.team)
    if args.json:
        print(json.dumps({"command": command}))
        return 0
    return os.execvp(command[0], command)
