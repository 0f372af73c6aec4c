"""`headcount task` and `headcount witness`: the commands of a lead and of a witness.

Listing, claiming and completing tasks are members' commands.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from headcount.app import tasks, witness
from headcount.app.app import open_app
from headcount.app.resident import ensure_driven
from headcount.cli.command_parser import add_json, add_member, add_team, add_verb
from headcount.cli.terminal_output import plain
from headcount.errors import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable


def configure_task(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "Members also have list, claim and complete: see `headcount task list --help`."
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    creating = add_verb(verbs, "create", "create a task")
    creating.add_argument("subject", metavar="SUBJECT", help="its title")
    creating.add_argument("-d", "--description", default="", metavar="TEXT", help="what to do")
    creating.add_argument(
        "--after", action="append", default=[], metavar="ID", help="a task that must be complete first"
    )
    _add_metadata(creating)
    changing = add_verb(verbs, "change", "change a task that is not complete")
    changing.add_argument("id", metavar="ID")
    changing.add_argument("--subject", metavar="SUBJECT", help="its title")
    changing.add_argument("-d", "--description", metavar="TEXT", help="what to do")
    changing.add_argument(
        "--after", action="append", metavar="ID", help="replace its dependencies; '' for none"
    )
    _add_metadata(changing)
    releasing = add_verb(verbs, "release", "take a task from its owner, so that another member can claim it")
    releasing.add_argument("id", metavar="ID")
    withdrawing = add_verb(verbs, "withdraw", "end a task that is no longer needed")
    withdrawing.add_argument("id", metavar="ID")
    withdrawing.add_argument("--reason", required=True, metavar="REASON", help="why; its owner reads it")
    for verb in (creating, changing, releasing, withdrawing):
        add_team(verb)
        add_json(verb)


def _add_metadata(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--metadata",
        action="append",
        metavar="KEY=VALUE",
        help="a value to find it by; KEY= removes it",
    )


def run_task(args: argparse.Namespace) -> int:
    app = open_app(make=False)
    if args.verb == "create":
        metadata = {key: value for key, value in _metadata(args).items() if value is not None}
        task = tasks.create(
            app, args.subject, args.description, depends_on=args.after, metadata=metadata, team=args.team
        )
        said = f"Created task {task.id}: {task.subject}"
    elif args.verb == "change":
        after = None if args.after is None else [each for each in args.after if each]
        task = tasks.change(
            app,
            args.id,
            args.team,
            subject=args.subject,
            description=args.description,
            depends_on=after,
            metadata=_metadata(args) or None,
        )
        said = f"Changed task {task.id}: {task.subject}"
    elif args.verb == "release":
        task = tasks.release(app, args.id, args.team)
        said = f"Released task {task.id}: it can be claimed again."
    else:
        task = tasks.withdraw(app, args.id, args.reason, args.team)
        said = f"Withdrew task {task.id}: tasks that depend on it no longer wait."
    print(json.dumps(tasks.as_json(task), ensure_ascii=False) if args.json else said)
    return 0


def _metadata(args: argparse.Namespace) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for given in args.metadata or ():
        key, equals, value = given.partition("=")
        if not key or not equals:
            raise UsageError(f"{given!r} is not KEY=VALUE", "metadata has a name and a value", code="usage")
        found[key] = value or None
    return found


# --- witness ---------------------------------------------------------------------------------------------
#
# `headcount witness`: look, judge, speak, see, hand over.


def configure_witness(parser: argparse.ArgumentParser) -> None:
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


def run_witness(args: argparse.Namespace) -> int:
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
