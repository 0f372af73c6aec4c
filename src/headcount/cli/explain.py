"""`headcount explain`: an error code in full."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from headcount.app.explain import Page, explain, read_pages

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "code", nargs="?", metavar="CODE", help="as it stands in square brackets; default: list all"
    )


def run(args: argparse.Namespace) -> int:
    if args.code:
        page = explain(args.code)
        print(json.dumps(page._asdict(), ensure_ascii=False) if args.json else _whole(page))
    elif args.json:
        print(json.dumps([page._asdict() for page in read_pages().values()], ensure_ascii=False))
    else:
        width = max(map(len, read_pages()))
        for page in read_pages().values():
            print(f"{page.code.ljust(width)}  {page.what}")
    return 0


def _whole(page: Page) -> str:
    lines = [f"{page.code} (exit code {page.exit})", page.what]
    if page.why:
        lines.append(f"Because: {page.why}")
    if page.do:
        lines.append(f"Do: {page.do}")
    return "\n".join(lines)
