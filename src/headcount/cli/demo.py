"""`headcount demo`: the whole story in about ten seconds, on a scratch repository."""

from __future__ import annotations

import json
import os
import shutil
import sys
from typing import TYPE_CHECKING

from headcount.app.demo import Ending, Line, run_demo
from headcount.cli.terminal import paint, plain

if TYPE_CHECKING:
    import argparse

_COLOURS = (("proved gone", "green"), ("sent back", "yellow"), ("escalated", "yellow"), ("saved to", "green"),
            ("SIGKILL", "red"), ("did not answer", "yellow"))  # fmt: skip


_INTRODUCTION = """\
Three agents build a word counter, two review. ada behaves. ben says done with a file lying around. cy hangs:
it answers nobody, holds unsaved work, and has a child process that ignores SIGTERM.
"""


_WIDTH = 98  # of what happened; the receipt has the rest
_WHO = len("quality-2")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dir", metavar="DIR", help="where to run it; default: a new temporary directory")


def run(args: argparse.Namespace) -> int:
    if not args.json:
        print(_INTRODUCTION)
    ending = run_demo(_show if not args.json else lambda _: None, args.dir)
    if args.json:
        print(json.dumps({**ending.answer, "directory": ending.directory, "left": ending.left}))
    else:
        _tell_ending(ending)
    return 0 if ending.answer["status"] == "shutdown" and ending.left == 0 else 1


def _show(line: Line) -> None:
    what = plain(line.what)
    what = what if len(what) <= _WIDTH else what[: _WIDTH - 1] + "…"
    for words, colour in _COLOURS:
        if words in what:
            what = paint(what, colour, sys.stdout)
            break
    print(f"{line.seconds:5.1f} s  {(line.who or 'team').ljust(_WHO)} {what}", flush=True)


def _tell_ending(ending: Ending) -> None:
    print("\nNo agent is left:")
    for process in ending.processes:
        print(f"  {str(process['pid']).rjust(7)}  {plain(str(process['name'])).ljust(12)} {process['ended']}")
    print(f"  {ending.left} processes on this machine carry the team's mark.")
    print("\nNo work is lost. What cy never committed, restored from its salvage:")
    for name, content in ending.found_again.items():
        print(f"  {name}: {plain(content)}")
    print("\nLook around:")
    _print_columns(
        (f"cd {ending.directory}", ""),
        (f"{_our_name()} salvage list", "what was saved"),
        (f"{_our_name()} status demo", "how it ended"),
        (f"{_our_name()} report demo", "all of it, as a page"),
        ("git log --oneline --all", "every commit is on a branch"),
        (f"less {os.path.relpath(ending.answer['archive'], ending.directory)}/receipt.json", "the proof"),
    )


def _our_name() -> str:
    """What one can type: the first command of a newcomer is called by its path."""
    return "headcount" if shutil.which("headcount") else os.path.abspath(sys.argv[0])


def _print_columns(*rows: tuple[str, str]) -> None:
    width = max(len(left) for left, right in rows if right) + 2
    for left, right in rows:
        print(f"  {left.ljust(width)}{right}".rstrip())
