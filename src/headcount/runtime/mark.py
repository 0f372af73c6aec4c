"""The mark: what every process of one incarnation carries in its environment.

    hc1.<state id>.<team>.<member>.<generation>.<nonce>

A dot is in no name, so two incarnations never have one mark and none is a prefix of another's that
counts (`web` and `web-2`): marks are compared whole. A mark is not secret. The nonce makes two
starts of one generation, before and after a restored backup, differ.

Code that headcount runs for a team (a gate, a filter) carries the mark `hc1.code` instead. It belongs to no
incarnation, and a caller of headcount that carries it is nobody.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from headcount.errors import ProcessError, UsageError
from headcount.runtime.reaper import write_once
from headcount.runtime.start_record import read_small

VARIABLE = "HEADCOUNT_MARK"
CODE = "hc1.code"
_SCHEME = "hc1"


class Mark(NamedTuple):
    state: str
    team: str
    member: str
    generation: int
    nonce: str

    def __str__(self) -> str:
        return ".".join((_SCHEME, self.state, self.team, self.member, str(self.generation), self.nonce))


def new_mark(state: str, team: str, member: str, generation: int) -> Mark:
    for name in (state, team, member):
        if not name or not name.isascii() or not name.replace("-", "").replace("_", "").isalnum():
            raise UsageError(f"{name!r} cannot be part of a mark", "names are letters, digits, - and _")
    return Mark(state, team, member, generation, os.urandom(4).hex())


def parse_mark(text: str) -> Mark | None:
    """None for anything that `new_mark` could not have made."""
    match text.split("."):
        case [scheme, state, team, member, generation, nonce] if scheme == _SCHEME and generation.isdecimal():
            return Mark(state, team, member, int(generation), nonce)
    return None


def state_id(directory: str) -> str:
    """Names a state directory in marks, so that one never sweeps another's processes.

    Random, so that a directory made anew is not its predecessor, and mixed with the path, so that a
    copied checkout does not take the original's members for its own.
    """
    import hashlib  # with OpenSSL it costs 4 MB, and the host of each client loads this module

    path = _seed_path(directory)
    write_once(path, os.urandom(16).hex())
    return hashlib.sha256(f"{read_seed(directory)}\0{path}".encode()).hexdigest()[:16]


def read_seed(directory: str) -> str:
    """A pipe in its place would make every command wait."""
    path = _seed_path(directory)
    try:
        return read_small(path).decode("ascii")
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise ProcessError(f"{path} cannot be read", str(error), code="process-record-damaged") from error


def put_back_seed(directory: str, seed: str) -> None:
    """Also in the place of one that was made since it was removed: with that, those who run are strangers."""
    path = _seed_path(directory)
    if os.path.exists(path) and read_seed(directory) != seed:
        os.unlink(path)
    write_once(path, seed)


def _seed_path(directory: str) -> str:
    return f"{os.path.realpath(directory)}/id"
