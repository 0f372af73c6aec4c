"""`headcount serve`: the live page, on loopback and with a token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.app.app import open_app
from headcount.errors import UsageError

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
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
    add("--port", type=int, default=0, metavar="N", help="default: a free port")


def run(args: argparse.Namespace) -> int:
    try:
        from headcount.web.server import serve
    except ModuleNotFoundError as missing:
        raise UsageError(
            "The live page is not installed",
            f"there is no {missing.name}",
            ("Install it with `pip install '.[serve]'` in the checkout of headcount",),
            code="not-installed",
        ) from None
    try:
        return serve(open_app(), _address(args.host), args.port, args.token_file, as_json=args.json)
    except KeyboardInterrupt:
        return 0  # Ctrl-C is how it is ended


def _address(host: str) -> str:
    """A number, so that what is listened on is what was meant."""
    import ipaddress

    try:
        return str(ipaddress.ip_address("127.0.0.1" if host == "localhost" else host))
    except ValueError:
        raise UsageError(
            f"{host} is no address", "a number is needed, as 127.0.0.1 or 0.0.0.0", code="usage"
        ) from None
