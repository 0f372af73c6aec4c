"""Which process is at the other end of a loopback connection.

The token of a server on loopback may be read by every process of its user, members included. The kernel says
which process holds the socket, and a process cannot deny whom it descends from.
"""

from __future__ import annotations

import os
import socket

_TABLE = "/proc/net/tcp"


def find_peer(host: str, port: int) -> int | None:
    """The process whose socket is bound to `host:port`; None when it is not ours to see, or not on Linux."""
    inode = _find_inode(host, port)
    return None if inode is None else _find_holder(f"socket:[{inode}]")


def _find_inode(host: str, port: int) -> str | None:
    # The kernel writes an address as one number of the machine's byte order, in hexadecimal.
    number = int.from_bytes(socket.inet_aton(host), "little")
    wanted = f"{number:08X}:{port:04X}"
    try:
        with open(_TABLE, encoding="ascii") as table:
            rows = [line.split() for line in table]
    except OSError:
        return None
    return next((row[9] for row in rows if row[1] == wanted), None)


def _find_holder(link: str) -> int | None:
    for name in os.listdir("/proc"):
        if name.isdigit() and _holds(name, link):
            return int(name)
    return None


def _holds(pid: str, link: str) -> bool:
    place = f"/proc/{pid}/fd"
    try:
        return any(os.readlink(f"{place}/{fd}") == link for fd in os.listdir(place))
    except OSError:
        return False  # ended meanwhile, or another user's
