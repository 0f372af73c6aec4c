"""`headcount hub`: make a repository that has a second copy of all saved work."""

from __future__ import annotations

import argparse
import json

from headcount.cli.command_parser import add_json, add_verb
from headcount.domain.names import SETTINGS_FILE


def configure_hub(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    making = add_verb(verbs, "init", "make a bare repository with the settings and the hook of a hub")
    making.add_argument("dir", metavar="DIR", help="a new or empty directory, or a bare repository to set up")
    add_json(making)


def run_hub(args: argparse.Namespace) -> int:
    from headcount.workspace.hub_setup import init_hub

    path = init_hub(args.dir)
    if args.json:
        print(json.dumps({"path": path}))
    else:
        print(f"Made the hub {path}.")
        print(f"Next: name it as `hub` under `[fleet]` in {SETTINGS_FILE}, and run `headcount doctor`.")
    return 0
