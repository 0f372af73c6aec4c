"""The keeper: one small process above everything that a member starts.

It is a subreaper, so a child that double-forks, calls setsid or loses its parent comes back to it;
and it ends only when the kernel says that it has no children left. That, and not a signal sent, is
what the proof rests on. It asks nobody and obeys nobody: whoever stops a member signals the tree
itself, finds the keeper by its record, and sees it end.

    read the spec            from a FIFO, so that no secret touches the disk
    fork the member          which waits, before its exec
    write process.json       pid, start time, boot id: synced, and only if nobody has done so before
    let the member go        it execs; or, if the keeper dies here, it ends without having run
    wait for any child       exit.json when the member ends, empty.json when nothing is left; then end

Files are created once, whole or not at all (`write_once`). So two starts of one incarnation cannot
both happen, and a start can be called off for good by writing process.json first.

`main(["serve"])` forks a keeper for each directory named on standard input; forked ones share the
interpreter's pages (docs/decisions/0040). `main(["terminal", DIR])` is the keeper itself, in a terminal
that it hands to the member.

There are a thousand of these at once: it imports what the interpreter has loaded anyway, and ctypes.
"""

from __future__ import annotations

import _thread
import ctypes
import errno
import gc
import marshal
import os
import sys
import time

PROCESS, EXIT, EMPTY, FAULT = "process.json", "exit.json", "empty.json", "keeper.err"
SPEC, REPLY, OUTPUT, STDIN = "spec", "reply", "output", "stdin"
LOG_PREFIX = "log."
NAME = "hc-keeper"  # for people who look at `ps`, and for whoever looks for one whose records are gone

_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36
_SIGHUP, _SIGINT, _SIGQUIT, _SIGTERM, _SIGCHLD, _SIGTTOU = 1, 2, 3, 15, 17, 22
_DEFAULT, _IGNORE = 0, 1
_SIG_SETMASK = 2
_NOT_STARTED = 126
_PATIENCE_S = 60  # how long a record is tried again while the disk is full
_REAPED_KEPT = 50

_libc = ctypes.CDLL(None, use_errno=True)
_libc.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
_libc.signal.restype = ctypes.c_void_p


# --- files that are written once -------------------------------------------------------------------


def write_once(path: str, text: str) -> bool:
    """Create `path` durably and whole. False, with nothing changed, when it is there already."""
    draft = f"{path}.{os.getpid()}.{_thread.get_ident()}"
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(fd, text.encode())
        os.fsync(fd)
    finally:
        os.close(fd)
    try:
        os.link(draft, path)
    except FileExistsError:
        return False
    finally:
        os.unlink(draft)
    _sync_directory(path[: path.rindex("/")])
    return True


def _sync_directory(path: str) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _write_patiently(path: str, text: str) -> None:
    """A keeper that dies of a full disk leaves more behind than a missing record does."""
    for _ in range(_PATIENCE_S):
        try:
            write_once(path, text)
            return
        except FileNotFoundError:
            return  # the whole directory was taken away: nobody will ask
        except OSError:
            time.sleep(1)


def as_json(**fields: object) -> str:
    """Flat JSON of numbers, plain strings and lists of them; the json module would cost 1 MB a keeper."""
    return "{" + ", ".join(f'"{name}": {_json_value(value)}' for name, value in fields.items()) + "}\n"


def process_json(
    mark: str, agent: tuple[int, int], keeper: tuple[int, int], boot: str, at: float, place: list[str]
) -> str:
    """The record of a start: each process by pid and start time; `place` in a terminal, else empty."""
    pid, start = agent
    return as_json(
        mark=mark,
        pid=pid,
        start=start,
        keeper=keeper[0],
        keeper_start=keeper[1],
        boot=boot,
        at=at,
        place=place,
    )


def _json_value(value: object) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_json_value(item) for item in value) + "]"
    return "null" if value is None else str(value)


# --- what identifies a process ---------------------------------------------------------------------


def start_time(pid: int) -> int:
    """Clock ticks since boot at which `pid` started: with the boot id, what a recycled pid cannot copy."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        stat = file.read()
    return int(stat[stat.rindex(b")") + 2 :].split()[19])


def boot_id() -> str:
    with open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()


# --- the log ---------------------------------------------------------------------------------------


class Log:
    """Output in at most four segments, each named by the offset of its first byte: the head, which
    tells how it began, and the newest three. A full disk loses output; it never blocks the member."""

    def __init__(self, home: str, limit: int) -> None:
        self._home = home
        self._segment = max(limit // 4, 1)
        self._kept: list[int] = []
        self._fd = -1
        self._room = 0
        self._offset = 0

    def write(self, data: bytes) -> None:
        while data:
            try:
                if self._room == 0:
                    self._next_segment()
                written = os.write(self._fd, data[: self._room])
                self._room -= written
            except OSError:
                written, self._room = len(data), 0
            self._offset += written
            data = data[written:]

    def _next_segment(self) -> None:
        if self._fd >= 0:
            nothing_fit = os.fstat(self._fd).st_size == 0
            os.close(self._fd)
            self._fd = -1
            if nothing_fit:  # a full disk: no part that is there is given up for an empty one
                os.unlink(self._path(self._kept.pop()))
        if len(self._kept) == 4:
            os.unlink(self._path(self._kept.pop(1)))
        self._fd = os.open(self._path(self._offset), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        self._kept.append(self._offset)
        self._room = self._segment

    def _path(self, offset: int) -> str:
        return f"{self._home}/{LOG_PREFIX}{offset}"


def _pump(source: int, log: Log, ended: _thread.LockType) -> None:
    while data := os.read(source, 16384):
        log.write(data)
    ended.release()


# --- starting --------------------------------------------------------------------------------------


class _NotStarted(Exception):
    """Told to the caller; nothing of the member has run."""


def _read_spec(home: str) -> dict[str, object]:
    """It comes as fast as we read it; if the caller is gone it ends too early, and so is the wish."""
    fd = os.open(f"{home}/{SPEC}", os.O_RDONLY | os.O_NONBLOCK)  # nobody may be there to open it for
    try:
        os.set_blocking(fd, True)
        size = int.from_bytes(os.read(fd, 8), "big")
        body = b""
        while len(body) < size and (chunk := os.read(fd, size - len(body))):
            body += chunk
    finally:
        os.close(fd)
    if not body or len(body) < size:
        raise _NotStarted("whoever asked for it has gone")
    spec: dict[str, object] = marshal.loads(body)
    return spec


def _stand_apart(terminal: bool) -> None:
    """Out of the caller's reach: its session, its terminal, its directory, its signals."""
    for signal in (_SIGHUP, _SIGINT, _SIGQUIT, _SIGTERM, _SIGTTOU):
        _libc.signal(signal, _IGNORE)
    _libc.signal(_SIGCHLD, _DEFAULT)
    _libc.prctl(_PR_SET_NAME, NAME.encode(), 0, 0, 0)
    os.chdir("/")
    if terminal:
        _terminal(give_up=True)
    else:
        os.setsid()
    if _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise _NotStarted(f"no subreaper: {os.strerror(ctypes.get_errno())}")


def _terminal(give_up: bool) -> None:
    """A terminal has one session; as long as it is the keeper's, the member cannot have it."""
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCNOTTY if give_up else termios.TIOCSCTTY, 0)


def _reset_signals() -> None:
    """What is ignored or blocked stays so across an exec: our own, tmux's, and the engine's."""
    for signal in range(1, 32):
        _libc.signal(signal, _DEFAULT)
    _libc.sigprocmask(_SIG_SETMASK, ctypes.create_string_buffer(128), None)


def _limit_files(soft: int) -> None:
    """The engine may have more files open than most programs can stand; what it had itself is enough. A tmux
    server that was started with less cannot give as much."""
    import resource

    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    soft = soft if hard == resource.RLIM_INFINITY else min(soft, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _become_member(spec: dict[str, object], stdio: list[int], go: int, failed: int, terminal: bool) -> None:
    """In the forked child: wait for the record, then exec. Never returns."""
    try:
        os.setsid()
        _reset_signals()
        if terminal:
            _terminal(give_up=False)
        for number, fd in enumerate(stdio):
            os.dup2(fd, number)
        _limit_files(int(str(spec["files"])))
        if os.read(go, 1) == b"g":
            argv: list[str] = spec["argv"]  # type: ignore[assignment]
            env: dict[str, str] = spec["env"]  # type: ignore[assignment]
            os.chdir(str(spec["cwd"]))
            os.execvpe(argv[0], argv, env)
    except OSError as error:
        os.write(failed, (error.errno or errno.EIO).to_bytes(4, "big"))
    except ValueError:  # a NUL in a word
        os.write(failed, errno.EINVAL.to_bytes(4, "big"))
    finally:
        os._exit(_NOT_STARTED)


def _environment_of_pane(spec: dict[str, object]) -> list[str]:
    """The terminal's kind for the member; where it is, for the record: [pane, session, server pid]."""
    env: dict[str, str] = spec["env"]  # type: ignore[assignment]
    env["TERM"] = os.environ.get("TERM", "screen")
    _, server, session = os.environ["TMUX"].rsplit(",", 2)
    return [os.environ["TMUX_PANE"], f"${session}", server]


class Keeper:
    def __init__(self, home: str, terminal: bool) -> None:
        self.home = home
        self.terminal = terminal
        self.member = 0
        self._error = ""
        self._reaped: list[list[int]] = []
        self._reaped_count = 0

    def start(self) -> str:
        """Start the member; "", or why its program could not be run."""
        spec = _read_spec(self.home)
        place = _environment_of_pane(spec) if self.terminal else []
        _stand_apart(self.terminal)
        stdio = self._open_stdio(spec)
        go_read, go_write = os.pipe()
        failed_read, failed_write = os.pipe()
        self.member = os.fork()
        if self.member == 0:
            os.close(go_write)
            _become_member(spec, stdio, go_read, failed_write, self.terminal)
        os.close(go_read)
        os.close(failed_write)
        self._let_go_of_stdio()
        try:
            self._record(str(spec["mark"]), place)
            os.write(go_write, b"g")
        except BrokenPipeError:
            pass  # it has failed already, and says why
        finally:
            os.close(go_write)
        failure = os.read(failed_read, 4)
        os.close(failed_read)
        self._error = os.strerror(int.from_bytes(failure, "big")) if failure else ""
        return self._error

    def _open_stdio(self, spec: dict[str, object]) -> list[int]:
        """The output FIFO is open for both directions everywhere, so that a member whose keeper was
        killed is not killed by its next line of output."""
        self._output = os.open(f"{self.home}/{OUTPUT}", os.O_RDWR)
        self._pumped = _thread.allocate_lock()
        self._pumped.acquire()
        self._source = os.open(f"{self.home}/{OUTPUT}", os.O_RDONLY)
        self._log = Log(self.home, int(str(spec["log_limit"])))
        if self.terminal:
            return []
        if spec["stdin"]:
            os.open(f"{self.home}/{STDIN}", os.O_RDWR)  # held open: the member sees no end of file
            stdin = os.open(f"{self.home}/{STDIN}", os.O_RDONLY)
        else:
            stdin = os.open("/dev/null", os.O_RDONLY)
        return [stdin, self._output, self._output]

    def _let_go_of_stdio(self) -> None:
        nothing = os.open("/dev/null", os.O_RDWR)
        for number in range(3):
            os.dup2(nothing, number)
        os.close(nothing)
        # Not before the fork: a thread does not survive one.
        _thread.start_new_thread(_pump, (self._source, self._log, self._pumped))

    def _record(self, mark: str, place: list[str]) -> None:
        me = os.getpid()
        agent, keeper = (self.member, start_time(self.member)), (me, start_time(me))
        text = process_json(mark, agent, keeper, boot_id(), time.time(), place)
        if not write_once(f"{self.home}/{PROCESS}", text):
            raise _NotStarted("it was started, or called off, before")

    def wait_until_empty(self) -> None:
        """waitpid fails with ECHILD only when nothing that the member started is left below us."""
        while True:
            try:
                pid, status = os.waitpid(-1, 0)
            except ChildProcessError:
                break
            if pid == self.member:
                self._record_exit(status)
            else:
                self._reaped_count += 1
                self._reaped = [*self._reaped[1 - _REAPED_KEPT :], [pid, status]]
        os.close(self._output)
        self._pumped.acquire(True, 1.0)
        empty = as_json(at=time.time(), count=self._reaped_count, reaped=self._reaped)
        _write_patiently(f"{self.home}/{EMPTY}", empty)

    def _record_exit(self, status: int) -> None:
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
        signal = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        text = as_json(pid=self.member, code=code, signal=signal, at=time.time(), error=self._error)
        _write_patiently(f"{self.home}/{EXIT}", text)


def keep(home: str, terminal: bool) -> None:
    """The life of one keeper. Without a caller who waits for the answer, nothing is started."""
    reply = os.open(f"{home}/{REPLY}", os.O_WRONLY | os.O_NONBLOCK)
    keeper = Keeper(home, terminal)
    try:
        error = keeper.start()
    except (_NotStarted, OSError) as why:
        _tell(reply, f"not started: {why}")
        return
    if not error:
        _tell(reply, "started")
    try:
        keeper.wait_until_empty()
    except Exception as fault:
        write_once(f"{home}/{FAULT}", f"{fault!r}\n")
        raise
    if error:  # after the records, so that whoever hears it can read them
        _tell(reply, f"not started: {error}")


def _tell(reply: int, text: str) -> None:
    """If the asker has died meanwhile, the record will tell the next one."""
    try:
        os.write(reply, text.encode()[:500])
        os.close(reply)
    except BrokenPipeError:
        pass


def serve() -> None:
    """Fork a keeper for each line, a path in hex. Ends with the caller's pipe; its keepers go on."""
    gc.disable()  # a collection would write to, and so unshare, every page
    _libc.signal(_SIGCHLD, _IGNORE)
    for line in sys.stdin:
        if os.fork() == 0:
            try:
                keep(os.fsdecode(bytes.fromhex(line)), terminal=False)
            finally:
                os._exit(0)


def main(arguments: list[str]) -> None:
    if arguments[0] == "terminal":
        keep(arguments[1], terminal=True)
    else:
        serve()
