"""The members of bench/containment.py, as `containment_agent.py SHAPE TOKEN`. All that they start has TOKEN
in its command line. They import nothing of headcount."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time


def again(shape: str, token: str, env: dict[str, str]) -> None:
    os.execve(sys.executable, [sys.executable, "-I", "-S", os.path.abspath(__file__), shape, token], env)


def idle() -> None:
    open("ready", "w").close()
    while True:
        time.sleep(60)


def leave(token: str, env: dict[str, str], setsid: bool = True, twice: bool = True) -> None:
    if os.fork() == 0:
        if setsid:
            os.setsid()
        if twice and os.fork():
            os._exit(0)
        again("idle", token, env)


def chain() -> None:
    if os.fork() == 0:
        os.setsid()
        while os.fork() == 0:
            time.sleep(0.001)
        os._exit(0)


def leave_cgroup() -> None:
    """Out of its own cgroup into the one above, as a process of the same user may."""
    with open("/proc/self/cgroup") as file:
        path = next((line[3:].strip() for line in file if line.startswith("0::")), "/")
    for mount in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
        if path != "/" and os.path.exists(f"{mount}{path}/cgroup.kill"):
            with open(f"{mount}{os.path.dirname(path)}/cgroup.procs", "w") as procs:
                procs.write("0")


def agent(shape: str, token: str) -> None:
    env = dict(os.environ)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    match shape:
        case "plain child":
            leave(token, env, setsid=False, twice=False)
        case "setsid":
            leave(token, env, twice=False)
        case "double fork" | "engine killed":
            leave(token, env)
        case "scrubbed daemon" | "keeper stopped" | "keeper killed later" | "keeper and subreaper killed":
            leave(token, {})
        case "fork chain":
            chain()
        case "keeper killed, scrubbed daemon":
            os.kill(os.getppid(), signal.SIGKILL)
            leave(token, {})
        case "keeper killed, fork chain":
            os.kill(os.getppid(), signal.SIGKILL)
            if os.fork() == 0:
                again("fork chain", token, {})
        case "left its cgroup" | "left its cgroup, keeper and subreaper killed":
            leave_cgroup()
            leave(token, {})
        case "zombie leader" | "zombie leader, keeper killed":
            if os.fork() == 0:
                again("dead main thread", token, {})
        case "dead main thread":
            threading.Thread(target=idle).start()
            ctypes.CDLL(None).pthread_exit(None)
        case "own tmux server":
            words = [sys.executable, "-I", "-S", os.path.abspath(__file__), "idle", token]
            subprocess.run(
                ["tmux", "-S", "own.sock", "-f", "/dev/null", "new-session", "-d", *words], check=True
            )
    idle()


if __name__ == "__main__":
    agent(sys.argv[1], sys.argv[2])
