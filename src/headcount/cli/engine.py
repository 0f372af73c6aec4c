"""`headcount engine`: drive the teams of this state directory until none is left. Started on demand."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from headcount.app.app import open_app
from headcount.app.resident import drive
from headcount.cli.interrupt import take_signals

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "Other commands start it in the background when they need it. It exits by itself."


def run(args: argparse.Namespace) -> int:
    take_signals()
    app = open_app()
    app.check("engine")
    if drive(app):
        return 0
    print("Another engine drives this state directory.", file=sys.stderr)
    return 0
