"""Agents that are hard to end, as `shapes.py SHAPE TOKEN`. All that they start has TOKEN in its command
line, so that a test can count the survivors without asking the code that it tests."""

import os
import signal
import sys
import time


def ignore_polite_signals() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)


def idle(token: str) -> None:
    ready(token)
    while True:
        time.sleep(60)


def ready(token: str) -> None:
    print("ready", flush=True)


def run_again(shape: str, token: str, env: dict[str, str]) -> None:
    os.execve(sys.executable, [sys.executable, "-I", "-S", os.path.abspath(__file__), shape, token], env)


def daemonize(token: str, env: dict[str, str]) -> None:
    """As daemons do: fork, setsid, fork, new directory, no descriptors; and exec, with `env`."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.chdir("/")
            os.closerange(0, 64)
            for _ in range(3):
                os.open("/dev/null", os.O_RDWR)
            run_again("stubborn", token, env)
        os._exit(0)
    os.wait()


def polite(token: str) -> None:
    idle(token)


def stubborn(token: str) -> None:
    ignore_polite_signals()
    idle(token)


def daemon(token: str) -> None:
    daemonize(token, dict(os.environ))
    idle(token)


def scrubbed_daemon(token: str) -> None:
    daemonize(token, {})
    idle(token)


def leaver(token: str) -> None:
    """Leaves a daemon behind and exits."""
    daemonize(token, {})
    ready(token)


def scrubbed_child(token: str) -> None:
    if os.fork() == 0:
        run_again("stubborn", token, {})
    idle(token)


def respawner(token: str) -> None:
    """Two that start each other again as soon as one is killed, in ever new sessions."""
    ignore_polite_signals()
    ready(token)
    while True:
        child = os.fork()
        if child == 0:
            os.setsid()
            watched = os.getppid()
            while os.getppid() == watched:
                time.sleep(0.0005)
            continue  # the parent is gone: take its place
        os.waitpid(child, 0)


def forker(token: str) -> None:
    """Forks all the time; every child outlives its parent a little, and forks in its turn."""
    ignore_polite_signals()
    ready(token)
    while True:
        if os.fork() == 0:
            if os.fork() == 0:
                os.setsid()
                time.sleep(0.05)
            os._exit(0)
        os.wait()
        time.sleep(0.002)


def threaded(token: str) -> None:
    """The main thread is gone, and /proc calls the process a zombie; its other thread runs on."""
    import ctypes
    import threading

    ignore_polite_signals()
    threading.Thread(target=idle, args=(token,)).start()
    ctypes.CDLL(None).pthread_exit(None)


def scrubbed_threaded(token: str) -> None:
    """Leaves a process without environment whose main thread has ended, in a session of its own."""
    if os.fork() == 0:
        os.setsid()
        with open("threaded.new", "w") as file:
            file.write(str(os.getpid()))
        os.rename("threaded.new", "threaded.pid")
        run_again("threaded", token, {})
    idle(token)


def vforker(token: str) -> None:
    """Sleeps in a vfork until somebody opens the FIFO `gate` in its directory for writing."""
    os.mkfifo("gate")
    ready(token)
    gate = [(os.POSIX_SPAWN_OPEN, 0, "gate", os.O_RDONLY, 0)]
    os.posix_spawn("/bin/sleep", ["sleep", "300"], dict(os.environ), file_actions=gate)
    idle(token)


def chain(token: str) -> None:
    """Forks and exits every millisecond: each process is gone before anyone has read about it."""
    ignore_polite_signals()
    ready(token)
    if os.fork() == 0:
        os.setsid()
        while os.fork() == 0:
            time.sleep(0.001)
        os._exit(0)
    idle(token)


def wait_for_the_start() -> None:
    """The engine asks the kernel for what is above a keeper when the start has succeeded."""
    while not os.path.exists(f"started-{os.getpid()}"):
        time.sleep(0.005)


def killer(token: str) -> None:
    """Kills its keeper, then leaves a daemon without environment."""
    ignore_polite_signals()
    wait_for_the_start()
    os.kill(os.getppid(), signal.SIGKILL)
    scrubbed_daemon(token)


def stopper(token: str) -> None:
    """Stops its keeper, and leaves a daemon without environment."""
    os.kill(os.getppid(), signal.SIGSTOP)
    scrubbed_daemon(token)


def killer_chain(token: str) -> None:
    """Kills its keeper, and goes on as a chain without environment."""
    wait_for_the_start()
    os.kill(os.getppid(), signal.SIGKILL)
    run_again("chain", token, {})


if __name__ == "__main__":
    globals()[sys.argv[1]](sys.argv[2])
