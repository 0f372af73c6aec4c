"""Which process is at the other end of a connection from this machine, and whether it may be the operator.

Every process of the user can read the token of a server, members included. The kernel says whose the other
socket is and which processes hold it, and a process cannot deny its ancestors.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
from typing import NamedTuple

from headcount.app.ancestry import descends_from_member

_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")

Address = tuple[str, int]


class Peer(NamedTuple):
    uid: int
    pids: tuple[int, ...]
    """Every process that holds the socket: it may have been handed on."""


def why_not_operator(client: Address, server: Address) -> str:
    """Why the process at `client` may not act as the operator, or "".

    Another machine has no process here: there the token alone decides. On this machine a peer that cannot be
    found is refused: it may have closed its socket in order not to be found.
    """
    if not _is_here(client[0]):
        return ""
    peer = find_peer(client, server)
    if peer is None or not peer.pids:
        return "the process that calls cannot be found"
    if peer.uid != os.getuid():
        return f"the process that calls belongs to the user with the id {peer.uid}"
    member = next((pid for pid in peer.pids if descends_from_member(pid)), None)
    return "" if member is None else f"process {member} belongs to a member"


def find_peer(client: Address, server: Address) -> Peer | None:
    """Whose socket is bound to `client` and connected to `server`; None where the kernel lists none."""
    wanted = {(here, there) for here in _spellings(client) for there in _spellings(server)}
    for table in _TABLES:
        for row in _read_rows(table):
            if (row[1], row[2]) in wanted and row[9] != "0":
                return Peer(int(row[7]), _find_holders(f"socket:[{row[9]}]"))
    return None


def _is_here(host: str) -> bool:
    """Whether an address is one of this machine's: only those can be bound."""
    address = ipaddress.ip_address(host)
    if address.is_loopback:
        return True
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as any_socket:
            any_socket.bind((host, 0))
    except OSError:
        return False
    return True


def _spellings(address: Address) -> tuple[str, ...]:
    """As the kernel writes it; an IPv4 address may be in both tables."""
    host, port = ipaddress.ip_address(address[0]), address[1]
    if host.version == 6 and host.ipv4_mapped is not None:
        host = host.ipv4_mapped
    packed = [host.packed]
    if host.version == 4:
        packed.append(b"\0" * 10 + b"\xff\xff" + host.packed)
    return tuple(f"{_as_words(one)}:{port:04X}" for one in packed)


def _as_words(packed: bytes) -> str:
    """Words of 32 bits in the machine's byte order, in hexadecimal."""
    words = (packed[place : place + 4] for place in range(0, len(packed), 4))
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)


def _read_rows(table: str) -> list[list[str]]:
    try:
        with open(table, encoding="ascii") as file:
            return [line.split() for line in file][1:]
    except OSError:
        return []


def _find_holders(link: str) -> tuple[int, ...]:
    return tuple(int(name) for name in os.listdir("/proc") if name.isdigit() and _holds(name, link))


def _holds(pid: str, link: str) -> bool:
    place = f"/proc/{pid}/fd"
    try:
        return any(os.readlink(f"{place}/{fd}") == link for fd in os.listdir(place))
    except OSError:
        return False  # ended meanwhile, or another user's
