"""What the kernel says about the process that calls: its ancestors, and the namespaces that it is in.

A caller chooses its own environment, so a token or a missing mark proves little by itself. It does not choose
its ancestors: the topmost one that carries a mark was started by a keeper. Three ways lead around them. A new
PID namespace hides them. In a new user namespace a member may mount other files over those of /proc. The tmux
server of our terminals carries no mark, and starts programs for any process that may reach its socket.

On the path of every member command: imports next to nothing.
"""

from __future__ import annotations

import fcntl
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

LOCK = "engine.lock"
NAMESPACE = "engine.namespace"
"""In the state directory: the PID and user namespace of the engine that holds the lock."""
MARK = "HEADCOUNT_MARK"
CODE_MARK = "hc1.code"  # `runtime.mark.CODE`; a member's command imports as little as it can
MEMBER, CODE = "member", "code"
_KEEPER = b"hc-keeper"
_REAPERS = {  # the names in `runtime.reaper`
    _KEEPER: MEMBER,
    b"hc-reaper": MEMBER,
    b"hc-command": CODE,
    b"hc-commands": CODE,
}
# A command that acts as the operator is below these two. Any program can take their names, so the search goes
# on above them, and what is there decides.
_OPERATORS_COMMAND, _ITS_SERVER = b"hc-operator", b"hc-commands"
_NO_TRICKS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # follow no link, wait for no pipe
_RECORD_MOST = 256
_MOST = 1 << 20  # an environment is smaller; a command line may be as long as the kernel allows


def descends_from_member(pid: int | None = None, proc: str = "/proc") -> bool:
    """Whether a process above this one carries a mark, even though our own environment was cleaned of it; or
    is one of our reapers, which is all that is left above a daemon."""
    return bool(find_above(pid, proc))


def find_above(pid: int | None = None, proc: str = "/proc") -> str:
    """`MEMBER` below a member, `CODE` below code that headcount runs for a team, else ""."""
    pid = os.getppid() if pid is None else pid
    below = b""
    while pid > 0:  # in a namespace of its own a member's keeper has the number 1
        mark = _mark_of(pid, proc)
        if mark is not None:
            return CODE if mark == CODE_MARK else MEMBER
        name, pid = _name_and_parent(str(pid), proc)
        if name in _REAPERS and (below, name) != (_OPERATORS_COMMAND, _ITS_SERVER):
            return _REAPERS[name]
        below = name
    return ""


def why_not_own(home: str, team: str, key: str) -> str:
    """Why a process that presents the token of `key` is not in that member's process tree, or ""."""
    if below_our_tmux(home):
        return "the tmux server of the terminals started this process"
    marks = [mark for mark in (_mark_of(pid) for pid, _ in _ancestors()) if mark]
    if marks:
        parts = marks[-1].split(".")
        if len(parts) == 6 and (parts[2], f"{parts[3]}#{parts[4]}") != (team, key):
            return f"this process belongs to {parts[3]}#{parts[4]} of {parts[2]}"
        return ""
    return "this process is in a namespace of its own" if is_elsewhere(home) else ""


def below_our_tmux(home: str) -> bool:
    """Whether the tmux server of our terminals started this, and no keeper of a member is in between."""
    for pid, name in _ancestors():
        if name == _KEEPER:
            return False
        if name.startswith(b"tmux: server") and _is_ours(_read(f"/proc/{pid}/cmdline"), home):
            return True
    return False


def read_namespace() -> str:
    """The PID and the user namespace of this process; "" without /proc."""
    try:
        return " ".join(os.readlink(f"/proc/self/ns/{kind}") for kind in ("pid", "user"))
    except OSError:
        return ""


def is_elsewhere(home: str) -> bool:
    """Whether an engine drives this state directory from another PID or user namespace than ours."""
    theirs = read_record(f"{home}/{NAMESPACE}")
    try:
        fd = os.open(f"{home}/{LOCK}", os.O_RDONLY | _NO_TRICKS)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False  # no engine holds it: the namespace is that of one which has ended
    except BlockingIOError:
        ours = read_namespace()  # an engine of an earlier version recorded only the first of the two
        return not theirs or theirs not in (ours, ours.partition(" ")[0])
    finally:
        os.close(fd)


def read_record(path: str) -> str:
    """The one line of a small file; "" of anything else. A member may put a pipe or a link there."""
    try:
        fd = os.open(path, os.O_RDONLY | _NO_TRICKS)
    except OSError:
        return ""
    try:
        return os.read(fd, _RECORD_MOST).decode("ascii", "replace").strip() if _is_file(fd) else ""
    finally:
        os.close(fd)


def _is_file(fd: int) -> bool:
    return os.fstat(fd).st_mode & 0o170000 == 0o100000


def _ancestors() -> Iterator[tuple[int, bytes]]:
    """Pid and name of each, nearest first. By /proc, which shows them also from inside of a namespace."""
    pid = _name_and_parent("self")[1] or os.getppid()
    while pid > 1:
        name, parent = _name_and_parent(str(pid))
        yield pid, name
        pid = parent


def _name_and_parent(pid: str, proc: str = "/proc") -> tuple[bytes, int]:
    # The command's name may hold spaces and brackets: the fields are counted from its last bracket.
    head, _, fields = _read(f"{proc}/{pid}/stat").rpartition(b")")
    try:
        return head.partition(b"(")[2], int(fields.split()[1])
    except (ValueError, IndexError):
        return b"", 0


def is_stopped(pid: int) -> bool:
    """Return whether a signal has stopped this process (Ctrl-Z), or a debugger."""
    return _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[:1] in ([b"T"], [b"t"])


def _mark_of(pid: int, proc: str = "/proc") -> str | None:
    needle = f"\0{MARK}=".encode()
    _, found, rest = (b"\0" + _read(f"{proc}/{pid}/environ")).partition(needle)
    return rest.partition(b"\0")[0].decode("ascii", "replace") if found else None


def _is_ours(command_line: bytes, home: str) -> bool:
    words = command_line.split(b"\0")
    if b"-S" not in words[:-1]:
        return False
    place = os.fsdecode(words[words.index(b"-S") + 1])
    shallow = f"/headcount-{os.getuid()}"  # where the state directory is too deep for a socket
    return place == f"{os.path.realpath(home)}/tmux.sock" or os.path.dirname(place).endswith(shallow)


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(_MOST)
    except OSError:
        return b""  # gone, or another user's
