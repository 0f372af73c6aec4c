"""`headcount mcp`: the tools for agents, on standard input and output, or over HTTP on loopback."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from headcount.errors import UsageError

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--http", action="store_true", help="streamable HTTP on loopback, with a token")
    parser.add_argument("--port", type=int, default=0, metavar="N", help="with --http; 0 takes a free one")
    parser.epilog = "A member's server acts as that member, any other as the operator."


def run(args: argparse.Namespace) -> int:
    if args.http:
        from headcount.mcp_server.http import serve_http

        return serve_http(args.port, as_json=args.json)
    if args.port:
        raise UsageError(
            "--port goes with --http", "on standard input and output there is no port", code="usage"
        )
    if sys.stdin.isatty():
        print("Serving MCP on standard input and output; Ctrl-D ends it.", file=sys.stderr)
    from headcount.mcp_server.stdio import serve

    serve()
    return 0
