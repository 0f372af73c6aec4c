"""`headcount explain`: print an error code in full, or all settings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from headcount.app.explain import Page, explain, read_pages
from headcount.domain.settings import describe

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "code",
        nargs="?",
        metavar="CODE",
        help="a code, or `settings` for all settings; default: list all codes",
    )


def run(args: argparse.Namespace) -> int:
    if args.code == "settings":
        _print_settings(args.json)
    elif args.code:
        page = explain(args.code)
        print(json.dumps(page._asdict(), ensure_ascii=False) if args.json else _whole(page))
    elif args.json:
        print(json.dumps([page._asdict() for page in read_pages().values()], ensure_ascii=False))
    else:
        width = max(map(len, read_pages()))
        for page in read_pages().values():
            print(f"{page.code.ljust(width)}  {page.what}")
    return 0


def _print_settings(as_json: bool) -> None:
    keys = [
        {"name": key.name, "default": key.default, "allowed": key.allowed, "meaning": key.doc}
        for key in describe()
    ]
    if as_json:
        print(json.dumps(keys, ensure_ascii=False))
        return
    for key in keys:
        print(f"{key['name']} = {json.dumps(key['default'], ensure_ascii=False)}\n    {key['meaning']}")


def _whole(page: Page) -> str:
    lines = [f"{page.code} (exit code {page.exit})", page.what]
    if page.why:
        lines.append(f"Because: {page.why}")
    if page.do:
        lines.append(f"Do: {page.do}")
    return "\n".join(lines)
