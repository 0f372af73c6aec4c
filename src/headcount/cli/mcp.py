"""`headcount mcp`: the tools for agents, as an MCP server on standard input and output."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "The server of a member acts as that member. Any other acts as the operator."


def run(args: argparse.Namespace) -> int:
    if sys.stdin.isatty():
        print("Serving MCP on standard input and output; Ctrl-D ends it.", file=sys.stderr)
    from headcount.mcp_server.stdio import serve

    serve()
    return 0
