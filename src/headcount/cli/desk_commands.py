"""`headcount todo` and `reply`: what waits for you, and an answer to a member."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from headcount.app.app import open_app
from headcount.app.desk import reply, todo
from headcount.cli.command_parser import add_team
from headcount.cli.terminal_output import list_item

if TYPE_CHECKING:
    import argparse

    from headcount.app.desk import Need

# kind -> what the member does, and what the command does about it
_WORDS = {
    "ask": ("requests permission", "Answer"),
    "question": ("asks", "Answer"),
    "escalation": ("needs your decision", "Decide"),
    "dialog": ("waits in a dialog", "Answer"),
    "limit": ("is at its usage limit", "End"),
    "failure": ("failed", "Inspect"),
}


def configure_todo(parser: argparse.ArgumentParser) -> None:
    add_team(parser)


def run_todo(args: argparse.Namespace) -> int:
    needs = todo(open_app(make=False), args.team)
    if args.json:
        print(json.dumps(needs, ensure_ascii=False))
        return 0
    if not needs:
        print("Nothing waits for you.")
    for need in needs:
        print("\n".join(describe_need(need)))
    return 0


def describe_need(need: Need) -> list[str]:
    said, verb = _WORDS[need["kind"]]
    return list_item(
        need["id"], f"{need['team']}/{need['member']}", f"{said}: {need['text']}",
        hints=[f"{verb} it with `{need['command']}`."],
    )  # fmt: skip


def configure_reply(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="MESSAGE", help="the id of a member's message, as in `headcount todo`")
    parser.add_argument("text", metavar="TEXT", help="your answer")
    add_team(parser)


def run_reply(args: argparse.Namespace) -> int:
    sent = reply(open_app(make=False), args.id, args.text, args.team)
    if args.json:
        print(json.dumps(sent, ensure_ascii=False))
    elif sent["delivered"]:
        print(f"Replied to {sent['to']}.")
    else:
        print(f"Sent, but not delivered: {sent['note']}.")
    return 0
