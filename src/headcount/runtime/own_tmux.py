"""A directory for the tmux sockets of one member (`TMUX_TMPDIR`).

A member that calls `tmux` starts a server of its own there, below its keeper, and that server ends with the
member. It can neither reach the user's default server nor become it.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from contextlib import suppress

from headcount.errors import ProcessError

VARIABLE = "TMUX_TMPDIR"
_SOCKET_PATH_MAX = 100  # the kernel's limit is 108, and tmux needs some of it


def make_directory(state_directory: str, mark: str) -> str:
    """Make the directory for this mark, for its user alone; it may be there."""
    path = _place(state_directory, mark)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)
    return path


def remove_directory(state_directory: str, mark: str) -> None:
    """Remove it with the sockets in it, after the processes are gone. Files that are not sockets stay."""
    top = _place(state_directory, mark)
    for place, _, files in os.walk(top, topdown=False):
        for name in files:
            with suppress(FileNotFoundError):
                if stat.S_ISSOCK(os.lstat(f"{place}/{name}").st_mode):
                    os.unlink(f"{place}/{name}")
        with suppress(OSError):  # something else is in it
            os.rmdir(place)


def socket_directory(state_directory: str, longest: str) -> str:
    """The state directory, or, where a socket `longest` below it has too long a path, one in /tmp."""
    if len(os.fsencode(f"{state_directory}/{longest}")) <= _SOCKET_PATH_MAX:
        return state_directory
    shallow = f"{_short_temporary(longest)}/headcount-{os.getuid()}"
    os.makedirs(shallow, mode=0o700, exist_ok=True)
    status = os.lstat(shallow)
    if status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise ProcessError(
            f"{shallow} is not ours alone", "another user could reach the terminals", code="tmux"
        )
    return shallow


def _short_temporary(longest: str) -> str:
    place = tempfile.gettempdir()
    whole = f"{place}/headcount-{os.getuid()}/{longest}"
    return place if len(os.fsencode(whole)) <= _SOCKET_PATH_MAX else "/tmp"


def _place(state_directory: str, mark: str) -> str:
    own = f"tmux/{hashlib.sha256(mark.encode()).hexdigest()[:12]}"
    return f"{socket_directory(state_directory, f'{own}/tmux-{os.getuid()}/default')}/{own}"
