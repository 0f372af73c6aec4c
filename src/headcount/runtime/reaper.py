"""The reaper: one small process above one program, which ends only when nothing of that program is left.

A reaper is a subreaper, so the kernel gives it every child that double-forks, calls setsid or loses its
parent. There are two life policies:

    keeper     stays above a member until its whole tree has ended. It ends nothing by itself; on SIGUSR1 it
               kills its children until none is left.
    command    runs one command of the engine, and kills everything that the command leaves: when the command
               ends, and when the caller closes its connection or dies.

`serve` forks both from one warm interpreter, so that a reaper costs a fork and not a start of Python
(docs/decisions/0040). The server is a subreaper itself. The server of the members lives until nothing
is below it, whatever became of its engine: it inherits the processes of a keeper that was killed. The server
of the commands kills whatever it inherits.

How a keeper starts a member:

    read the order           from a connection that only the caller and this process hold
    fork the member          which waits, before its exec
    write process.json       pid, start time, boot id: synced, and only if it does not exist yet
    let the member go        it execs; or, if the keeper dies here, it ends without having run
    answer                   with the same record, over the connection: no member can have changed it
    wait for any child       exit.json when the member ends, empty.json when nothing is left; then end

Files are created once, whole or not at all (`write_once`). So two starts of one incarnation cannot both
happen, and a start can be cancelled for good by writing process.json first. A member can rewrite these files,
so they prove nothing. empty.json proves something only because it carries the *seal*: a secret that came with
the order. Keepers and servers are not dumpable, so a member cannot read it from their memory.

There are a thousand keepers at once: this module imports what the interpreter has loaded anyway, ctypes, and
small C modules.
"""

from __future__ import annotations

import _json
import _signal  # type: ignore[import-not-found]
import _socket
import _thread
import ctypes
import errno
import gc
import os
import select
import sys
import time

PROCESS, EXIT, EMPTY, FAULT = "process.json", "exit.json", "empty.json", "keeper.err"
OUTPUT, STDIN, START = "output", "stdin", "start"
LOG_PREFIX = "log."
# What `ps` shows. `store/identity.py` knows them too: they say whose code runs below.
KEEPER, SERVER, COMMAND, COMMANDS = "hc-keeper", "hc-reaper", "hc-command", "hc-commands"
OPERATORS_COMMAND = "hc-operator"  # what runs below this one acts as the operator
TITLE_ROOM = 4200  # bytes of the command line, so that a forked keeper can show its directory there
KEEP, RUN, LAUNCH, SETTLE, CLOSE = b"k", b"r", b"l", b"s", b"q"
ENDED, NOT_RUN = "ended", "not run"
END_ALL = _signal.SIGUSR1

_PR_SET_DUMPABLE = 4
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36
_APART = (_signal.SIGHUP, _signal.SIGINT, _signal.SIGQUIT, _signal.SIGTERM, _signal.SIGTTOU, END_ALL)
_DEFAULT, _IGNORE = 0, 1
_SIG_SETMASK = 2
_RLIMIT_NOFILE = 7
_CLONE_NEWNS, _CLONE_NEWUSER, _CLONE_NEWPID = 0x20000, 0x10000000, 0x20000000
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REC, _MS_PRIVATE = 2, 4, 8, 1 << 14, 1 << 18
_MOST_FILES = (1 << 64) - 1
_NOT_STARTED = 126
_PATIENCE_S = 60  # how long a record is tried again while the disk is full
_REAPED_KEPT = 50
_MESSAGE_MOST = 8 << 20
_LINGER_S = 60
_KILL_PAUSE_S = 0.0002  # between two rounds of kills: what was killed needs a moment to end
# In /proc/PID/stat, counted from the state: where the command line begins and ends.
_ARGUMENTS = slice(45, 47)

_libc = ctypes.CDLL(None, use_errno=True)
_libc.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
_libc.signal.restype = ctypes.c_void_p

Spec = dict[str, object]
# Follow no link and wait for no pipe: a member can put either in the place of a file in its directory.
_NO_TRICKS = os.O_NOFOLLOW | os.O_NONBLOCK


# --- files that are written once -------------------------------------------------------------------


def write_once(path: str, text: str) -> bool:
    """Create `path` durably and whole. False, with nothing changed, when it exists already."""
    draft = f"{path}.{os.getpid()}.{_thread.get_ident()}"
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _NO_TRICKS, 0o600)
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
            return  # somebody removed the whole directory
        except OSError:
            time.sleep(1)


# --- JSON, by the parts in C that the json module is made of: the module would cost 1 MB a keeper ---


class _Strict:
    """What `json.JSONDecoder` sets by default."""

    strict = True
    object_hook = object_pairs_hook = array_hook = None
    parse_float, parse_int, parse_constant = float, int, None


_scan = _json.make_scanner(_Strict)  # type: ignore[arg-type]


def as_json(**fields: object) -> str:
    return _write_json(fields) + "\n"


def _write_json(value: object) -> str:
    if isinstance(value, str):
        return str(_json.encode_basestring_ascii(value))
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_write_json, value)) + "]"
    if isinstance(value, dict):
        pairs = (f"{_write_json(name)}: {_write_json(item)}" for name, item in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else repr(value)


# --- what identifies a process ---------------------------------------------------------------------


def start_time(pid: int) -> int:
    """Clock ticks since boot at which `pid` started: with the boot id, what a recycled pid cannot copy."""
    return int(_stat(pid)[19])


def _stat(pid: int) -> list[bytes]:
    """The fields of /proc/PID/stat from the state on."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        stat = file.read()
    return stat[stat.rindex(b")") + 2 :].split()


def boot_id() -> str:
    with open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()


def _children() -> list[int]:
    """Our own, zombies included. The kernel's lists, or, where it has none, every process of the machine."""
    me = os.getpid()
    try:
        found: list[int] = []
        for thread in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{thread}/children", "rb") as file:
                found += map(int, file.read().split())
        return found
    except FileNotFoundError:
        return [int(name) for name in os.listdir("/proc") if name.isdecimal() and _parent(int(name)) == me]


def _parent(pid: int) -> int:
    try:
        return int(_stat(pid)[1])
    except (OSError, ValueError):
        return 0


def _kill(children: list[int]) -> None:
    """Only ever our own children that were not waited for: nobody else can have their numbers."""
    for child in children:
        try:
            os.kill(child, _signal.SIGKILL)
        except OSError:
            continue  # a set-user-id program, or just waited for


# --- messages --------------------------------------------------------------------------------------


def send(connection: _socket.socket, *message: object) -> None:
    data = _write_json(message).encode()
    connection.sendall(len(data).to_bytes(8, "big") + data)


def receive(connection: _socket.socket) -> tuple[object, ...]:
    """One message; () when the other side closed the connection before it was complete, or sent another
    thing."""
    size = int.from_bytes(_receive_bytes(connection, 8), "big")
    body = _receive_bytes(connection, size) if 0 < size <= _MESSAGE_MOST else b""
    return read_message(body)


def read_message(body: bytes) -> tuple[object, ...]:
    try:
        found, end = _scan(body.decode(), 0)
    except (StopIteration, ValueError, RecursionError):
        return ()
    return tuple(found) if isinstance(found, list) and end == len(body.decode()) else ()


def _receive_bytes(connection: _socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        chunk = connection.recv(min(size - len(data), 1 << 16))
        if not chunk:
            return b""
        data += chunk
    return bytes(data)


# --- the log ---------------------------------------------------------------------------------------


class Log:
    """Output in at most four segments, each named by the offset of its first byte: the head, which
    tells how it began, and the newest three. A full disk loses output; it never blocks the member."""

    def __init__(self, home: str, limit: int) -> None:
        self._home = home
        self._segment = max(limit // 4, 1)
        self._fd = -1
        self._room = 0
        # The output of the setup of its workspace comes first.
        names = os.listdir(home) if os.path.isdir(home) else []
        numbers = [name[len(LOG_PREFIX) :] for name in names if name.startswith(LOG_PREFIX)]
        sizes = {int(number): self._size(int(number)) for number in numbers if number.isdecimal()}
        self._kept = sorted(number for number, size in sizes.items() if size is not None)
        last = self._kept[-1] if self._kept else 0
        size = sizes.get(last) or 0
        self._offset = last + size
        if self._kept and size < self._segment:  # else each part of that output would be a segment
            try:
                self._fd = os.open(self._path(last), os.O_WRONLY | os.O_APPEND | _NO_TRICKS)
                self._room = self._segment - size
            except OSError:
                pass

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def write(self, data: bytes) -> None:
        while data:
            try:
                if self._room == 0:
                    if self._fd >= 0:
                        nothing_fit = os.fstat(self._fd).st_size == 0
                        os.close(self._fd)
                        self._fd = -1
                        if nothing_fit:  # a full disk: no part that is there is given up for an empty one
                            os.unlink(self._path(self._kept.pop()))
                    if len(self._kept) == 4:
                        os.unlink(self._path(self._kept.pop(1)))
                    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _NO_TRICKS
                    self._fd = os.open(self._path(self._offset), flags, 0o600)
                    self._kept.append(self._offset)
                    self._room = self._segment
                written = os.write(self._fd, data[: self._room])
                self._room -= written
            except OSError:
                written, self._room = len(data), 0
            self._offset += written
            data = data[written:]

    def _size(self, offset: int) -> int | None:
        """Return None for a pipe or a link in the place of a part."""
        found = os.lstat(self._path(offset))
        return found.st_size if found.st_mode & 0o170000 == 0o100000 else None

    def _path(self, offset: int) -> str:
        return f"{self._home}/{LOG_PREFIX}{offset}"


def _pump(source: int, log: Log, ended: _thread.LockType) -> None:
    _signal.pthread_sigmask(_signal.SIG_BLOCK, [END_ALL])  # it has to interrupt the thread that waits
    while data := os.read(source, 16384):
        log.write(data)
    ended.release()


# --- becoming a reaper, and what runs below it -----------------------------------------------------


class _NotStarted(Exception):
    """Answered to the caller; nothing of the program has run."""


def hide_memory() -> None:
    """Let no other process of this user read our memory, environment or descriptors; root still can."""
    _libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def _become_reaper(name: str, terminal: bool = False) -> None:
    """Leave the caller's session, directory and signals; inherit orphans; let nobody read our memory."""
    for signal in _APART:
        _libc.signal(signal, _IGNORE)
    _libc.signal(_signal.SIGCHLD, _DEFAULT)
    _libc.prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)
    hide_memory()
    os.chdir("/")
    if terminal:
        _terminal(give_up=True)
    else:
        os.setsid()
    if not become_subreaper():
        raise _NotStarted(f"no subreaper: {os.strerror(ctypes.get_errno())}")


def become_subreaper() -> bool:
    """Inherit every process below this one that loses its parent."""
    return bool(_libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def _terminal(give_up: bool) -> None:
    """A terminal has one session; as long as it is the keeper's, the member cannot have it."""
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCNOTTY if give_up else termios.TIOCSCTTY, 0)


def _execute(argv: list[str], env: dict[str, str]) -> None:
    """As os.execvpe, which imports a module for it: 20 ms for each command. Returns only by raising."""
    if "/" in argv[0]:
        os.execve(argv[0], argv, env)
    failure = FileNotFoundError(errno.ENOENT, "not found")
    for directory in env.get("PATH", os.defpath).split(":"):
        try:
            os.execve(f"{directory}/{argv[0]}" if directory else argv[0], argv, env)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            failure = error  # type: ignore[assignment]
    raise failure


def _become_program(
    spec: Spec, stdio: list[int], go: int, failed: int, terminal: bool = False, reports: int = -1
) -> None:
    """In the forked child: wait for the word, then exec. Never returns."""
    try:
        if spec.get("cgroup"):
            enter_cgroup(str(spec["cgroup"]))
        if spec.get("namespace"):
            enter_namespace()
            if os.fork():
                os._exit(0)  # the keeper inherits the first process of the namespace
            _be_init(reports)
        os.setsid()
        # What is ignored or blocked stays so across an exec: our own, tmux's, and the engine's.
        for signal in range(1, 32):
            _libc.signal(signal, _DEFAULT)
        _libc.sigprocmask(_SIG_SETMASK, ctypes.create_string_buffer(128), None)
        if terminal:
            _terminal(give_up=False)
        for number, fd in enumerate(stdio):
            os.dup2(fd, number)
        # The engine may have more files open than most programs can stand; what it had itself is enough. A
        # tmux server that was started with less cannot give as much.
        soft = int(str(spec["files"]))
        limits = (ctypes.c_ulong * 2)()
        _libc.getrlimit(_RLIMIT_NOFILE, limits)
        if not 0 <= soft <= _MOST_FILES:
            raise OSError(errno.EINVAL, "not a number of files")
        limits[0] = min(soft, limits[1])
        if _libc.setrlimit(_RLIMIT_NOFILE, limits) != 0:
            raise OSError(ctypes.get_errno(), "setrlimit")
        if os.read(go, 1) == b"g":
            argv: list[str] = spec["argv"]  # type: ignore[assignment]
            env: dict[str, str] = spec["env"]  # type: ignore[assignment]
            os.chdir(str(spec["cwd"]))
            _execute(argv, env)
    except OSError as error:
        os.write(failed, (error.errno or errno.EIO).to_bytes(4, "big"))
    except ValueError:  # a NUL in a word
        os.write(failed, errno.EINVAL.to_bytes(4, "big"))
    finally:
        os._exit(_NOT_STARTED)


def enter_cgroup(path: str) -> None:
    """Move this process, and with it all that it starts from now on."""
    fd = os.open(f"{path}/cgroup.procs", os.O_WRONLY)
    os.write(fd, b"0")
    os.close(fd)


def enter_namespace() -> None:
    """Let the next child be the first process of a PID namespace, with mounts of its own.

    Root needs no user namespace for it. Others get one in which they are who they are, so that files keep
    their owner; and the kernel lets only a dumpable process describe it.
    """
    if _libc.unshare(_CLONE_NEWPID | _CLONE_NEWNS) != 0:
        user, group = os.getuid(), os.getgid()
        if _libc.unshare(_CLONE_NEWUSER | _CLONE_NEWPID | _CLONE_NEWNS) != 0:
            raise OSError(ctypes.get_errno(), "unshare")
        _libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)
        same_user, same_group = f"{user} {user} 1", f"{group} {group} 1"
        for name, text in (("setgroups", "deny"), ("uid_map", same_user), ("gid_map", same_group)):
            fd = os.open(f"/proc/self/{name}", os.O_WRONLY)
            os.write(fd, text.encode())
            os.close(fd)
        hide_memory()
    if _libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None) != 0:
        raise OSError(ctypes.get_errno(), "mount /")


def _be_init(reports: int) -> None:
    """The first process of a namespace, in a forked child: show its own processes in /proc, fork, and in the
    first process wait until nothing is left. Returns in the second process, which becomes the member."""
    if _libc.mount(b"proc", b"/proc", b"proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC, None) != 0:
        raise OSError(ctypes.get_errno(), "mount /proc")
    program = os.fork()
    if program == 0:
        return
    os.closerange(0, reports)
    os.closerange(reports + 1, 256)
    os.write(reports, b"s")
    while True:
        try:
            pid, status = os.waitpid(-1, 0)
        except ChildProcessError:
            os._exit(0)
        if pid == program:
            os.write(reports, status.to_bytes(4, "big"))


class _Program:
    """A forked child that has not run its program yet."""

    def __init__(self, spec: Spec, stdio: list[int], terminal: bool = False) -> None:
        go_read, self._go = os.pipe()
        self._failed, failed_write = os.pipe()
        self.reports, reports_write = os.pipe() if spec.get("namespace") else (-1, -1)
        self.init = 0
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._go)
            _become_program(spec, stdio, go_read, failed_write, terminal, reports_write)
        os.close(go_read)
        os.close(failed_write)
        if spec.get("namespace"):
            os.close(reports_write)
            # Two forks later: the first process of the namespace, and below it the program, by our numbers.
            started = os.read(self.reports, 1)
            os.waitpid(self.pid, 0)
            if not started:
                failure = int.from_bytes(os.read(self._failed, 4), "big") or errno.EIO
                raise OSError(failure, f"no namespace: {os.strerror(failure)}")
            (self.init,) = _children()
            with open(f"/proc/{self.init}/task/{self.init}/children", "rb") as file:
                self.pid = int(file.read())

    def let_go(self) -> int:
        """Let it run; 0, or the error number with which it could not."""
        try:
            os.write(self._go, b"g")
        except BrokenPipeError:
            pass  # it has failed already, and says why
        finally:
            self.drop()
        failure = os.read(self._failed, 4)
        os.close(self._failed)
        return int.from_bytes(failure, "big")

    def drop(self) -> None:
        """Without the word it ends, and has not run."""
        os.close(self._go)


# --- the keeper of a member ------------------------------------------------------------------------


def _environment_of_pane(spec: Spec) -> list[str]:
    """The terminal's kind for the member; where it is, for the record: [pane, session, server pid]."""
    env: dict[str, str] = spec["env"]  # type: ignore[assignment]
    env["TERM"] = os.environ.get("TERM", "screen")
    _, server, session = os.environ["TMUX"].rsplit(",", 2)
    return [os.environ["TMUX_PANE"], f"${session}", server]


class Keeper:
    def __init__(self, spec: Spec, terminal: bool) -> None:
        self.spec = spec
        self.home = str(spec["home"])
        self.terminal = terminal
        self.member = 0
        self.record: Spec = {}
        self._error = ""
        self._ending = False
        self._init = 0
        self._reported = _thread.allocate_lock()
        self._reported.acquire()
        self._reaped: list[list[int]] = []
        self._reaped_count = 0

    def start(self) -> str:
        """Start the member; "", or why its program could not be run."""
        place = _environment_of_pane(self.spec) if self.terminal else []
        _become_reaper(KEEPER, self.terminal)
        _signal.signal(END_ALL, self._end_all)
        program = _Program(self.spec, self._open_stdio(), self.terminal)
        self.member, self._init = program.pid, program.init
        nothing = os.open("/dev/null", os.O_RDWR)
        for number in range(3):
            os.dup2(nothing, number)
        os.close(nothing)
        # Not before the fork: a thread does not survive one.
        _thread.start_new_thread(_pump, (self._source, self._log, self._pumped))
        if self._init:
            _thread.start_new_thread(self._await_report, (program.reports,))
        try:
            self._write_record(place)
        except BaseException:
            program.drop()
            raise
        failure = program.let_go()
        self._error = os.strerror(failure) if failure else ""
        return self._error

    def _open_stdio(self) -> list[int]:
        """The output FIFO is open for both directions everywhere, so that a member whose keeper was
        killed is not killed by its next line of output."""
        self._output = os.open(f"{self.home}/{OUTPUT}", os.O_RDWR)
        self._pumped = _thread.allocate_lock()
        self._pumped.acquire()
        self._source = os.open(f"{self.home}/{OUTPUT}", os.O_RDONLY)
        self._log = Log(self.home, int(str(self.spec["log_limit"])))
        if self.terminal:
            return []
        if self.spec["stdin"]:
            os.open(f"{self.home}/{STDIN}", os.O_RDWR)  # held open: the member sees no end of file
            stdin = os.open(f"{self.home}/{STDIN}", os.O_RDONLY)
        else:
            stdin = os.open("/dev/null", os.O_RDONLY)
        return [stdin, self._output, self._output]

    def _write_record(self, place: list[str]) -> None:
        me = os.getpid()
        self.record = {
            "mark": self.spec["mark"],
            "pid": self.member,
            "start": start_time(self.member),
            "keeper": me,
            "keeper_start": start_time(me),
            "boot": boot_id(),
            "at": time.time(),
            "place": place,
        }
        if self._init:
            self.record |= {"init": self._init, "init_start": start_time(self._init)}
        if not write_once(f"{self.home}/{PROCESS}", as_json(**self.record)):
            raise _NotStarted("it was started, or called off, before")

    def _await_report(self, reports: int) -> None:
        """In a namespace the member is not our child: its first process tells how it ended."""
        _signal.pthread_sigmask(_signal.SIG_BLOCK, [END_ALL])
        told = os.read(reports, 4)
        self._record_exit(int.from_bytes(told, "big") if told else _signal.SIGKILL)
        self._reported.release()

    def _end_all(self, number: int, frame: object) -> None:
        self._ending = True
        _kill(_children())

    def wait_until_empty(self) -> None:
        """waitpid fails with ECHILD only when nothing that the member started is left below us."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG if self._ending else 0)
            except ChildProcessError:
                break
            if pid == 0:
                _kill(_children())
                time.sleep(_KILL_PAUSE_S)
            elif pid == self.member:
                self._record_exit(status)
            elif pid != self._init:
                self._reaped_count += 1
                self._reaped = [*self._reaped[1 - _REAPED_KEPT :], [pid, status]]
        if self._init:
            self._reported.acquire(True, _PATIENCE_S)
        os.close(self._output)
        self._pumped.acquire(True, 1.0)
        reaped, seal = self._reaped, self.spec["seal"]
        empty = as_json(at=time.time(), count=self._reaped_count, reaped=reaped, seal=seal)
        _write_patiently(f"{self.home}/{EMPTY}", empty)

    def _record_exit(self, status: int) -> None:
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
        signal = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        text = as_json(pid=self.member, code=code, signal=signal, at=time.time(), error=self._error)
        _write_patiently(f"{self.home}/{EXIT}", text)


def keep(connection: _socket.socket, terminal: bool) -> None:
    """The life of one keeper."""
    order = receive(connection)
    if not order:
        return  # the caller is gone, and its order with it
    keeper = Keeper(order[0], terminal)  # type: ignore[arg-type]
    del order
    if not terminal:
        # In the place of the server's own command line. Whoever cannot read our descriptors finds us by
        # this. The kernel shows it up to its end, and no further, because the last byte of the place is not
        # zero.
        title = f"{KEEPER} {keeper.home}"
        begin, end = (int(field) for field in _stat(os.getpid())[_ARGUMENTS])
        room = end - begin
        if begin and len(shown := os.fsencode(title)) < room - 1:
            ctypes.memmove(begin, shown.ljust(room - 1, b"\0") + b"-", room)
    try:
        error = keeper.start()
    except (_NotStarted, OSError) as why:
        _answer(connection, f"not started: {why}")
        return
    keeper.spec = {"seal": keeper.spec["seal"]}  # its environment holds a token: needed no longer
    if not error:
        _answer(connection, "started", keeper.record)
    try:
        keeper.wait_until_empty()
    except Exception as fault:
        write_once(f"{keeper.home}/{FAULT}", f"{fault!r}\n")
        raise
    if error:  # after the records, so that the caller can read them then
        _answer(connection, f"not started: {error}")


def _answer(connection: _socket.socket, *message: object) -> None:
    """If the caller has died, the record tells the next one."""
    try:
        send(connection, *message)
    except OSError:
        pass
    connection.close()


# --- the reaper of a command -----------------------------------------------------------------------


def run_command(connection: _socket.socket, stdio: list[int]) -> None:
    """Run one command, report how it ended, and leave nothing of it."""
    _become_reaper(COMMAND)
    order = receive(connection)
    if not order:
        return
    spec: dict[str, object] = order[0]  # type: ignore[assignment]
    _libc.prctl(_PR_SET_NAME, str(spec["name"]).encode(), 0, 0, 0)
    program = _Program(spec, stdio)
    for fd in stdio:
        os.close(fd)
    failure = program.let_go()
    _wait_for_either(program.pid, connection.fileno())
    status = _end_everything(program.pid)
    if failure:
        _answer(connection, NOT_RUN, failure)
    else:
        _answer(connection, ENDED, status)


def _wait_for_either(command: int, connection: int) -> None:
    """Until it has ended, or until the caller gave it up or died."""
    ended = os.pidfd_open(command)
    waiting = select.poll()
    for fd in (ended, connection):
        waiting.register(fd, select.POLLIN)
    waiting.poll()
    os.close(ended)


def _end_everything(command: int) -> int:
    """Kill until nothing is below us; the wait status of the command itself."""
    status = 0
    while True:
        try:
            pid, how = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status
        if pid == command:
            status = how
        if pid == 0:
            _kill(_children())
            time.sleep(_KILL_PAUSE_S)


def launch(connection: _socket.socket, stdio: list[int]) -> None:
    """Run a program that makes a daemon of itself (the tmux server), and report how its first process ended.
    The daemon becomes a child of the server above us, because this process is not a subreaper."""
    order = receive(connection)
    if not order:
        return
    program = _Program(order[0], stdio)  # type: ignore[arg-type]
    failure = program.let_go()
    _, status = os.waitpid(program.pid, 0)
    _answer(connection, *((NOT_RUN, failure) if failure else (ENDED, status)))


# --- the server that forks them --------------------------------------------------------------------


class _Server:
    """Forks a reaper for each request: one byte that says which, its connection, and its standard files."""

    def __init__(self, control: _socket.socket, ends_orphans: bool) -> None:
        self._control = control
        self._ends_orphans = ends_orphans
        self._dismissed = False
        self._forked: set[int] = set()
        self._settling: list[_socket.socket] = []
        self._woken, waker = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(waker, False)
        _signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        _signal.signal(_signal.SIGCHLD, lambda number, frame: None)
        self._waker = waker

    def run(self) -> None:
        """Until the caller is gone and nothing is below us. Unless the caller saw that nothing is, its
        successor has a while to do so: from a process that has ended it cannot learn it."""
        waiting = select.poll()
        waiting.register(self._woken, select.POLLIN)
        waiting.register(self._control.fileno(), select.POLLIN)
        open_control = True
        while open_control or self._has_children():
            ready = dict(waiting.poll(10 if self._settling else None))
            if self._woken in ready:
                try:
                    while os.read(self._woken, 512):
                        pass
                except BlockingIOError:
                    pass
            if self._control.fileno() in ready and not self._take_request():
                waiting.unregister(self._control.fileno())
                open_control = False
            self._reap()
        if not self._dismissed and not self._ends_orphans:
            time.sleep(_LINGER_S)

    def _has_children(self) -> bool:
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            return True
        except ChildProcessError:
            return False

    def _take_request(self) -> bool:
        data, ancillary, _, _ = self._control.recvmsg(1, _socket.CMSG_SPACE(4 * 4), _socket.MSG_CMSG_CLOEXEC)
        raw = b"".join(item[2] for item in ancillary)
        fds = [int.from_bytes(raw[at : at + 4], sys.byteorder) for at in range(0, len(raw), 4)]
        if not data or data == CLOSE:
            self._dismissed = bool(data) and not self._has_children()
            return False
        connection = _socket.socket(fileno=fds[0])
        if data == SETTLE:
            self._settling.append(connection)
            return True
        pid = os.fork()
        if pid == 0:
            stdio = fds[1:]
            try:
                _signal.set_wakeup_fd(-1)
                for settling in self._settling:
                    settling.close()
                self._control.close()
                os.close(self._woken)
                os.close(self._waker)
                if data == KEEP:
                    keep(connection, terminal=False)
                elif data == RUN:
                    run_command(connection, stdio)
                else:
                    launch(connection, stdio)
            finally:
                os._exit(0)
        self._forked.add(pid)
        connection.close()
        for fd in fds[1:]:
            os.close(fd)
        return True

    def _reap(self) -> None:
        try:
            while (pid := os.waitpid(-1, os.WNOHANG)[0]) != 0:
                self._forked.discard(pid)
        except ChildProcessError:
            pass
        if not self._ends_orphans:
            return
        orphans = [child for child in _children() if child not in self._forked]
        _kill(orphans)
        if not orphans:
            while self._settling:
                _answer(self._settling.pop(), ENDED)


def serve(control: int, ends_orphans: bool) -> None:
    """Fork reapers for the process at the other end of `control`, in a session of our own."""
    if os.fork():
        os._exit(0)
    gc.disable()  # a collection would write to, and so unshare, every page
    _become_reaper(COMMANDS if ends_orphans else SERVER)
    connection = _socket.socket(fileno=control)
    connection.sendmsg([_write_json((os.getpid(), start_time(os.getpid()))).encode()])
    _Server(connection, ends_orphans).run()


def main(arguments: list[str]) -> None:
    if arguments[0] == "terminal":
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        directory = os.open(arguments[1], os.O_RDONLY | os.O_DIRECTORY)
        connection.connect(f"/proc/self/fd/{directory}/{START}")  # a path of any length
        os.close(directory)
        keep(connection, terminal=True)
    else:
        serve(int(arguments[1]), ends_orphans=arguments[0] == "commands")
