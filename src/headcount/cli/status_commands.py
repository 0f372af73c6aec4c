"""`headcount status`, `attach` and `logs`: the state of teams, and what a member shows."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

from headcount.app.app import open_app
from headcount.app.native_teams import observe
from headcount.app.team_status import outcome_words, status
from headcount.cli.command_parser import add_member, add_team, add_team_word
from headcount.cli.terminal_output import Live, is_live, plain, table
from headcount.domain.display import show_age, show_usd

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from headcount.app.app import App
    from headcount.app.doing import Doing
    from headcount.app.permissions import AskAnswer
    from headcount.app.team_status import DialogStatus, LimitStatus, MemberNow, TeamStatus


def configure_status(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add_team_word(parser, "open or closed; default: all open teams")
    add("--watch", action="store_true", help="show one team live, with keys to act on it")


def run_status(args: argparse.Namespace) -> int:
    app = open_app(make=False)
    if args.watch:
        return _watch_status(app, args.team, args.json)
    teams = status(app, args.team)
    native = [] if args.team else [team.as_dict() for team in observe(os.environ)]
    if args.json:
        print(json.dumps([*teams, *native], ensure_ascii=False))
        return 0
    if not teams:
        print("No team is open. Start one with `headcount up FILE`.")
    for team in teams:
        print("\n".join(describe_team(team)))
    for other in native:
        print("\n".join(describe_native(other)))
    return 0


def _watch_status(app: App, team: str | None, as_json: bool) -> int:
    """Show a team until it is closed: a live table, or each change without a terminal or with JSON."""
    from headcount.app.report import pick_any

    name = pick_any(app, team)
    if not as_json and is_live(sys.stdout) and sys.stdin.isatty():
        from headcount.cli.watch import watch

        return watch(app, name)
    from headcount.app.unsaved_work import looking
    from headcount.workspace.work_count import Work

    live, last = Live(sys.stdout), None
    work: dict[str, Work] = {}
    with looking(app, name, work):
        while True:
            (now,) = status(app, name, work)
            if as_json and now != last:
                print(json.dumps(now, ensure_ascii=False), flush=True)
            elif not as_json:
                live.show(describe_team(now))
            last = now
            if now["status"] == "shutdown":
                return 0
            app.store.wait(f"team/{name}", 0.5)


def describe_team(team: TeamStatus, *, doing: bool = True) -> list[str]:
    lines = [f"{team['team']}: {team['status']}"]
    rows = [_member_row(member, team["unread"], team["usage"]) for member in team["members"]]
    if rows:
        lines += [f"  {line}" for line in table(rows, ("MEMBER", "STATE", "TASK", "UNREAD", "NOTES"))]
    lines += [
        f"  {member['name']}#{member['generation']}: {describe_doing(member['doing'])}"
        for member in team["members"]
        if member["doing"] and doing
    ]
    if team["cost_usd"] is not None:
        today = f", {show_usd(team['cost_today_usd'])} today in all teams" if team["cost_today_usd"] else ""
        lines.append(f"  Cost: {show_usd(team['cost_usd'])}{today}")
    for task in team["tasks"]:
        why = f" ({plain(task['reason'])})" if task["reason"] else ""
        owner = f", {task['owner']}" if task["owner"] else ""
        lines.append(f"  task {task['id']}: {plain(task['subject'])} - {task['status']}{owner}{why}")
    lines += describe_limits(team["team"], team["limits"])
    lines += describe_dialogs(team["dialogs"])
    lines += describe_asks(team["asks"])
    lines += [
        f'  {one["member"]} asks: {plain(one["subject"])} (answer with `headcount reply {one["id"]} "…"`)'
        for one in team["questions"]
    ]
    lines += _run_lines(team)
    lines += _engine_lines(team)
    if team["escalations"]:
        lines.append(f"  Your decision: {', '.join(team['escalations'])}. See `headcount escalations`.")
    return lines + [f"  Warning: {plain(warning)}" for warning in team["warnings"]]


def _engine_lines(team: TeamStatus) -> list[str]:
    """Return why nothing happens although members are left."""
    if all(member["state"] == "gone" for member in team["members"]):
        return []
    if not team["driven"]:
        return [] if team["run"] else ["  No engine runs this team. Continue it with `headcount sweep`."]
    lines = []
    if team["suspended"] is not None:
        lines.append(f"  Its engine is suspended. Continue it with `kill -CONT {team['suspended']}`.")
    if team["broken"]:
        lines.append(f"  Its engine cannot continue: {plain(team['broken'])}. See .headcount/engine.log.")
    return lines


def _run_lines(team: TeamStatus) -> list[str]:
    """Return the status of its run, and how to continue it."""
    run = team["run"]
    if run is None:
        return []
    why = f": {plain(run['reason'])}" if run["reason"] else ""
    lines = [f"  run: {run['status'].replace('_', ' ')}{why}"]
    if team["status"] != "shutdown" and (run["status"] in ("complete", "blocked") or not team["driven"]):
        engine = "" if team["driven"] else "No engine runs it. "
        lines.append(f"  {engine}Continue it with `headcount run FILE`.")
    return lines


def describe_doing(doing: Doing) -> str:
    """Return the activity of a member and its age."""
    return f"{plain(doing['text'])} ({show_age(age_since(doing['at']))} ago)"


def age_since(at: str) -> float:
    from datetime import datetime

    return time.time() - datetime.fromisoformat(at).timestamp()


def describe_work(ahead: int | None, files: int | None) -> str:
    """Return what a member has made, if anything: "2 commits, 1 file changed"."""
    commits = f"{ahead} commit{'s' * (ahead != 1)}" if ahead else ""
    changed = f"{files} file{'s' * (files != 1)} changed" if files else ""
    return ", ".join(filter(None, (commits, changed)))


def describe_refused(refused: Mapping[str, Any] | None) -> str:
    """Return the commands that a client denied without asking: "2 commands refused: make"."""
    if not refused:
        return ""
    count = refused["count"]
    return f"{count} command{'s' * (count != 1)} refused: {plain(refused['last'])}"


def _used(usage: Mapping[str, Any]) -> str:
    turns = usage["turns"]
    cost = f", {show_usd(usage['cost_usd'])}" if usage.get("cost_usd") else ""
    return f"{usage['tokens']:,} tokens in {turns} turn{'s' * (turns != 1)}{cost}"


def _member_row(
    member: MemberNow, unread: Mapping[str, int], usage: Mapping[str, Mapping[str, Any]]
) -> tuple[str, ...]:
    key = f"{member['name']}#{member['generation']}"
    state = member["state"]
    if state == "running" and member["activity"] != "working":
        state = member["activity"] or state
    cause = member["cause"] and plain(member["cause"])
    outcome = member["outcome"] and outcome_words(member["outcome"], cause)
    notes = [outcome or member["failure"] or "; ".join(member["issues"] or member["alive"])]
    notes += [
        "left on its approval" if member.get("leftOnApproval") else "",
        describe_work(member["commits_ahead"], member["files_changed"]),
        describe_refused(member["refused"]),
    ]
    if key in usage:
        notes.append(_used(usage[key]))
    return key, state, member["task"] or "-", str(unread.get(key, 0) or "-"), "; ".join(filter(None, notes))


# --- limits ----------------------------------------------------------------------------------------------
#
# Who waits for something outside of the team, as `status` and `run` show it: a limit's end, an answer.


def describe_limits(team: str, limits: list[LimitStatus]) -> list[str]:
    """Return lines about usage limits: member, end, reason, and what you can do."""
    if not limits:
        return []
    lines = [
        f"  Usage limit: {one['member']} is parked until {_clock(one['until'])}: {plain(one['reason'])}"
        for one in limits
    ]
    name = limits[0]["member"].partition("#")[0]
    wait = "Until it is over, headcount starts no member with the same client and account. Then it continues."
    return [*lines, f"  {wait} To go on without it: `headcount down {team} --member {name}`."]


def describe_dialogs(dialogs: list[DialogStatus]) -> list[str]:
    return [
        f"  Waiting: {one['member']} needs a person since {_clock(one['since'])}: {plain(one['text'])} "
        f"(`{one['attach']}`)"
        for one in dialogs
    ]


def describe_asks(asks: list[AskAnswer]) -> list[str]:
    """Return lines about permission requests; those in a terminal are among the dialogs."""
    return [
        f"  Permission: {one['member']} requests {one['id']}: {plain(one['title'])} "
        f"(`headcount decide {one['id']} allow|deny`)"
        for one in asks
        if one["id"]
    ]


def _clock(until: str) -> str:
    """Return a time on the user's clock, with the day if it is not today."""
    from datetime import datetime

    at = datetime.fromisoformat(until).astimezone()
    same_day = at.date() == datetime.fromtimestamp(time.time()).date()
    return at.strftime("%H:%M:%S" if same_day else "%a %d %b %H:%M")


# --- native ----------------------------------------------------------------------------------------------
#
# A team of Claude Code's own, as `status` and `sweep` show it.


_LEAD = {True: "alive", False: "dead", None: "not known"}


def describe_native(team: dict[str, Any]) -> list[str]:
    lines = [f"{plain(team['team'])}: Claude Code's own, its lead is {_LEAD[team['leadAlive']]}"]
    for mate in team["members"]:
        what = plain(", ".join(mate["processes"])) or "no process"
        pane = f", pane {plain(mate['pane'])}" if mate["pane"] else ""
        lines.append(f"  {plain(mate['name'])}: {what}{pane}")
        if mate["issues"]:
            lines.append(f"    in {plain(mate['cwd'])}: {plain('; '.join(mate['issues']))}")
    if any(mate["issues"] for mate in team["members"]):
        lines.append(f"  Save it with `headcount sweep --native {plain(team['team'])}`.")
    if team["orphans"]:
        how = f"`headcount sweep --native {plain(team['team'])} --end PID`"
        lines.append(f"  {plain(', '.join(team['orphans']))}: alive without a lead. End one with {how}.")
    return lines


# --- attach ----------------------------------------------------------------------------------------------
#
# `headcount attach`: the terminal of a member. Return with F12 or Ctrl-b d.


def configure_attach(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "F12 returns, also inside your own tmux."
    add_member(parser)
    add_team(parser)


def run_attach(args: argparse.Namespace) -> int:
    from headcount.app.members import attach_command

    command = attach_command(open_app(make=False), args.member, args.team)
    if args.json:
        print(json.dumps({"command": command}))
        return 0
    return os.execvp(command[0], command)


# --- logs ------------------------------------------------------------------------------------------------
#
# `headcount logs`: what a member did, in words, or what it printed.


def configure_logs(parser: argparse.ArgumentParser) -> None:
    add_member(parser)
    parser.add_argument("--raw", action="store_true", help="the output as it is, not as a transcript")
    parser.add_argument("-f", "--follow", action="store_true", help="continue until the member is gone")
    add_team(parser)


def run_logs(args: argparse.Namespace) -> int:
    from headcount.app.members import read_output

    app, follow = open_app(make=False), args.follow and not args.json
    if args.raw or args.json:
        output = read_output(app, args.member, args.team, follow=follow)
    else:
        from headcount.app.transcripts import read_transcript

        output = read_transcript(app, args.member, args.team, follow=follow)
    if args.json:
        print(json.dumps({"member": args.member, "output": "".join(output)}, ensure_ascii=False))
        return 0
    for text in output:
        sys.stdout.write(text)
        sys.stdout.flush()
    return 0
