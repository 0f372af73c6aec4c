"""`headcount down`, `escalations` and `decide`: stand members down, and decide what is escalated."""

from __future__ import annotations

import contextlib
import json
import shlex
import sys
import time
from typing import TYPE_CHECKING

from headcount.app.app import open_app
from headcount.app.branches import read_made
from headcount.app.progress import follow_members, progress
from headcount.app.resident import ensure_driven
from headcount.app.standing_down import decide, decide_call, escalations, hint_for, is_over, stand_down
from headcount.app.team_status import outcome_words
from headcount.cli.command_parser import add_team, add_team_word
from headcount.cli.streams import complain
from headcount.cli.terminal_output import Live, list_item, paint, plain
from headcount.domain.asks import DECISIONS
from headcount.domain.names import show
from headcount.errors import Declined, UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from headcount.app.app import App
    from headcount.app.stand_down_answer import EscalationAnswer, GoneAnswer, StandDownAnswer

_SHOWN = 12
_LONGEST_S = 1e9
_STATUS_COLOURS = {"shutdown": "green", "rejected": "yellow", "escalated": "yellow", "stuck": "red"}


def configure_down(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add_team_word(parser)
    add("--member", action="append", metavar="MEMBER", help="only this member; the team stays; repeatable")
    add("--reason", default="", metavar="REASON", help="the reason that members read")
    add(
        "--force",
        action="store_true",
        help="stop members even if they refuse, after their time to answer; unsaved work is saved first",
    )
    add("--now", action="store_true", help="like --force, and do not wait for answers")
    add("--keep-team", action="store_true", help="stop every member, keep the team open")
    add("--no-wait", action="store_true", help="send the request and exit 0; do not follow it")
    add("--timeout", type=_seconds, metavar="SECONDS", help="stop following after so long, and exit 1")


def _seconds(word: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 < (seconds := float(word)) < _LONGEST_S:
            return seconds
    raise UsageError(
        f"--timeout cannot be {show(word)}", "it must be a number of seconds above 0", code="usage"
    )


def run_down(args: argparse.Namespace) -> int:
    app = open_app(make=False)
    team = app.pick_team(args.team)
    answer = stand_down(
        app, team, args.member, args.reason, force=args.force, keep_team=args.keep_team, now=args.now
    )
    if answer["status"] != "shutdown":
        ensure_driven(app)
    if not args.no_wait and not is_over(answer["status"]):
        try:
            answer = _follow_stand_down(app, team, args, answer)
        except KeyboardInterrupt:
            again = _same_call(team, args.member)
            print(f"\nStopped watching. The stand-down goes on: follow it with `{again}`.", file=sys.stderr)
            return 130
    if args.json:
        print(json.dumps(answer, ensure_ascii=False))
    else:
        _print_summary(team, args.member, answer, _commits(app, answer))
    waiting = args.no_wait and answer["status"] == "pending_shutdown"
    home = answer["status"] == "shutdown" and not answer.get("unproved")
    return 0 if waiting or home else 1


def _follow_stand_down(
    app: App, team: str, args: argparse.Namespace, answer: StandDownAnswer
) -> StandDownAnswer:
    live = Live(sys.stderr)
    until = time.monotonic() + (args.timeout or _LONGEST_S)
    for answer, state in follow_members(app, team, answer):  # noqa: B020 - the last one is the answer
        if not is_over(answer["status"]):
            ensure_driven(app)  # whoever ends the engine meanwhile does not leave us waiting
        if not args.json:
            live.show(progress(answer, _head(team, args.member), state))
        if not is_over(answer["status"]) and time.monotonic() >= until:
            print(f"Stopped watching after {args.timeout:g} s. The stand-down goes on.", file=sys.stderr)
            break
    return answer


def _same_call(team: str, names: list[str] | None) -> str:
    """Return the same command again, with the same members."""
    return " ".join(["headcount down", team, *(f"--member {name}" for name in names or ())])


def _head(team: str, names: list[str] | None) -> str:
    """Return the team, or the named members."""
    return ", ".join(names or [team])


def _print_summary(
    team: str, names: list[str] | None, answer: StandDownAnswer, commits: Sequence[str] = ()
) -> None:
    status = paint(answer["status"], _STATUS_COLOURS.get(answer["status"], "bold"), sys.stdout)
    print(f"{_head(team, names)}: {status}. {_counted(answer)}.")
    for early in answer.get("alreadyGone", ()):
        print(f"  {_already_gone(early)}")
    for member in answer["members"]:
        if member["salvage"]:
            print(f"  {member['name']}: saved to {member['salvage']}")
            print(f"    get it back with `headcount salvage restore {shlex.quote(member['salvage'])} DIR`")
    for line in commits:
        print(f"  {line}")
    for rejection in answer.get("rejectedBy", ()):
        print(f"  {rejection['name']} refused: {plain(rejection['reason'])}")
    for name, alive in answer.get("alive", {}).items():
        print(f"  {name} is stuck: {', '.join(alive) or 'could not be proved gone'} alive")
    for escalation in answer.get("escalations", ()):
        print(f"  {escalation['member']} ({escalation['id']}): {plain('; '.join(escalation['issues']))}")
    for warning in answer["warnings"]:
        print(f"  Warning: {plain(warning)}")
    if answer["archive"]:
        print(f"  Receipt, mail and journal: {answer['archive']}")
    elif "alreadyGone" in answer:
        print(f"  What was seen of each is in `headcount report {team}`.")
    hint = hint_for(answer, _same_call(team, names))
    if hint:
        print(f"Hint: {hint}")


def _commits(app: App, answer: StandDownAnswer) -> list[str]:
    """Return lines with the members' commits and branches; for very many, the first ones."""
    if answer["status"] != "shutdown":
        return []
    made = read_made(app, answer["teamId"], {member["name"] for member in answer["members"]})
    lines = [f"{m.member}: {m.commits} commit{'s' * (m.commits > 1)} on {m.branch}" for m in made]
    if len(lines) <= _SHOWN:
        return lines
    return [*lines[:_SHOWN], f"… and {len(lines) - _SHOWN} more: `git branch --list 'headcount/*'`"]


def _counted(answer: StandDownAnswer) -> str:
    """Return how many members were stopped, and how many were gone already."""
    early = len(answer.get("alreadyGone", ()))
    asked = len(answer["members"]) - early
    if not asked:
        return {0: "Nobody was there", 1: "It was gone already"}.get(early, f"All {early} were gone already")
    stopped = sum(m["outcome"] not in (None, "stuck", "already_gone") for m in answer["members"])
    took = f" in {answer['seconds']:.1f} s" if answer["seconds"] is not None else ""
    more = f"; {early} more {'was' if early == 1 else 'were'} gone already" if early else ""
    return f"Stopped {stopped} of {asked} members{took}{more}"


def _already_gone(early: GoneAnswer) -> str:
    proof = f", proved at {early['at']} ({early['proof']})" if early["at"] else ""
    ended = outcome_words(early["outcome"], early["cause"] and plain(early["cause"]))
    return f"{early['name']}#{early['generation']}: gone already, {ended}{proof}"


# --- escalations -----------------------------------------------------------------------------------------
#
# `headcount escalations`: what waits for a decision.


def configure_escalations(parser: argparse.ArgumentParser) -> None:
    add_team(parser)
    parser.add_argument("--all", action="store_true", help="also those that are decided")


def run_escalations(args: argparse.Namespace) -> int:
    found = escalations(open_app(make=False), args.team, every=args.all)
    if args.json:
        print(json.dumps(found, ensure_ascii=False))
        return 0
    if not found:
        print("Nothing waits for a decision.")
    for one in found:
        print("\n".join(_escalation_lines(one, found)))
    return 0


def _escalation_lines(one: EscalationAnswer, found: list[EscalationAnswer]) -> list[str]:
    decided = f", {one['decision']} by {one['by']}" if one["decision"] else ""
    after = f"{one['attempts']} {'inspection' if one['attempts'] == 1 else 'inspections'}"
    hints = [f"Decide it with `{_decide_command(one, found)}`."] if one["decisions"] else []
    what = f"{one['state']}{decided}, after {after}"
    return list_item(one["id"], f"{one['team']}/{one['member']}", what, one["issues"], hints)


def _decide_command(one: EscalationAnswer, found: list[EscalationAnswer]) -> str:
    """Return the command that decides, with the team's name if another team has the same id."""
    namesakes = [other for other in found if other["id"] == one["id"] and other["decisions"]]
    return decide_call(one) + (f" --team {one['team']}" if len(namesakes) > 1 else "")


# --- decide ----------------------------------------------------------------------------------------------
#
# `headcount decide`: decide an escalation.


_CONSEQUENCES = {
    "force-kill": "Its work is saved first, then it is stopped",
    "reassign": "Its work is saved, it is stopped, and its task goes to another member",
    "human": "You fix it by hand; nothing is stopped until you decide again, or stand it down",
    "wait": "It is sent back once more, with the full time limit",
    "keep-here": "If the hub cannot be reached: its work is saved on this machine only, then it is stopped",
}


_CAUSES = ("dirty", "silence", "refusal", "salvage")


def configure_decide(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "id", nargs="?", metavar="ID", help="as in `headcount escalations` or `headcount asks`"
    )
    parser.add_argument("decision", choices=(*_CONSEQUENCES, *DECISIONS), help="see below")
    parser.add_argument(
        "--reason", default="", metavar="REASON", help="why; the report shows it, and the agent reads it"
    )
    parser.add_argument(
        "--always",
        action="store_true",
        help="with allow or deny: also this command from now on, in this team",
    )
    parser.add_argument("--all", action="store_true", help="instead of ID: every open escalation")
    parser.add_argument("--cause", choices=_CAUSES, help="with --all: only those with this cause")
    add_team(parser)
    parser.epilog = " ".join(
        f"{decision}: {then[0].lower()}{then[1:]}."
        for decision, then in {**_CONSEQUENCES, "allow, deny": "Answer a permission request"}.items()
    )


def run_decide(args: argparse.Namespace) -> int:
    if bool(args.id) is args.all or (args.cause and not args.all):
        raise UsageError(
            "Which escalation or permission request?",
            "name one ID; or, for escalations, --all, with or without --cause",
            ("List them with `headcount escalations` and `headcount asks`",), code="usage",
        )  # fmt: skip
    if args.all:
        return _decide_all(args)
    if args.decision in DECISIONS:
        from headcount.cli.ask_commands import run_decide_ask

        return run_decide_ask(args)
    if args.always:
        raise UsageError("--always goes with allow or deny", "an escalation is decided once", code="usage")
    app = open_app(make=False)
    decided = decide(app, args.id, args.decision, args.reason, args.team)
    if not app.caller.is_member:
        ensure_driven(app)
    if args.json:
        print(json.dumps(decided, ensure_ascii=False))
    else:
        then = _consequence(decided, args.decision)
        print(f"Decided {args.id}: {args.decision} for {decided['member']}. {then}.")
    return 0


def _decide_all(args: argparse.Namespace) -> int:
    """Decide each for which this is possible now, and say so of the others. Exit code 1 if there were any."""
    if args.decision in DECISIONS:
        raise UsageError(
            "--all is for escalations", "permission requests are answered one by one", code="usage"
        )
    app = open_app(make=False)
    found = [one for one in escalations(app, args.team) if args.cause in (None, one["cause"])]
    wanted = [one for one in found if args.decision in one["decisions"]]
    decided = []
    for one in wanted:
        try:
            decided.append(decide(app, one["id"], args.decision, args.reason, one["team"]))
        except Declined as declined:  # another operator was faster, or the member has left
            complain(f"Not decided {one['id']} of {one['team']}/{one['member']}: {declined.why}.")
    if decided and not app.caller.is_member:
        ensure_driven(app)
    if args.json:
        print(json.dumps(decided, ensure_ascii=False))
        return 0 if len(decided) == len(found) else 1
    if not found:
        print("Nothing waits for such a decision.")
    for one in decided:
        print(f"Decided {one['id']}: {args.decision} for {one['team']}/{one['member']}.")
    for one in (each for each in found if each not in wanted):
        can = " or ".join(one["decisions"])
        print(f"Not decided {one['id']} of {one['team']}/{one['member']}: now only {can}.")
    return 0 if len(decided) == len(found) else 1


def _consequence(decided: EscalationAnswer, decision: str) -> str:
    """Return what follows. `human` closes the escalation of a member that is not being stood down."""
    if decision == "human" and decided["state"] == "decided":
        name = decided["member"]
        return (
            "It continues. Fix it by hand and tell it to signal done "
            f"(`headcount send {name} …`), or stand it down with `headcount down --member {name}`"
        )
    return _CONSEQUENCES[decision]
