"""`headcount skills`: write the instructions for lead, witness and members, from the rules and the policy."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from headcount import __version__
from headcount.domain.settings import find_settings, read_settings
from headcount.errors import WorldError
from headcount.skills import write_skills

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", default="headcount-skills", metavar="DIR", help="default: headcount-skills"
    )


def run(args: argparse.Namespace) -> int:
    settings = read_settings(find_settings(os.getcwd()), os.environ)
    files = write_skills(settings, __version__)
    try:
        for name, content in files.items():
            path = os.path.join(args.output, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(content)
    except OSError as error:
        why = error.strerror or str(error)
        hint = "Choose another directory with -o DIR"
        raise WorldError(f"Did not write {args.output}", why, (hint,), code="cannot-write") from error
    if args.json:
        print(json.dumps({"directory": args.output, "files": sorted(files)}, ensure_ascii=False))
    else:
        print(f"Wrote {len(files)} files to {args.output}.")
        print(f"As a plugin: claude --plugin-dir {args.output}/claude")
        print(f"As sections for an AGENTS.md: {args.output}/agents/")
    return 0
