"""`headcount init`: settings, an example, and the client's own project files; `--undo` takes them back."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from headcount.agents.clients import CLIENTS
from headcount.app.home import find_checkout, find_home
from headcount.app.init import set_up, undo

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--client", choices=tuple(CLIENTS), help="also write this client's MCP and hook settings"
    )
    parser.add_argument("--undo", action="store_true", help="restore every file as it was")
    parser.epilog = (
        "Writes only into the repository, so `git diff` shows every change. Repeating it changes nothing."
    )


def run(args: argparse.Namespace) -> int:
    start = os.getcwd()
    steps = undo(start, os.environ) if args.undo else set_up(start, args.client, os.environ)
    if args.json:
        print(json.dumps([step._asdict() for step in steps]))
        return 0
    root = find_checkout(start, find_home(start, os.environ))
    for step in steps:
        print(f"{step.state.ljust(11)}{_from_here(root, step.path)}: {step.why}")
    if args.undo:
        undone = sum(step.state in ("restored", "removed") for step in steps)
        print(f"Took back {undone} of {len(steps)} files." if steps else "There is nothing to undo.")
        return 0
    example = _from_here(root, "team.py")
    print(f"Written {sum(step.state == 'written' for step in steps)} of {len(steps)} files.")
    print(f"Next: see what is installed with `headcount doctor`, start with `headcount up {example}`.")
    return 0


def _from_here(root: str, path: str) -> str:
    """As it is typed where the command was given: files are written at the root of the repository."""
    return os.path.relpath(f"{root}/{path}")
