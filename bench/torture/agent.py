"""An agent that is hard to end and leaves work lying around: `agent.py SHAPE TOKEN READY_FILE`.

In its working directory, a git worktree, it makes one piece of work of each kind. Then it becomes its shape.
All that it starts has TOKEN in its command line, so that survivors are counted without asking anybody.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

KINDS = ("committed", "stashed", "staged", "modified", "untracked")
SHAPES = ("polite", "ignores-term", "stubborn-child", "setsid-child", "double-forked", "re-spawning")
_GIT = ("git", "-c", "user.name=agent", "-c", "user.email=agent@localhost", "-c", "commit.gpgSign=false")


def content(kind: str, token: str) -> str:
    return f"{kind} by {token}\n"


def work(token: str) -> None:
    _write("file.txt", content("committed", token))
    _git("add", "file.txt")
    _git("commit", "--quiet", "--message", "work that is on no other branch")
    _write("file.txt", content("stashed", token))
    _git("stash", "push", "--quiet")
    _write("file.txt", content("staged", token))
    _git("add", "file.txt")
    _write("file.txt", content("modified", token))
    _write("notes.txt", content("untracked", token))


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def _git(*words: str) -> None:
    subprocess.run([*_GIT, *words], check=True)


def ignore_signals() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)


def child(token: str, **how: bool) -> None:
    nothing = subprocess.DEVNULL
    subprocess.Popen(
        [sys.executable, __file__, "survivor", token], stdin=nothing, stdout=nothing, stderr=nothing, **how
    )


def double_fork(token: str) -> None:
    """As daemons do."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.chdir("/")
            os.closerange(0, 64)
            for _ in range(3):
                os.open(os.devnull, os.O_RDWR)
            os.execv(sys.executable, [sys.executable, __file__, "survivor", token])
        os._exit(0)
    os.wait()


def respawn(token: str) -> None:
    """Whoever of the two ends, the other starts it again, in a session of its own."""
    ignore_signals()
    while True:
        pid = os.fork()
        if pid == 0:
            os.setsid()
            os.execv(sys.executable, [sys.executable, __file__, "watcher", token, str(os.getppid())])
        os.waitpid(pid, 0)


def watch(token: str, parent: str) -> None:
    ignore_signals()
    while os.path.exists(f"/proc/{parent}"):
        time.sleep(0.02)
    os.execv(sys.executable, [sys.executable, __file__, "pair", token])


def become(shape: str, token: str) -> None:
    if shape == "ignores-term":
        ignore_signals()
    elif shape == "stubborn-child":
        child(token)
    elif shape == "setsid-child":
        child(token, start_new_session=True)
    elif shape == "double-forked":
        double_fork(token)


def main(shape: str, token: str, third: str = "") -> None:
    if shape == "survivor":
        ignore_signals()
    elif shape == "watcher":
        watch(token, third)
    elif shape == "pair":
        respawn(token)
    else:
        work(token)
        become(shape, token)
        time.sleep(0.3)  # whom it started must have got to ignoring signals
        _write(third, "")
        if shape == "re-spawning":
            respawn(token)
    while True:
        time.sleep(60)


if __name__ == "__main__":
    main(*sys.argv[1:])
