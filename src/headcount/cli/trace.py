"""`headcount trace`: a team's life as an OpenTelemetry trace."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from headcount.app.app import open_app
from headcount.app.report import pick_any, read_report
from headcount.cli.options import add_team_word
from headcount.errors import UsageError

if TYPE_CHECKING:
    import argparse

_VARIABLE = "OTEL_EXPORTER_OTLP_ENDPOINT"


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add_team_word(parser, "open or closed; TEAM#2 for one of its generations")
    add(
        "--endpoint",
        metavar="URL",
        help=f"the address of an OTLP collector over HTTP; default: ${_VARIABLE}, or port 4318 here",
    )


def run(args: argparse.Namespace) -> int:
    try:
        from headcount.telemetry.trace import send_trace
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
