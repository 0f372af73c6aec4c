"""`headcount up`, `spawn`, `cycle`, `pause` and `resume`: start members, replace them, hold them."""

from __future__ import annotations

import json
import os
import shlex
import sys
from typing import TYPE_CHECKING, Any

from headcount.app.adapters import find_repository
from headcount.app.app import open_app
from headcount.app.branches import count_unseen, read_start
from headcount.app.cycle import cycle, own_name
from headcount.app.definition import USUAL_FILES, find_definition, read_definition
from headcount.app.member_start import Plan
from headcount.app.members import pause
from headcount.app.progress import waits_for
from headcount.app.resident import ensure_driven
from headcount.app.standing_down import status_of
from headcount.app.team_start import check_repository, find_risks, start_team, wait_for, wait_started
from headcount.app.team_status import roster, status
from headcount.app.teams import make_first_team, spawn
from headcount.cli.command_parser import add_member, add_team
from headcount.cli.status_commands import describe_team
from headcount.cli.terminal_output import Progress, plain
from headcount.protocol.member import State

if TYPE_CHECKING:
    import argparse

    from headcount.app.app import App
    from headcount.protocol.team import Team

_FIRST_TEAM = "team"


def configure_up(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("file", nargs="?", metavar="FILE", help=f"a .py or .tsx definition with one team; {USUAL_FILES}")
    add("--tmux", action="store_true", help="run every member in a terminal that you can attach to")
    parser.epilog = "Returns when every member has started or failed. The team continues in the background."


def run_up(args: argparse.Namespace) -> int:
    args.file = args.file or find_definition(os.getcwd())
    definition = read_definition(args.file)
    if args.tmux:
        definition = definition._replace(
            members=tuple(m._replace(runtime="tmux") for m in definition.members)
        )
    app = open_app()
    _check_place(app)
    progress = Progress(args.json)
    team = start_team(app, definition, lambda team: progress.show(_progress_lines(team)))
    failed = [m for m in team.members.values() if m.failure]
    started = len(team.members) - len(failed) - len(_starting(team))
    if args.json:
        print(json.dumps({"team": team.name, "teamId": team.id, "members": roster(team)}, ensure_ascii=False))
    else:
        print("\n".join(describe_team(status(app, team.name, {})[0], doing=False)))
        print(f"Started {started} of {len(team.members)} members.")
        print("\n".join([*_where_they_begin(app), *_next_steps(team.name, args.file, bool(failed))]))
    return 0 if started == len(team.members) else 1


def _check_place(app: App) -> None:
    check_repository(app, os.getcwd())
    for risk in find_risks(app):
        print(f"Warning: {risk.what}.\nHint: Prevent it with `{risk.do}`", file=sys.stderr)


def _where_they_begin(app: App) -> list[str]:
    if find_repository(app) is None:
        return [
            f"{app.root} is not in a git repository: members start in empty directories, without a branch."
        ]
    start = read_start(app)
    if start is None:
        return ["This repository has no commits: members start with an empty tree."]
    unseen = count_unseen(app)
    files = "1 uncommitted file is" if unseen == 1 else f"{unseen} uncommitted files are"
    return [f"Members start from {start}. Your {files} not included."] if unseen else []


def _next_steps(team: str, file: str, failed: bool) -> list[str]:
    again = f"Fix what NOTES says, then run `headcount down {team} && headcount up {shlex.quote(file)}`."
    watch = f"Watch with `headcount status`, end with `headcount down {team}`."
    return [again, watch] if failed else [watch]


def _starting(team: Team) -> list[str]:
    return [m.key for m in team.members.values() if m.state is State.STARTING]


def _progress_lines(team: Team) -> list[str]:
    starting = _starting(team)
    done = len(team.members) - len(starting)
    waits = f"; waiting for {', '.join(starting[:3])}{' …' if len(starting) > 3 else ''}" if starting else ""
    return [f"{team.name}: {done} of {len(team.members)} started{waits}"]


# --- spawn -----------------------------------------------------------------------------------------------
#
# `headcount spawn`: start one more member in a team.


def configure_spawn(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("name", metavar="NAME", help="a new name, or the name of a member that is gone")
    add("words", nargs="*", default=[], metavar="COMMAND", help="after --: the program and its arguments")
    add_team(parser)
    add("--agent", metavar="AGENT", help="the name of a client, instead of a command")
    add("--model", metavar="MODEL", help="the model that the client should use")
    add("--prompt", default="", metavar="PROMPT", help="its task; also its first mail")
    add(
        "--role",
        default="worker",
        choices=("worker", "spec-reviewer", "code-quality-reviewer", "lead", "witness"),
        help="its role in the team; default: worker",
    )
    add("--at", metavar="WHERE", help="start from a commit, or from a member's last inspected commit")
    add("--reviewed", action="store_true", help="keep it running after `done` until it is reviewed")
    add("--tmux", action="store_true", help="run it in a terminal that you can attach to")


def run_spawn(args: argparse.Namespace) -> int:
    app = open_app()
    team, made = _pick_or_make(app, args.team)
    plan = Plan(
        args.name, args.agent, tuple(args.words) or None, args.model, args.prompt, args.role,
        awaits_review=args.reviewed, base=args.at, directory=os.getcwd(),
        runtime="tmux" if args.tmux else None,
    )  # fmt: skip
    key = spawn(app, team, plan).key
    ensure_driven(app)
    member = wait_started(app, team, key).members[key]
    if args.json:
        print(json.dumps({"teammateId": f"{team}/{key}", "name": member.name, "generation": member.generation,
                          "status": str(member.state), "failure": member.failure or None}))  # fmt: skip
        return 1 if member.failure else 0
    if made:
        print(f"Made the team {team}. End it with `headcount down {team}`.")
    if member.failure:
        print(f"{key} did not start: {plain(member.failure)}")
    else:
        print(f"Started {key} in {team}.")
    return 1 if member.failure else 0


def _pick_or_make(app: App, name: str | None) -> tuple[str, bool]:
    """Return the team that is meant. Without any open team the operator gets one, called `team`."""
    if name is None and not app.caller.is_member:
        with app.store.read() as tx:
            if not tx.team_names():
                _check_place(app)
        if made := make_first_team(app, _FIRST_TEAM):
            return made, True
    return app.pick_team(name), False


# --- cycle -----------------------------------------------------------------------------------------------
#
# `headcount cycle`: hand a member's work over to its next generation, in the same workspace.


_PATIENCE_S = 600


def configure_cycle(parser: argparse.ArgumentParser) -> None:
    who = parser.add_mutually_exclusive_group(required=True)
    who.add_argument("member", nargs="?", metavar="MEMBER", help="its name")
    who.add_argument("--self", action="store_true", dest="myself", help="the calling member")
    parser.add_argument("--remarks", default="", metavar="TEXT", help="a note for its successor")
    add_team(parser)
    parser.add_argument("--no-wait", action="store_true", help="do not wait for the successor")


def run_cycle(args: argparse.Namespace) -> int:
    app = open_app(make=False)
    name = own_name(app) if args.myself else args.member
    answer = cycle(app, name, args.remarks, args.team)
    following = not args.no_wait and not app.caller.is_member
    if not app.caller.is_member:
        ensure_driven(app)
    if following:
        answer.update(_follow_cycle(app, answer, quiet=args.json))
    if args.json:
        print(json.dumps(answer, ensure_ascii=False))
    elif answer["status"] == "running":
        print(
            f"Cycled {answer['member']}: {answer['successor']} runs in the same workspace, with the handover."
        )
    else:
        print(f"The handover of {answer['member']} is stored; {answer['status'].replace('_', ' ')}.")
        if answer["status"] == "escalated":
            print("Hint: See what can be decided with `headcount escalations`")
    return 0 if not following or answer["status"] == "running" else 1


def _follow_cycle(app: App, answer: dict[str, Any], quiet: bool) -> dict[str, Any]:
    """Return the state of the successor or, while there is none, of the request."""
    progress = Progress(quiet)

    def arrived(team: Team) -> bool:
        latest = team.latest(answer["member"])
        if latest is not None and latest.state is not State.RUNNING:
            progress.show([f"{latest.key}: {waits_for(latest)}"])
        return _has_successor(team, answer)

    team = wait_for(app, answer["team"], arrived, _PATIENCE_S)
    latest = team.latest(answer["member"])
    if latest is not None and latest.generation > answer["generation"]:
        return {"successor": latest.key, "status": str(latest.state)}
    return {"successor": None, "status": status_of(app, answer["team"], answer["requestId"])["status"]}


def _has_successor(team: Team, answer: dict[str, Any]) -> bool:
    """Return whether the cycle is over: a successor, a refusal, an escalation, or no successor."""
    latest = team.latest(answer["member"])
    assert latest is not None
    if latest.generation > answer["generation"]:
        return latest.state is not State.STARTING
    refused = latest.state is State.RUNNING and latest.request is None and latest.ask is None
    return latest.ended or refused


# --- pause -----------------------------------------------------------------------------------------------
#
# `headcount pause` and `headcount resume`: hold a member's processes, and let them go on.


def configure_pause(parser: argparse.ArgumentParser) -> None:
    add_member(parser)
    add_team(parser)


def run_pause(args: argparse.Namespace) -> int:
    answer = pause(open_app(make=False), args.member, args.team, resume=args.command == "resume")
    if args.json:
        print(json.dumps(answer))
    else:
        done = "Paused" if answer["paused"] else "Resumed"
        seen = (
            "all of its processes are " + ("stopped" if answer["paused"] else "running")
            if answer["confirmed"]
            else "NOT confirmed: see `headcount status`"
        )
        print(f"{done} {answer['member']}: {seen}.")
    return 0 if answer["confirmed"] else 1


configure_resume, run_resume = configure_pause, run_pause
