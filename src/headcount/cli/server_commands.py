"""`headcount serve`, `mcp` and `engine`: commands that run until they are ended."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from headcount.cli.command_parser import take_signals
from headcount.errors import UsageError

if TYPE_CHECKING:
    import argparse


def configure_serve(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="the address to listen on; default: this machine only",
    )
    add(
        "--token-file", metavar="FILE", help="keep the token in this file; default: a new token at each start"
    )
    add("--port", type=int, default=0, metavar="PORT", help="default: a free port")


def run_serve(args: argparse.Namespace) -> int:
    from headcount.app.app import open_app

    try:
        from headcount.web.server import serve
    except ModuleNotFoundError as missing:
        raise UsageError(
            "The live page is not installed",
            f"there is no {missing.name}",
            ("Install it with `pip install '.[serve]'` in the checkout of headcount",),
            code="not-installed",
        ) from None
    app = open_app()
    app.read_settings()  # a mistake in them is an error now, and not at the first click
    try:
        return serve(app, _address(args.host), args.port, args.token_file, as_json=args.json)
    except KeyboardInterrupt:
        return 0  # Ctrl-C is how it is ended


def _address(host: str) -> str:
    """Accept only a numeric address, which is unambiguous."""
    import ipaddress

    try:
        return str(ipaddress.ip_address("127.0.0.1" if host == "localhost" else host))
    except ValueError:
        raise UsageError(
            f"{host} is not an address", "it must be a number, such as 127.0.0.1 or 0.0.0.0", code="usage"
        ) from None


# --- mcp -------------------------------------------------------------------------------------------------
#
# `headcount mcp`: the tools for agents, as an MCP server on standard input and output.


def configure_mcp(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "The server of a member acts as that member. Any other acts as the operator."


def run_mcp(args: argparse.Namespace) -> int:
    from headcount.mcp_server.stdio import serve

    return serve()


# --- engine ----------------------------------------------------------------------------------------------
#
# `headcount engine`: drive the teams of this state directory until none is left. Started on demand.


def configure_engine(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "Other commands start it in the background when they need it. It exits by itself."


def run_engine(args: argparse.Namespace) -> int:
    from headcount.app.app import open_app
    from headcount.app.resident import drive

    take_signals()
    app = open_app()
    app.check("engine")
    app.read_settings()  # now, because members may change the file later
    if drive(app):
        return 0
    print("Another engine drives this state directory.", file=sys.stderr)
    return 0
