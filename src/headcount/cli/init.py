"""`headcount init`: settings, an example, and the client's own project files; `--undo` takes them back."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from headcount.agents.clients import CLIENTS
from headcount.app.init import set_up, undo

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--client", choices=tuple(CLIENTS), help="also this client's MCP and hook settings")
    parser.add_argument("--undo", action="store_true", help="give every file back as it was before")
    parser.epilog = (
        "Writes into the repository only, so `git diff` shows all of it. Doing it twice changes nothing."
    )


def run(args: argparse.Namespace) -> int:
    start = os.getcwd()
    steps = undo(start, os.environ) if args.undo else set_up(start, args.client, os.environ)
    if args.json:
        print(json.dumps([step._asdict() for step in steps]))
        return 0
    for step in steps:
        print(f"{step.state.ljust(11)}{step.path}: {step.why}")
    done = "restored" if args.undo else "written"
    print(f"{done.capitalize()} {sum(step.state == done for step in steps)} of {len(steps)} files.")
    if not args.undo:
        print("Next: see what is installed with `headcount doctor`, start with `headcount up team.py`.")
    return 0
