"""`headcount witness`: look, judge, speak, see, hand over."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from headcount.app import witness
from headcount.app.app import open_app
from headcount.app.resident import ensure_driven
from headcount.cli.options import add_json, add_member, add_team, add_verb
from headcount.cli.terminal import plain

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable


def configure(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    findings = add_verb(verbs, "findings", "inspect its workspace now")
    findings.add_argument("--last", action="store_true", help="the findings of the last inspection")
    verdict = add_verb(verbs, "verdict", "judge the findings that the witness got by mail")
    nudge = add_verb(verbs, "nudge", "type a text into its terminal or input")
    capture = add_verb(verbs, "capture", "print its screen")
    handoff = add_verb(verbs, "handoff", "write a note for the next session from the journal")
    for verb in (findings, verdict, nudge, capture):
        add_member(verb)
    handoff.add_argument("member", nargs="?", metavar="MEMBER", help="default: the witness itself")
    verdict.add_argument("verdict", choices=("clean", "dirty"), help="dirty sends the member back")
    verdict.add_argument(
        "--issue", action="append", default=[], metavar="ISSUE", help="what is dirty; repeatable"
    )
    nudge.add_argument("text", metavar="TEXT", help="the text; also sent as mail")
    handoff.add_argument("--remarks", default="", metavar="TEXT", help="a note for its successor")
    for verb in (findings, verdict, nudge, capture, handoff):
        add_team(verb)
        add_json(verb)


def run(args: argparse.Namespace) -> int:
    answer, code = _VERBS[args.verb](args)
    if args.json:
        print(json.dumps(answer, ensure_ascii=False))
    else:
        print(_TEXT[args.verb](answer))
    return code


def _findings(args: argparse.Namespace) -> tuple[dict[str, Any], int]:
    found = witness.findings(open_app(make=False), args.member, args.team, live=not args.last)
    return found, 0 if found["clean"] else 1


def _verdict(args: argparse.Namespace) -> tuple[dict[str, Any], int]:
    app = open_app(make=False)
    answer = witness.verdict(app, args.member, args.verdict == "clean", args.issue, args.team)
    if not app.caller.is_member:
        ensure_driven(app)
    return answer, 0


def _nudge(args: argparse.Namespace) -> tuple[dict[str, Any], int]:
    answer = witness.nudge(open_app(make=False), args.member, args.text, args.team)
    return answer, 0 if answer["delivered"] else 1


def _capture(args: argparse.Namespace) -> tuple[dict[str, Any], int]:
    return witness.capture(open_app(make=False), args.member, args.team), 0


def _handoff(args: argparse.Namespace) -> tuple[dict[str, Any], int]:
    return witness.handoff(open_app(make=False), args.member, args.remarks, (), args.team), 0


def _tell_findings(found: dict[str, Any]) -> str:
    head = f"{found['member']}#{found['generation']}: {'clean' if found['clean'] else 'dirty'}"
    lines = [f"  {plain(issue)}" for issue in found["issues"]]
    if found["clean"] and not found["spotless"]:
        lines.append(f"  {len(found['items'])} things that nobody needs to act on, and that would be saved")
    return "\n".join([head, *lines])


def _tell_nudge(answer: dict[str, Any]) -> str:
    if answer["delivered"]:
        return f"Nudged {answer['member']}; it was seen to take it."
    where = f"The mail {answer['messageId']} is in its inbox."
    return f"Not taken by {answer['member']}: it is busy, or reads nothing there. {where} It is tried again."


_VERBS = {
    "findings": _findings,
    "verdict": _verdict,
    "nudge": _nudge,
    "capture": _capture,
    "handoff": _handoff,
}
_TEXT: dict[str, Callable[[dict[str, Any]], str]] = {
    "findings": _tell_findings,
    "verdict": lambda a: f"Judged {a['member']}: {a['verdict']}.",
    "nudge": _tell_nudge,
    "capture": lambda a: a["screen"],
    "handoff": lambda a: a["body"],
}
