"""`headcount doctor`: what is missing, and how to get it."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from headcount.app.doctor import examine
from headcount.cli.terminal import paint

if TYPE_CHECKING:
    import argparse

_COLOUR = {"ok": "green", "missing": "red", "absent": "yellow"}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "Exit code 1 if something that headcount needs is missing."


def run(args: argparse.Namespace) -> int:
    checks = examine()
    if args.json:
        print(json.dumps([check._asdict() for check in checks]))
    else:
        for check in checks:
            state = paint(check.state.ljust(8), _COLOUR[check.state], sys.stdout)
            print(f"{state}{check.name.ljust(13)}{check.found}")
            if check.hint:
                print(f"        {check.hint}")
    return 1 if any(check.state == "missing" for check in checks) else 0
