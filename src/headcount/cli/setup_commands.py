"""`headcount init`, `doctor`, `explain`, `adopt`, `sweep`, `prune` and `demo`: set up, check and clean up."""

from __future__ import annotations

import json
import os
import shutil
import sys
from typing import TYPE_CHECKING, Any

from headcount.agents.registry import CLIENTS
from headcount.app.app import open_app
from headcount.app.explain import Page, explain, read_pages
from headcount.app.home import find_checkout, find_home
from headcount.cli.terminal_output import Progress, describe_skipped, paint, plain, say_size
from headcount.domain.display import show_bytes
from headcount.domain.settings import describe
from headcount.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from headcount.app.demo import Line


def configure_init(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--client", choices=tuple(CLIENTS), help="also write this client's MCP and hook settings"
    )
    parser.add_argument("--undo", action="store_true", help="restore every file as it was")
    parser.epilog = (
        "Writes only into the repository, so `git diff` shows every change. Repeating it changes nothing."
    )


def run_init(args: argparse.Namespace) -> int:
    from headcount.app.init import set_up, undo

    start = os.getcwd()
    steps = undo(start, os.environ) if args.undo else set_up(start, args.client, os.environ)
    if args.json:
        print(json.dumps([step._asdict() for step in steps]))
        return 0
    root = find_checkout(start, find_home(start, os.environ))
    for step in steps:
        print(f"{step.state.ljust(11)}{_from_here(root, step.path)}: {step.why}")
    if args.undo:
        undone = sum(step.state in ("restored", "removed") for step in steps)
        print(f"Took back {undone} of {len(steps)} files." if steps else "There is nothing to undo.")
        return 0
    example = _from_here(root, "team.py")
    print(f"Written {sum(step.state == 'written' for step in steps)} of {len(steps)} files.")
    print(f"Next: see what is installed with `headcount doctor`, start with `headcount up {example}`.")
    return 0


def _from_here(root: str, path: str) -> str:
    """Return a path relative to the current directory. Files are written at the repository's root."""
    return os.path.relpath(f"{root}/{path}")


# --- doctor ----------------------------------------------------------------------------------------------
#
# `headcount doctor`: what is missing, and how to get it.


_STATE_COLOURS = {"ok": "green", "missing": "red", "absent": "yellow"}


def configure_doctor(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "Exit code 1 if something that headcount needs is missing."


def run_doctor(args: argparse.Namespace) -> int:
    from headcount.app.doctor import examine

    checks = examine(find_home(os.getcwd(), os.environ))
    if args.json:
        print(json.dumps([check._asdict() for check in checks]))
    else:
        for check in checks:
            state = paint(check.state.ljust(8), _STATE_COLOURS[check.state], sys.stdout)
            print(f"{state}{check.name.ljust(13)}{check.found}")
            if check.hint:
                print(f"        {check.hint}")
    return 1 if any(check.state == "missing" for check in checks) else 0


# --- explain ---------------------------------------------------------------------------------------------
#
# `headcount explain`: print an error code in full, or all settings.


def configure_explain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "code",
        nargs="?",
        metavar="CODE",
        help="a code, or `settings` for all settings; default: list all codes",
    )


def run_explain(args: argparse.Namespace) -> int:
    if args.code == "settings":
        _print_settings(args.json)
    elif args.code:
        page = explain(args.code)
        print(json.dumps(page._asdict(), ensure_ascii=False) if args.json else _full_page(page))
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


def _full_page(page: Page) -> str:
    lines = [f"{page.code} (exit code {page.exit})", page.what]
    if page.why:
        lines.append(f"Because: {page.why}")
    if page.do:
        lines.append(f"Do: {page.do}")
    return "\n".join(lines)


# --- adopt -----------------------------------------------------------------------------------------------
#
# `headcount adopt`: take over a state directory that was moved or copied here.


def configure_adopt(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--yes", action="store_true", help="take it over; without this, only show its content"
    )
    parser.epilog = "Without --yes the command changes nothing and starts no engine."


def run_adopt(args: argparse.Namespace) -> int:
    from headcount.app.place import preview, write_place

    app = open_app(make=False, placed=False)
    app.check("adopt")
    answer = preview(app)
    adopted = args.yes and not answer["here"]
    if adopted:
        write_place(app.home)
    if args.json:
        print(json.dumps({**answer, "adopted": adopted}))
    else:
        _show_place(answer, adopted)
    return 0 if adopted or answer["here"] else 1


def _show_place(answer: dict[str, Any], adopted: bool) -> None:
    from headcount.app.place import describe_place

    if answer["here"]:
        print(f"{answer['home']} was made here. There is nothing to take over.")
        return
    print(f"{answer['home']} was made {describe_place(answer['made'] or {})}.")
    for team in answer["teams"]:
        print(f"Team {team['team']} is {team['status']}. An engine would continue it:")
        for label in ("members", "acts", "workspaces"):
            for one in team[label]:
                print(f"    {label.removesuffix('s')} {one}")
    if not answer["teams"]:
        print("No team in it is open, so an engine would have nothing to do.")
    if adopted:
        print("Taken over.")
    else:
        print("Nothing was changed. If this is your own state, take it over with `headcount adopt --yes`.")


# --- sweep -----------------------------------------------------------------------------------------------
#
# `headcount sweep`: leftovers of crashed runs.


def configure_sweep(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--dry-run", action="store_true", help="only print what the command would do")
    add(
        "--native",
        metavar="TEAM",
        help="save unsaved work of this team that Claude Code created itself",
    )
    add(
        "--discard",
        nargs="+",
        default=[],
        metavar="PATH",
        help="delete these paths in workspaces that were kept, for good, before the sweep",
    )
    add("--end", type=int, metavar="PID", help="with --native: end this teammate if its lead is dead")


def run_sweep(args: argparse.Namespace) -> int:
    from headcount.app.native_teams import observe
    from headcount.app.sweep import sweep
    from headcount.cli.status_commands import describe_native

    if args.native:
        return _sweep_native(args)
    if args.end is not None:
        raise UsageError("--end goes with --native TEAM", "a process is ended only by name", code="usage")
    answer = sweep(open_app(make=not args.dry_run), dry_run=args.dry_run, discard=args.discard)
    answer["nativeTeams"] = [team.as_dict() for team in observe(os.environ)]
    problems = [one for one in answer.get("ended", ()) if one["problem"]]
    if args.json:
        print(json.dumps(answer))
        return 1 if problems else 0
    for one in answer["discarded"]:
        done = "Would delete" if args.dry_run else "Deleted"
        print(f"{done} {one['path']}: {say_size(one)}.")
    verb = "Would adopt" if args.dry_run else "Adopted"
    for team in answer["adopted"]:
        print(f"{verb} team {team}: it is open and had no engine.")
    for orphan in answer["orphans"] if args.dry_run else answer["ended"]:
        _show_orphan(orphan, args.dry_run)
    for place in answer["checkouts"]:
        print(f"{place}: a gate's checkout, left by a killed engine")
    for team in answer["nativeTeams"]:
        print("\n".join(describe_native(team)))
    count = len(answer["orphans"]) + len(answer["checkouts"])
    if args.dry_run:
        print(f"Found {count} leftovers.")
    else:
        kept = f", kept {len(problems)}" if problems else ""
        print(f"Removed {count - len(problems)} leftovers{kept}.")
    return 1 if problems else 0


def _sweep_native(args: argparse.Namespace) -> int:
    from headcount.app.native_teams import end_native, salvage_native

    app = open_app()
    if args.end is not None:
        ended = end_native(app, args.native, args.end, os.environ)
        print(json.dumps(ended) if args.json else f"Asked {ended['member']} ({args.end}) to end.")
        return 0 if ended["signalled"] else 1
    saved = salvage_native(app, args.native, os.environ)
    if args.json:
        print(json.dumps(saved))
    else:
        for one in saved:
            print(f"{one['member']}: {one['salvage'] or one.get('problem', 'nothing to save')}")
        print(f"Saved {sum(bool(one['salvage']) for one in saved)} of {len(saved)} dirty worktrees.")
    return 1 if any("problem" in one for one in saved) else 0


def _show_orphan(orphan: dict[str, Any], dry_run: bool) -> None:
    processes = orphan["processes"]
    what = ", ".join(processes) if isinstance(processes, list) and processes else "no process"
    print(f"{orphan['mark'] or 'a workspace'}: {what}; {orphan['workspace'] or 'no workspace'}")
    if dry_run:
        print("    would be salvaged, ended and removed")
    elif orphan["problem"]:
        print(f"    kept: {orphan['problem']}")
    else:
        print(f"    gone{', saved to ' + str(orphan['salvage']) if orphan['salvage'] else ''}")
        for line in describe_skipped(orphan["skipped"]):
            print(f"    {line}")


# --- prune -----------------------------------------------------------------------------------------------
#
# `headcount prune`: branches, logs, mail and archives that nobody needs.


_KINDS = {
    "branch": ("branch", "branches"),
    "record": ("record of a start", "records of starts"),
    "archive": ("archive", "archives"),
    "checkpoints": ("store of checkpoints", "stores of checkpoints"),
    "mail": ("message", "messages"),
}


def configure_prune(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only print what the command would remove")
    parser.epilog = (
        "Removes nothing of open teams, and never a receipt, a salvage, unread mail, or a branch with commits"
        " that are on no other. The settings keep_days and keep_mb decide what is old."
    )


def run_prune(args: argparse.Namespace) -> int:
    from headcount.app import prune

    app = open_app(make=False)
    progress = Progress(args.json)
    found, mail = prune.find_litter(app, lambda branch: progress.show([f"Examining {plain(branch)}"]))
    if not args.json:
        for one in found:
            size = f", {show_bytes(one.bytes)}" if one.bytes else ""
            print(plain(f"{_KINDS[one.kind][0]} {one.name}: {one.why}{size}"))
    if args.dry_run:
        result = prune.answer(found, mail, dry_run=True)
    else:
        result = prune.remove_litter(app, found, lambda n: progress.count("Removed", n, len(found)))
    print(json.dumps(result, ensure_ascii=False) if args.json else _describe_pruned(result))
    return 1 if result["kept"] else 0


def _describe_pruned(result: dict[str, Any]) -> str:
    counts = {kind: sum(one["kind"] == kind for one in result["removed"]) for kind in _KINDS}
    counts["mail"] = result["mail"]
    parts = [f"{n} {_KINDS[kind][n != 1]}" for kind, n in counts.items() if n]
    what = " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:]))) or "nothing"
    size = f" ({show_bytes(result['bytes'])})" if result["bytes"] else ""
    lines = [plain(f"Kept {one['name']}: {one['problem']}.") for one in result["kept"]]
    return "\n".join([*lines, f"{'Would remove' if result['dryRun'] else 'Removed'} {what}{size}."])


# --- demo ------------------------------------------------------------------------------------------------
#
# `headcount demo`: the whole story in about ten seconds, on a scratch repository.


_COLOURS = (("proved gone", "green"), ("sent back", "yellow"), ("escalated", "yellow"), ("saved to", "green"),
            ("SIGKILL", "red"), ("did not answer", "yellow"))  # fmt: skip


_INTRODUCTION = """\
Three agents build a word counter, and two review it. ada cooperates. ben reports done and leaves a file that
is not committed. cy hangs: it answers nothing, has unsaved work, and a child process that ignores SIGTERM.
"""


_WIDTH = 98  # of what happened; the receipt has the rest
_WHO = len("quality-2")


def configure_demo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dir", metavar="DIR", help="where to run it; default: a new temporary directory")


def run_demo(args: argparse.Namespace) -> int:
    if not args.json:
        print(_INTRODUCTION)
    from headcount.app.demo import run_demo as play

    ending = play(_show_line if not args.json else lambda _: None, args.dir)
    if args.json:
        print(json.dumps({**ending.answer, "directory": ending.directory, "left": ending.left}))
    else:
        print("\nNo agent is left:")
        for process in ending.processes:
            name = plain(str(process["name"])).ljust(12)
            print(f"  {str(process['pid']).rjust(7)}  {name} {process['ended']}")
        print(f"  {ending.left} processes on this machine carry the team's mark.")
        print("\nNo work is lost. What cy never committed, restored from its salvage:")
        for path, content in ending.found_again.items():
            print(f"  {path}: {plain(content)}")
        archive = str(ending.answer["archive"])
        print("\nLook around:")
        _print_columns(
            (f"cd {ending.directory}", ""),
            (f"{_our_name()} salvage list", "what was saved"),
            (f"{_our_name()} status demo", "how it ended"),
            (f"{_our_name()} report demo", "all of it, as a page"),
            ("git log --oneline --all", "every commit is on a branch"),
            (f"less {os.path.relpath(archive, ending.directory)}/receipt.json", "the proof"),
        )
    return 0 if ending.answer["status"] == "shutdown" and ending.left == 0 else 1


def _show_line(line: Line) -> None:
    what = plain(line.what)
    what = what if len(what) <= _WIDTH else what[: _WIDTH - 1] + "…"
    for words, colour in _COLOURS:
        if words in what:
            what = paint(what, colour, sys.stdout)
            break
    print(f"{line.seconds:5.1f} s  {(line.who or 'team').ljust(_WHO)} {what}", flush=True)


def _our_name() -> str:
    """Return the command as the user can type it, which may be a path."""
    return "headcount" if shutil.which("headcount") else os.path.abspath(sys.argv[0])


def _print_columns(*rows: tuple[str, str]) -> None:
    width = max(len(left) for left, right in rows if right) + 2
    for left, right in rows:
        print(f"  {left.ljust(width)}{right}".rstrip())
