"""Processes that are hard to end, and writers that do not stop: what scripted agents start.

Every process carries a token in its arguments or holds a lock on a file, most do both. An inherited
descriptor keeps the lock through fork, exec, a new name and an empty environment, so an observer that cannot
take the lock knows that one of them is alive. Each process ends by itself after
`LIFE_S`. Standard library only.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from .ledger import Ledger, blob_id

LIFE_S = 240.0
_BORN = time.monotonic()
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36
_SYS_EXIT = {"x86_64": 60, "aarch64": 93}
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_START = (
    "import sys; from importlib import import_module; sys.path.insert(0, sys.argv[1]);"
    "import_module('bench.campaign.' + sys.argv[2]).main(*sys.argv[3:])"
)


def command(module: str, *words: str) -> list[str]:
    """Return the command that runs `main` of a module of this package, in any directory and environment."""
    return [sys.executable, "-S", "-c", _START, _ROOT, module, *words]


class Post(NamedTuple):
    """Where an agent starts its strays from."""

    token: str
    member: str
    locks: str  # directory of lock files
    side: str  # scratch directory outside the repository
    ledger: Ledger

    def lock(self, kind: str) -> str:
        return f"{self.locks}/{self.member}-{kind}"

    def command(self, role: str, kind: str) -> list[str]:
        return command("strays", role, self.token, self.lock(kind))


def hold(lock: str) -> int:
    """Lock the file for as long as any copy of the returned descriptor is open."""
    fd = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
    os.set_inheritable(fd, True)
    fcntl.flock(fd, fcntl.LOCK_EX)
    return fd


def ignore_signals() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)


def idle() -> None:
    while time.monotonic() - _BORN < LIFE_S:
        time.sleep(0.5)


def wait_held(lock: str, limit_s: float = 15.0) -> None:
    """Return when another process holds the lock: what was started is up."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        fd = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        finally:
            os.close(fd)
        time.sleep(0.01)


def _quiet(words: list[str], environment: dict[str, str] | None = None, session: bool = False) -> None:
    nothing = subprocess.DEVNULL
    subprocess.Popen(
        words, stdin=nothing, stdout=nothing, stderr=nothing, env=environment, start_new_session=session
    )


def _daemon(words: list[str], environment: dict[str, str] | None = None) -> None:
    """Start a program as daemons do: two forks, a session of its own, no descriptor, directory /."""
    pid = os.fork()
    if pid == 0:
        os.setsid()
        if os.fork() == 0:
            os.chdir("/")
            os.closerange(0, 256)
            for _ in range(3):
                os.open(os.devnull, os.O_RDWR)
            os.execve(words[0], words, dict(os.environ) if environment is None else environment)
        os._exit(0)
    os.waitpid(pid, 0)


# --- how an agent starts them ---------------------------------------------------------------------------


def child(post: Post) -> None:
    _quiet(post.command("sleeper", "child"))
    wait_held(post.lock("child"))


def holds_output(post: Post) -> None:
    """A child that keeps the agent's own output open."""
    subprocess.Popen(post.command("sleeper", "output"))
    wait_held(post.lock("output"))


def setsid(post: Post) -> None:
    _quiet(post.command("sleeper", "setsid"), session=True)
    wait_held(post.lock("setsid"))


def double_fork(post: Post) -> None:
    _daemon(post.command("sleeper", "double"))
    wait_held(post.lock("double"))


def scrubbed(post: Post) -> None:
    _daemon(post.command("sleeper", "scrubbed"), environment={})
    wait_held(post.lock("scrubbed"))


def renamed(post: Post) -> None:
    """A process of another program and name, without an environment; only the lock betrays it."""
    script = f'exec 9>>"{post.lock("renamed")}"; flock 9; exec -a sshd sleep {LIFE_S:.0f}'
    _daemon(["/bin/bash", "-c", script], environment={"PATH": "/usr/bin:/bin"})
    wait_held(post.lock("renamed"))


def chain(post: Post) -> None:
    _quiet(post.command("chain", "chain"), session=True)
    wait_held(post.lock("chain"))


def stopped(post: Post) -> None:
    _quiet(post.command("stopped", "stopped"), session=True)
    wait_held(post.lock("stopped"))


def breeder(post: Post) -> None:
    _quiet(post.command("breeder", "breeder"))
    wait_held(post.lock("breeder"))


def zombie_leader(post: Post) -> None:
    """The first thread has exited and another one works on: /proc shows a zombie without an environment."""
    _quiet(post.command("zombie_leader", "leader"), session=True)
    wait_held(post.lock("leader"))


def subreaper(post: Post) -> None:
    _quiet(post.command("subreaper", "subreaper"))
    wait_held(post.lock("subreaper"))


def undumpable(post: Post) -> None:
    _quiet(post.command("undumpable", "undumpable"), session=True)
    wait_held(post.lock("undumpable"))


def inner_namespace(post: Post) -> None:
    """A process in a PID namespace of its own, as sandboxes make them."""
    _quiet(["unshare", "--user", "--map-root-user", "--pid", "--fork", *post.command("sleeper", "namespace")])
    wait_held(post.lock("namespace"), 3)


def leaves_cgroup(post: Post) -> None:
    """A daemon that moves itself to the root of the cgroup tree, where that is allowed."""
    _daemon(post.command("leaves_cgroup", "cgroup"), environment={})
    wait_held(post.lock("cgroup"))


def on_term(post: Post) -> None:
    """Starts its daemon only when it is told to end."""

    def ended(number: int, frame: object) -> None:
        _daemon(post.command("sleeper", "term"), environment={})
        os._exit(0)

    signal.signal(signal.SIGTERM, ended)


def ignores_term(post: Post) -> None:
    ignore_signals()


def kills_keeper(post: Post) -> None:
    """A daemon without a mark, and then SIGKILL to every process above that is headcount's."""
    scrubbed(post)
    _kill_keepers()


def forges_proof(post: Post) -> None:
    """As `kills_keeper`, and then writes the records from which an end could be concluded."""
    scrubbed(post)
    _kill_keepers()
    home = f"{os.environ.get('HEADCOUNT_HOME', '')}/run/{os.environ.get('HEADCOUNT_MARK', '')}"
    for name in ("empty.json", "exit.json"):
        try:
            with open(f"{home}/{name}", "w") as file:
                file.write('{"at": 1.0, "count": 0, "code": 0, "reaped": []}')
        except OSError:
            continue


def _kill_keepers() -> None:
    pid = os.getppid()
    while pid > 1:
        try:
            with open(f"/proc/{pid}/stat") as file:
                stat = file.read()
        except OSError:
            return
        above = int(stat[stat.rindex(")") + 2 :].split()[1])
        if stat[stat.index("(") + 1 :].startswith("hc-"):
            os.kill(pid, signal.SIGKILL)
        pid = above


def own_tmux(post: Post) -> None:
    """A server in the background, as agents start them: on whatever tmux the environment names."""
    server = shlex.join(post.command("sleeper", "tmux"))
    subprocess.run(["tmux", "new-session", "-d", "-s", f"dev-{post.member}", server], capture_output=True)
    wait_held(post.lock("tmux"), 3)


# --- code that headcount's own git may run --------------------------------------------------------------


def _starter(post: Post, kind: str, body: str) -> str:
    """Write a script that starts a daemon in the background, at most once, and then runs `body`."""
    path = f"{post.side}/{kind}"
    words = shlex.join(post.command("sleeper", kind))
    text = f"#!/bin/bash\n(setsid {words} </dev/null >/dev/null 2>&1 &)\n{body}\n"
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, 0o755)
    return path


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], check=True, capture_output=True, text=True).stdout.strip()


def _attribute(line: str) -> None:
    """Set an attribute for the whole repository; no file in the workspace changes."""
    place = _git("rev-parse", "--git-common-dir") + "/info"
    os.makedirs(place, exist_ok=True)
    with open(place + "/attributes", "a") as file:
        file.write(line + "\n")


def filter_daemon(post: Post) -> None:
    _git("config", f"filter.{post.member}.clean", _starter(post, "filter", "exec cat"))
    _attribute(f"*.txt filter={post.member}")
    post.ledger.write("filtered.txt", f"filtered, {post.token}\n".encode())
    os.utime("a.txt")


def process_filter(post: Post) -> None:
    """A filter that git keeps running (`filter.X.process`) and that does not follow its protocol."""
    _git("config", f"filter.{post.member}.process", _starter(post, "process", "exec cat >/dev/null"))
    _attribute(f"*.md filter={post.member}")
    post.ledger.write("processed.md", f"processed, {post.token}\n".encode())


def fsmonitor_daemon(post: Post) -> None:
    _git("config", "core.fsmonitor", _starter(post, "fsmonitor", "printf 'token\\0/\\0'"))


def hook_daemons(post: Post) -> None:
    """Hooks of every kind that plumbing and porcelain may run."""
    hooks = f"{post.side}/hooks"
    os.makedirs(hooks)
    script = _starter(post, "hook", "exit 0")
    names = (
        "reference-transaction",
        "post-checkout",
        "post-index-change",
        "pre-auto-gc",
        "post-commit",
        "post-merge",
    )
    for name in names:
        os.symlink(script, f"{hooks}/{name}")
    _git("config", "core.hooksPath", hooks)


def merge_driver(post: Post) -> None:
    body = 'exec git merge-file -q --union "$1" "$2" "$3"'
    _git("config", "merge.fmt.driver", _starter(post, "driver", body) + " %A %O %B")


# --- writers --------------------------------------------------------------------------------------------


def writer(post: Post) -> None:
    """Writes new files and replaces one, from a daemon, until it is killed."""
    _quiet([*post.command("writer", "writer"), post.ledger.path], session=True)
    wait_held(post.lock("writer"))


def mapper(post: Post) -> None:
    """Writes to a mapped page that was dirty before the commit: no time and no size changes."""
    _quiet([*post.command("mapper", "mapper"), post.ledger.path], session=True)
    deadline = time.monotonic() + 20
    while not os.path.exists(post.lock("mapper") + ".ready") and time.monotonic() < deadline:
        time.sleep(0.05)


def last_words(post: Post) -> None:
    """Writes a file when it is told to end, then ends."""

    def ended(number: int, frame: object) -> None:
        post.ledger.write("last-words.txt", f"last words of {post.token}\n".encode())
        os._exit(0)

    signal.signal(signal.SIGTERM, ended)


# --- the processes themselves ---------------------------------------------------------------------------


def _sleeper(token: str, lock: str) -> None:
    ignore_signals()
    hold(lock)
    idle()


def _chain(token: str, lock: str) -> None:
    """Forks and exits every few milliseconds; a counter in LOCK.beat shows that it goes on."""
    ignore_signals()
    hold(lock)
    beat = os.open(lock + ".beat", os.O_WRONLY | os.O_CREAT, 0o644)
    count = 0
    stop = os.path.dirname(lock) + "/stop"
    while time.monotonic() - _BORN < LIFE_S and not os.path.exists(stop):
        if os.fork():
            os._exit(0)
        count += 1
        os.pwrite(beat, b"%12d" % count, 0)
        time.sleep(0.001)


def _stopped(token: str, lock: str) -> None:
    ignore_signals()
    hold(lock)
    os.kill(os.getpid(), signal.SIGSTOP)
    idle()


def _breeder(token: str, lock: str) -> None:
    """Two more for each SIGTERM, up to a limit."""
    hold(lock)
    generation = 0

    def more(number: int, frame: object) -> None:
        nonlocal generation
        if generation < 3:
            generation += 1
            for _ in range(2):
                if os.fork() == 0:
                    os.setsid()

    signal.signal(signal.SIGTERM, more)
    idle()


def _zombie_leader(token: str, lock: str) -> None:
    ignore_signals()
    hold(lock)
    threading.Thread(target=idle).start()
    number = _SYS_EXIT.get(os.uname().machine)
    if number is not None:
        ctypes.CDLL(None).syscall(number, 0)
    idle()


def _subreaper(token: str, lock: str) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    if os.fork() == 0 and os.fork() == 0:
        os.setsid()
    ignore_signals()
    hold(lock)
    idle()


def _undumpable(token: str, lock: str) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    ignore_signals()
    hold(lock)
    idle()


def _leaves_cgroup(token: str, lock: str) -> None:
    for root in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
        try:
            with open(f"{root}/cgroup.procs", "w") as file:
                file.write("0")
        except OSError:
            continue
    _sleeper(token, lock)


def _writer(token: str, lock: str, ledger_path: str) -> None:
    ignore_signals()
    hold(lock)
    ledger = Ledger(ledger_path)
    os.makedirs("stream", exist_ok=True)
    number = 0
    while time.monotonic() - _BORN < LIFE_S and number < 3000:
        number += 1
        ledger.write(f"stream/{number}.txt", f"{number} of {token}\n".encode())
        ledger.write("stream/last.txt", f"the last is {number} of {token}\n".encode())
        time.sleep(0.02)


def _mapper(token: str, lock: str, ledger_path: str) -> None:
    ignore_signals()
    hold(lock)
    ledger = Ledger(ledger_path)
    with open("mapped.bin", "wb") as made:
        made.write(b"x" * 8192)
    subprocess.run(["git", "add", "mapped.bin"], capture_output=True)
    with open("mapped.bin", "r+b") as file, mmap.mmap(file.fileno(), 0) as page:
        page[0:4] = b"DATA"
        time.sleep(1.1)
        subprocess.run(["git", "commit", "-q", "-m", "a page", "--", "mapped.bin"], capture_output=True)
        time.sleep(1.1)
        content = f"mapped by {token}\n".encode()
        page[0 : len(content)] = content
        ledger.add("did", slot="mapped.bin", oid=blob_id(bytes(page)))
        with open(lock + ".ready", "w"):
            pass
        idle()


STARTS: dict[str, Callable[[Post], None]] = {
    start.__name__: start
    for start in (
        child, holds_output, setsid, double_fork, scrubbed, renamed, chain, stopped, breeder, zombie_leader,
        subreaper, undumpable, inner_namespace, leaves_cgroup, on_term, ignores_term, kills_keeper,
        forges_proof, own_tmux, filter_daemon, process_filter, fsmonitor_daemon, hook_daemons, merge_driver,
        writer, mapper,
        last_words,
    )
}  # fmt: skip
WRITERS = ("writer", "mapper", "last_words", "filter_daemon", "process_filter")
ROLES: dict[str, Callable[..., None]] = {
    "sleeper": _sleeper,
    "chain": _chain,
    "stopped": _stopped,
    "breeder": _breeder,
    "zombie_leader": _zombie_leader,
    "subreaper": _subreaper,
    "undumpable": _undumpable,
    "leaves_cgroup": _leaves_cgroup,
    "writer": _writer,
    "mapper": _mapper,
}


def main(role: str, *words: str) -> None:
    ROLES[role](*words)
