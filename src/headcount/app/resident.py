"""The engine as a process: one for a state directory, started on demand, gone by itself.

The lock says who drives. The lease in the store is what makes that safe: the next engine gets a new fencing
token, and whatever the last holder still tries to write is refused.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

from headcount.app.app import policy_of
from headcount.app.lock import drive_lock, is_driven, refuse_suspended
from headcount.app.place import this_place
from headcount.domain.environment import build_environment
from headcount.errors import ProcessError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headcount.app.app import App
    from headcount.app.engine_loop import Engine
    from headcount.app.lock import DriveLock

_LOG = logging.getLogger(__name__)

_STAY_S = 10.0  # after the last team
_READY_S = 20.0
_TAKE_OVER_S = 1.0  # from the end of one engine to the next
_FAILING_S = 30.0  # where one after the other fails


def drive(app: App) -> bool:
    """Drive every open team of this state directory until some seconds after the last has closed.

    Returns False at once when another process drives. A command that made a team while this engine was
    leaving has started none. So this looks for open teams again after it has freed the lock.
    """
    drove = False
    while True:
        with drive_lock(app.home) as lock:
            if lock is None:
                return drove
            engine = _run(app, lock, _idle_for(_STAY_S))
        drove = True
        if engine.displaced:
            continue  # the lock file went with the state
        if not engine.idle or not _has_open_team(app):
            return drove


def _has_open_team(app: App) -> bool:
    with app.store.read() as tx:
        return bool(tx.team_names())


@contextmanager
def driving(app: App) -> Iterator[None]:
    """Drive in this process, beside the caller, for as long as the block lasts, whenever no other does.

    What is under way at its end is let finish; after an exception, and that is Ctrl-C, nobody waits for it.
    """
    beside = _Beside(app)
    beside.start()
    try:
        beside.ready.wait()
        if beside.failure is not None:
            raise beside.failure
        yield
        beside.stop()
        beside.join()
    except BaseException:
        beside.leave()
        beside.join()
        raise


class _Beside(threading.Thread):
    """`ready` once it drives, has seen that another does, or has failed to begin."""

    def __init__(self, app: App) -> None:
        super().__init__(name="engine")
        self.ready = threading.Event()
        self.failure: Exception | None = None
        self._app = app
        self._stopping = threading.Event()
        self._engine: Engine | None = None

    def run(self) -> None:
        while not self._stopping.is_set():
            try:
                with drive_lock(self._app.home) as lock:
                    if lock is not None:
                        self._drive(lock)
            except Exception as error:
                if not self.ready.is_set():
                    self.failure = error
                    break
                _LOG.exception("the engine failed; the next one begins")
            self.ready.set()
            self._stopping.wait(_TAKE_OVER_S)
        self.ready.set()

    def stop(self) -> None:
        self._stopping.set()
        if self._engine is not None:
            self._engine.stop()

    def leave(self) -> None:
        self._stopping.set()
        if self._engine is not None:
            self._engine.leave()

    def _drive(self, lock: DriveLock) -> None:
        with _engine(self._app, lock) as self._engine:
            if not self._stopping.is_set():  # else nobody has told this one
                self._engine.run(self._until)

    def _until(self) -> bool:
        """Asked before its first turn, too."""
        self.ready.set()
        return self._stopping.is_set()


def _run(app: App, lock: DriveLock, until: Callable[[Engine], bool]) -> Engine:
    """Under the lock. An engine that a bug ends is followed by a new one, which recovers as from a crash.

    One that cannot even begin is another matter: whoever started it is told.
    """
    began, wait_s = False, _TAKE_OVER_S

    def asked(engine: Engine) -> bool:
        nonlocal began
        began = True
        return until(engine)

    while True:
        try:
            with _engine(app, lock) as engine:
                engine.run(lambda: asked(engine))
                return engine
        except Exception:
            if not began:
                raise
            _LOG.exception("the engine failed; the next one begins")
            time.sleep(wait_s)
            wait_s = min(2 * wait_s, _FAILING_S)


@contextmanager
def _engine(app: App, lock: DriveLock) -> Iterator[Engine]:
    """Where something hangs when it leaves, nobody takes over before this process has ended with it."""
    # Most commands only look whether an engine runs, and pay for none of this.
    from headcount.app.adapters import make_world
    from headcount.app.engine_loop import Engine
    from headcount.app.retention import Retention
    from headcount.engine.leases import Leases
    from headcount.runtime.mark import put_back_seed, read_seed
    from headcount.runtime.reaper import hide_memory
    from headcount.runtime.reaper_client import raise_file_limit

    raise_file_limit()
    hide_memory()  # it makes the secrets of keepers
    retention = Retention(app)
    leases = Leases(app.store, this_place(app.home)["machine"], time.monotonic)
    engine = Engine(app.store, partial(make_world, app), policy_of, app.make_start, leases, retention.wake)
    seed = read_seed(app.home)  # the runtimes have made it
    retention.start()
    try:
        yield engine
    finally:
        retention.close()
        if engine.hangs:
            lock.keep()
        else:
            engine.close_runtimes()
        if engine.displaced:
            put_back_seed(app.home, seed)
        with suppress(StoreError):  # the next engine of this host takes them all the same
            leases.release_all()


def ensure_driven(app: App) -> None:
    """Start an engine in the background unless one drives already.

    Never from inside a member: it would belong to that one's processes, and end with them.
    """
    if app.caller.is_member:
        return
    refuse_suspended(app.home)
    deadline = time.monotonic() + _READY_S
    while not is_driven(app.home):
        process = _start_resident(app.home)
        while not is_driven(app.home) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        if process.poll() not in (None, 0) or time.monotonic() > deadline:
            raise ProcessError(
                "Did not start the engine",
                f"it ended with code {process.poll()}" if process.poll() else "it did not answer in time",
                (f"See {app.home}/engine.log", "Check the set-up with `headcount doctor`"),
                code="engine-failed",
            )


def _start_resident(home: str) -> subprocess.Popen[bytes]:
    """In its own session, with no descriptor of the caller's, and nothing of a member in its environment."""
    env = {**build_environment(os.environ), "HEADCOUNT_HOME": home}
    log = os.open(f"{home}/engine.log", os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    try:
        return subprocess.Popen(
            [sys.executable, "-m", "headcount", "engine"],
            cwd="/", env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    finally:
        os.close(log)


def _idle_for(seconds: float) -> Callable[[Engine], bool]:
    since: list[float] = []

    def over(engine: Engine) -> bool:
        if not engine.idle:
            since.clear()
            return False
        since.append(time.monotonic())
        return since[-1] - since[0] >= seconds

    return over
