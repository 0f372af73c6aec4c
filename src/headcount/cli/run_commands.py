"""`headcount run` and `abort`: run a team's tasks with reviews and gates, then stand the team down."""

from __future__ import annotations

import json
import os
import shlex
import sys
from typing import TYPE_CHECKING, Any

from headcount.app.app import open_app
from headcount.app.definition import USUAL_FILES, find_definition, read_definition
from headcount.app.report import pick_any
from headcount.app.resident import ensure_driven
from headcount.app.standing_down import decide_call
from headcount.app.task_run import (
    Base,
    abort,
    begin_run,
    check_runs,
    follow_run,
    has_changed,
    is_over,
    take_over_hint,
)
from headcount.cli.command_parser import add_team_word, exit_code, take_signals
from headcount.cli.status_commands import describe_asks, describe_dialogs, describe_limits
from headcount.cli.terminal_output import Live, Progress, paint, plain

if TYPE_CHECKING:
    import argparse

    from headcount.app.app import App
    from headcount.app.definition import Definition


def configure_run(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "file",
        nargs="?",
        metavar="FILE",
        help=f"a .py or .tsx definition with one team and its tasks; {USUAL_FILES}",
    )
    watching = parser.add_mutually_exclusive_group()
    watching.add_argument("--detach", action="store_true", help="begin it, and return at once")
    watching.add_argument("--follow", action="store_true", help="only watch an open run; needs no FILE")
    begins = parser.add_mutually_exclusive_group()
    begins.add_argument(
        "--rebase-onto",
        default="",
        metavar="COMMIT",
        help="begin at this commit, with the work of the integration branch that it lacks",
    )
    begins.add_argument(
        "--keep-base",
        action="store_true",
        help="begin at the integration branch although it lacks commits of yours",
    )
    parser.epilog = (
        "The run is in the background: Ctrl-C or a closed terminal ends only the watching. Run the command "
        "again to watch, to resume after a crash and to retry blocked tasks. Exit code 0 if all tasks are "
        "complete, both gates passed and no member is left."
    )


def run_run(args: argparse.Namespace) -> int:
    if not args.file and not args.follow:
        args.file = find_definition(os.getcwd())
    definition = read_definition(args.file) if args.file else None
    take_signals()
    app = open_app(make=not args.follow)
    live = Live(sys.stderr)
    now: dict[str, Any] = {}
    try:
        if args.follow:
            team = _watched_team(app, args, definition)
        else:
            with Progress(args.json).during(f"Starting the run of {args.file}"):
                team = _begin(app, args, definition)
        for now in follow_run(app, team):
            if not is_over(now):
                ensure_driven(app)  # also later: whoever ends the engine does not leave us waiting
            if args.detach:
                return _tell_detached(now, args.json)
            if not args.json:
                live.show(_progress_lines(now))
    except KeyboardInterrupt as stop:
        if now:
            _tell_interrupted(now)
        return exit_code(stop)
    if args.json:
        print(json.dumps(now, ensure_ascii=False))
    else:
        _print_summary(now, args.file or "FILE")
    return 0 if now["status"] == "complete" else 1


def _begin(app: App, args: argparse.Namespace, definition: Definition | None) -> str:
    assert definition is not None
    base = Base(args.rebase_onto, args.keep_base)
    team = begin_run(app, definition, base=base, tell=lambda line: print(line, file=sys.stderr))
    if has_changed(app, definition):
        print(f"{args.file} has changed; this run continues with its original tasks.", file=sys.stderr)
    return team


def _watched_team(app: App, args: argparse.Namespace, definition: Definition | None) -> str:
    name = pick_any(app, definition.team if definition else None)
    check_runs(app, name, "follow")
    return name


def _tell_detached(now: dict[str, Any], as_json: bool) -> int:
    if as_json:
        print(json.dumps(now, ensure_ascii=False))
    else:
        print(f"{now['team']} runs in the background. Watch it with `headcount run --follow`.")
    return 0


def _tell_interrupted(now: dict[str, Any]) -> None:
    lines = ["Stopped watching. The run continues in the background.",
             "Watch it again with `headcount run --follow`.",
             f"End it with `headcount down {now['team']}`."]  # fmt: skip
    print("", *lines, sep="\n", file=sys.stderr)


def _progress_lines(now: dict[str, Any]) -> list[str]:
    done = sum(task["state"] == "complete" for task in now["tasks"])
    status = now["status"].replace("_", " ")
    width = max(len(task["id"]) for task in now["tasks"])
    return [
        f"{now['team']}: {status}, {done} of {len(now['tasks'])} tasks complete",
        *(plain(_task_line(task, width)) for task in now["tasks"]),
        *describe_limits(now["team"], now["limits"]),
        *describe_dialogs(now["dialogs"]),
        *describe_asks(now["asks"]),
        *_stalled(now),
        *_decisions(now),
        *(f"  {hint}" for hint in _decide_hints(now)),
        *(f"  Warning: {plain(warning)}" for warning in now["warnings"]),
    ]


def _task_line(task: dict[str, Any], width: int) -> str:
    who = task["worker"] if task["worker"] and task["state"] not in ("waiting", "complete") else ""
    round_ = f"round {task['rounds'] + 1}" if task["rounds"] and task["state"] != "complete" else ""
    about = "; ".join(filter(None, (who, round_, task["reason"] or task["waits"])))
    line = f"  {task['id'].rjust(width)}  {task['state'].replace('_', ' ').ljust(13)} {task['subject']}"
    return f"{line}: {about}" if about else line


def _stalled(now: dict[str, Any]) -> list[str]:
    names = [(key, key.partition("#")[0]) for key in now["stalled"]]
    return [
        f"  {key} shows no progress. See its output with `headcount logs {name}`, "
        f"or replace it with `headcount cycle {name}`."
        for key, name in names
    ]


def _decisions(now: dict[str, Any]) -> list[str]:
    return [
        plain(f"  {e['id']}: {e['member']} needs your decision: {'; '.join(e['issues'])}")
        for e in now["escalations"]
    ]


def _decide_hints(now: dict[str, Any]) -> list[str]:
    return [f"Decide it with `{decide_call(e)}`." for e in now["escalations"]]


def _print_summary(now: dict[str, Any], file: str) -> None:
    status = paint(now["status"], "green" if now["status"] == "complete" else "red", sys.stdout)
    done = sum(task["state"] == "complete" for task in now["tasks"])
    print(f"{now['team']}: {status}. Completed {done} of {len(now['tasks'])} tasks.")
    for item in now["checklist"]:
        mark = "-" if item["skipped"] else "x" if item["done"] else " "
        print(plain(f"  [{mark}] {item['item']}: {item['evidence']}"))
    for note in now["notes"]:
        print(f"  Note: {plain(note)}")
    for warning in now["warnings"]:
        print(f"  Warning: {plain(warning)}")
    if now["reason"]:
        print(f"Because: {plain(now['reason'])}")
    for line in (*_decisions(now), *_what_next(now, file)):
        print(line.strip())


def _what_next(now: dict[str, Any], file: str) -> list[str]:
    if now["status"] == "complete":
        return [f"The result is on {now['integration']}. Take it over with `{take_over_hint(now)}`."]
    blocked = [task["worker"] for task in now["tasks"] if task["state"] == "blocked" and task["worker"]]
    hints = [
        f"See what {key} printed with `headcount logs {key} --team {now['team']}`." for key in blocked[:3]
    ]
    hints += _decide_hints(now)
    again = f"`headcount run {'--follow' if now['escalations'] else shlex.quote(file)}`"
    what = "Then watch it with" if now["escalations"] else "Retry what is blocked with"
    hints.append(f"{what} {again}, or end it with `headcount down {now['team']}`.")
    return [*hints, f"What was merged so far is on {now['integration']}."]


# --- abort -----------------------------------------------------------------------------------------------
#
# `headcount abort`: end a run. Start nothing new, and stand down the members at work.


def configure_abort(parser: argparse.ArgumentParser) -> None:
    add_team_word(parser)
    parser.add_argument("--reason", required=True, metavar="REASON", help="the reason that members read")


def run_abort(args: argparse.Namespace) -> int:
    app = open_app(make=False)
    team = app.pick_team(args.team)
    now = abort(app, team, args.reason)
    if not app.caller.is_member:
        ensure_driven(app)
    if args.json:
        print(json.dumps(now, ensure_ascii=False))
    else:
        print(f"Aborting {team}: what is under way is stood down. Follow it with `headcount status {team}`.")
    return 0
