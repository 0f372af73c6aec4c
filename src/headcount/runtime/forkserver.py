"""The caller's side of `keeper.py serve`: one warm interpreter that forks keepers, started when needed.

It lives no longer than its caller, holds none of the caller's descriptors and carries no mark. The
keepers that it forked outlive both.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading

from headcount.runtime import keeper

# Imported, not run as a file: a file would be compiled anew at every start, and keep 1 MB of that.
_IMPORT = (
    "import sys; sys.path[:0] = [sys.argv[1]]; import keeper; del sys.path[0]; keeper.main(sys.argv[2:])"
)
KEEPER = [sys.executable, "-I", "-S", "-c", _IMPORT, os.path.dirname(os.path.abspath(keeper.__file__))]


class ForkServer:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._server: subprocess.Popen[bytes] | None = None

    def fork_keeper(self, home: str) -> None:
        """Ask for a keeper in `home`. It answers there, to whoever reads its reply."""
        line = os.fsencode(home).hex().encode() + b"\n"
        with self._lock:
            try:
                self._ask(line)
            except BrokenPipeError:
                self._close()
                self._ask(line)

    def _ask(self, line: bytes) -> None:
        if self._server is None:
            self._server = subprocess.Popen(
                [*KEEPER, "serve"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={},
                cwd="/",
                start_new_session=True,
            )
        assert self._server.stdin is not None
        self._server.stdin.write(line)
        self._server.stdin.flush()

    def close(self) -> None:
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._server is None:
            return
        assert self._server.stdin is not None
        try:
            self._server.stdin.close()
        except BrokenPipeError:
            pass
        self._server.wait()
        self._server = None
