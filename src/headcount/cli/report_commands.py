"""`headcount report`, `trace` and `salvage`: what happened, and what was saved."""

from __future__ import annotations

import json
import os
import shlex
from typing import TYPE_CHECKING, Any

from headcount.app.app import open_app
from headcount.cli.command_parser import add_json, add_team, add_team_word, add_verb
from headcount.cli.terminal_output import Progress, describe_skipped, plain, table
from headcount.errors import NotAllowed, UsageError, WorldError

if TYPE_CHECKING:
    import argparse


def configure_report(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add_team_word(parser, "open or closed; TEAM#2 for one of its generations")
    add(
        "--md",
        action="store_true",
        help="Markdown for a pull request; default output: standard output",
    )
    add(
        "-o",
        "--output",
        metavar="FILE",
        help="default: TEAM-report.html here, or with --json none; - for standard output",
    )


def run_report(args: argparse.Namespace) -> int:
    from headcount.app.report import pick_any, read_report

    app = open_app(make=False)
    report = read_report(app, pick_any(app, args.team))
    path = args.output or ("-" if args.json or args.md else f"{report['team']}-report.html")
    if path != "-" and app.caller.is_member:
        # A member with permissions = "edit" runs this command unasked, and writes in its workspace only.
        raise NotAllowed(
            f"Did not write {path}", "members cannot write files with this command",
            ("Print it with `headcount report -o -`",), code="not-allowed",
        )  # fmt: skip
    text = _render(report, args.md) if path != "-" or not args.json else ""
    if path != "-":
        try:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise WorldError(
                f"Could not write {path}",
                error.strerror or str(error),
                ("Choose another file with -o FILE",),
                code="unwritable",
            ) from None
    if args.json:
        print(json.dumps(report, ensure_ascii=False))
    elif path == "-":
        print(text, end="")
    else:
        print(report["summary"])
        print(f"Wrote {path}.")
    return 0


def _render(report: dict[str, Any], as_markdown: bool) -> str:
    if as_markdown:
        from headcount.web.report_markdown import write_markdown

        return write_markdown(report)
    from headcount.web.report_page import write_report

    return write_report(report)


# --- trace -----------------------------------------------------------------------------------------------
#
# `headcount trace`: a team's life as an OpenTelemetry trace.


_VARIABLE = "OTEL_EXPORTER_OTLP_ENDPOINT"


def configure_trace(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add_team_word(parser, "open or closed; TEAM#2 for one of its generations")
    add(
        "--endpoint",
        metavar="URL",
        help=f"the address of an OTLP collector over HTTP; default: ${_VARIABLE}, or port 4318 here",
    )


def run_trace(args: argparse.Namespace) -> int:
    from headcount.app.report import pick_any, read_report

    try:
        from headcount.telemetry import send_trace
    except ModuleNotFoundError as missing:
        raise UsageError(
            "Telemetry is not installed",
            f"there is no {missing.name}",
            ("Install it with `pip install '.[telemetry]'` in the checkout of headcount",),
            code="not-installed",
        ) from None
    app = open_app(make=False)
    team = pick_any(app, args.team)
    endpoint = args.endpoint or os.environ.get(_VARIABLE) or "http://127.0.0.1:4318"
    sent = send_trace(read_report(app, team), endpoint)
    if args.json:
        print(json.dumps({"team": team, "spans": sent, "endpoint": endpoint}))
    else:
        print(f"Sent {sent} spans of {team} to {endpoint}.")
    return 0


# --- salvage ---------------------------------------------------------------------------------------------
#
# `headcount salvage`: what was saved, whether it is whole, and how to get it back.


_WHICH = "a name as in `salvage list` (bob, bob#2, bob#2.2), or a ref"


def configure_salvage(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    listing = add_verb(verbs, "list", "list all salvages")
    listing.add_argument("--hub", action="store_true", help="list those that the hub has instead")
    add_team(listing)
    showing = add_verb(verbs, "show", "show what a salvage contains")
    showing.add_argument("ref", metavar="REF", help=_WHICH)
    checking = add_verb(verbs, "verify", "check that salvages are complete")
    checking.add_argument("ref", nargs="?", metavar="REF", help="default: all")
    checking.add_argument("--hub", action="store_true", help="check that the hub has them, too")
    add_team(checking)
    restoring = add_verb(verbs, "restore", "restore a workspace as it was")
    restoring.add_argument("ref", metavar="REF", help=_WHICH)
    restoring.add_argument("dir", metavar="DIR", help="a new or empty directory")
    pushing = add_verb(verbs, "push", "push the salvages that the hub does not have")
    add_team(pushing)
    for verb in (listing, showing, checking, restoring, pushing):
        add_json(verb)


def run_salvage(args: argparse.Namespace) -> int:
    return {
        "list": _list_salvages,
        "show": _show_salvage,
        "verify": _verify_salvages,
        "restore": _restore_salvage,
        "push": _push_salvages,
    }[args.verb](args)


def _list_salvages(args: argparse.Namespace) -> int:
    from headcount.app.salvages import list_saved

    found = list_saved(open_app(make=False), args.team, at_hub=args.hub)
    if args.json:
        print(json.dumps(found))
    elif not found:
        print("Nothing was salvaged here.")
    else:
        rows = [(s["name"], s["team"], _ref(s), s["commit"][:12]) for s in found]
        print("\n".join(table(rows, ("NAME", "TEAM", "REF", "COMMIT"))))
    return 0


def _ref(saved: dict[str, Any]) -> str:
    return f"{saved['ref']} (gone)" if saved["lost"] else str(saved["ref"])


def _show_salvage(args: argparse.Namespace) -> int:
    from headcount.app.salvages import show_saved

    shown = show_saved(open_app(make=False), args.ref)
    print(json.dumps(shown) if args.json else "\n".join(describe_saved(shown)))
    return 0


def describe_saved(shown: dict[str, Any]) -> list[str]:
    """Return the findings of a salvage for people. The whole manifest is for programs."""
    ref, manifest = shown["ref"], shown["manifest"]
    lines = [f"{ref} of {shown['team']}/{shown['member']}"]
    lines += [f"  {plain(found)}" for found in shown["found"]]
    lines += [f"  left out: {plain(path)}: {why}" for path, _, why in manifest.get("left_out", ())]
    lines += [f"  {line}" for line in describe_skipped(manifest.get("skipped", ()))]
    if "private" in manifest:
        place = shown["private"]["path"] if shown["private"] else "an archive that is not here"
        lines += [f"  private, in {place}: {plain(', '.join(manifest['private']))}"]
    lines += [f"Get all of it back with `headcount salvage restore {shlex.quote(ref)} DIR`."]
    if "entries" not in manifest:
        lines += [f"Get a file back with `git show {shlex.quote(ref)}:files/PATH`."]
    return lines


def _verify_salvages(args: argparse.Namespace) -> int:
    from headcount.app.salvages import verify_saved

    progress = Progress(args.json)
    checked = verify_saved(
        open_app(make=False),
        args.ref,
        args.team,
        lambda done, total, ref: progress.count("Verified", done, total, ref),
        at_hub=args.hub,
    )
    broken = [one for one in checked if not one["ok"]]
    if args.json:
        print(json.dumps(checked))
        return 1 if broken else 0
    for one in broken:
        print(f"{one['ref']}: {plain('; '.join(one['problems']))}")
    print(f"Verified {len(checked) - len(broken)} of {len(checked)} salvages.")
    return 1 if broken else 0


def _restore_salvage(args: argparse.Namespace) -> int:
    from headcount.app.salvages import restore_saved

    with Progress(args.json).during(f"Restoring {args.ref} to {args.dir}"):
        restored = restore_saved(open_app(make=False), args.ref, args.dir)
    if args.json:
        print(json.dumps(restored))
    else:
        on = f" on branch {restored['branch']}" if restored["branch"] else ""
        print(f"Restored {restored['ref']} to {restored['path']}{on}.")
        for note in restored["notes"]:
            print(f"  {plain(note)}")
    return 0


def _push_salvages(args: argparse.Namespace) -> int:
    from headcount.app.salvages import push_saved

    pushed = push_saved(open_app(make=False), args.team)
    print(json.dumps(pushed) if args.json else f"Pushed {len(pushed)} salvages that the hub did not have.")
    return 0
