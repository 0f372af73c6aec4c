"""Compile TSX definitions in a child process with limits on processor time and memory.

A definition may come from a stranger, and the parser is a C library. For every input the child answers or the
kernel ends it, and the caller gets a diagnostic. One child serves many files, because a fork takes as long as
two small definitions. Python definitions are programs, and run in the caller's process.
"""

from __future__ import annotations

import os
import pickle
import resource
import signal
import sys
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from headcount.app.definition_files import compile_file, read_source
from headcount.compiler.compile import Compiled, Source
from headcount.compiler.dialects import TEAMMATE
from headcount.compiler.element import Diagnostic, Span

if TYPE_CHECKING:
    from types import TracebackType

    from headcount.compiler.dialects import Dialect

# A file of 500 kB takes under 5 s and 700 MB, whatever is in it. A definition may import many such files.
SECONDS = 20
BYTES = 1 << 30
_SIZE = 8
_OUT_OF_MEMORY, _FAILED = 3, 4  # exit codes of the child


class _Child(NamedTuple):
    pid: int
    orders: IO[bytes]
    answers: IO[bytes]


class Compiler:
    """Compiles definitions one after the other. The child lives as long as the context."""

    def __init__(self) -> None:
        self._child: _Child | None = None

    def __enter__(self) -> Compiler:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def compile(self, path: str, dialect: Dialect = TEAMMATE) -> Compiled:
        """Like `compile_file`. A file that exceeds the limits is reported as `too-large`."""
        if path.endswith(".py"):
            return compile_file(path, dialect)
        found = self._call("compile", path, dialect)
        if isinstance(found, Compiled):
            return found
        return Compiled(path, None, None, (_as_diagnostic(found),), (path,))

    def read(self, path: str) -> Source:
        """Like `read_source`, for a TSX definition."""
        found = self._call("read", path, TEAMMATE)
        return found if isinstance(found, Source) else Source(None, (_as_diagnostic(found),), (path,))

    def _call(self, what: str, path: str, dialect: Dialect) -> object:
        """Return the answer of the child, or the diagnostic about a child that gave none."""
        child = self._child = self._child or _start()
        try:
            _send(child.orders, (what, path, tuple(dialect)))
            data = _receive(child.answers)
        except (BrokenPipeError, EOFError):
            return Diagnostic("too-large", self._why(), Span(path, 1, 1), "Split it, or repeat less in it.")
        return _Values(data).load()

    def _why(self) -> str:
        """End a child that gave no answer, and return why it gave none."""
        status = self._end()
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) == _FAILED:
            raise RuntimeError("the child that compiles failed; its traceback is above")
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
            return f"Compiling it takes more than {SECONDS} seconds of processor time"
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) == _OUT_OF_MEMORY:
            return f"Compiling it takes more than {BYTES >> 20} MB of memory"
        return f"Compiling it needs too much memory, or fails in the parser (wait status {status})"

    def _end(self) -> int:
        """Return the wait status of the child, or 0 without one. It ends at the end of its orders."""
        child, self._child = self._child, None
        if child is None:
            return 0
        with suppress(BrokenPipeError):
            child.orders.close()
        child.answers.close()
        return os.waitpid(child.pid, 0)[1]


def _as_diagnostic(found: object) -> Diagnostic:
    if not isinstance(found, Diagnostic):
        raise TypeError(f"the child that compiles answered with {type(found).__name__}")
    return found


def compile_bounded(path: str, dialect: Dialect = TEAMMATE) -> Compiled:
    """Compile one definition in a child of its own."""
    with Compiler() as compiler:
        return compiler.compile(path, dialect)


class _Values(pickle.Unpickler):
    """Loads what the child answers: tuples, texts, numbers, and the compiler's own value classes."""

    def __init__(self, data: bytes) -> None:
        import io

        super().__init__(io.BytesIO(data))

    def find_class(self, module: str, name: str) -> Any:
        if module.startswith("headcount.compiler."):
            found = super().find_class(module, name)
            if isinstance(found, type) and issubclass(found, tuple):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is not a value of the compiler")


# --- the child -------------------------------------------------------------------------------------------


def _start() -> _Child:
    orders, give = os.pipe()
    take, answers = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        _serve(orders, answers)
    os.close(orders)
    os.close(answers)
    return _Child(pid, os.fdopen(give, "wb"), os.fdopen(take, "rb"))


def _serve(orders: int, answers: int) -> None:
    """Answer until the caller closes its end, and exit without the caller's cleanup."""
    code = _FAILED
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the caller ends, and with it the orders
        # Nothing of the caller stays open here: not its locks, nor the other ends of these pipes.
        os.dup2(orders, 0)
        os.dup2(answers, 3) if answers != 3 else None
        os.closerange(4, 1 << 20)
        _limit_memory()
        with open(0, "rb") as given, open(3, "wb") as back:
            while True:
                what, path, dialect = pickle.loads(_receive(given))  # noqa: S301 - the caller's own orders
                _limit_time()
                _send(back, read_source(path) if what == "read" else compile_file(path, _dialect(dialect)))
    except (EOFError, BrokenPipeError):
        code = 0
    except MemoryError:
        code = _OUT_OF_MEMORY
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(code)


def _dialect(values: tuple[Any, ...]) -> Dialect:
    return type(TEAMMATE)(*values)


def _limit_memory() -> None:
    """Allow `BYTES` above what the caller has mapped. Without /proc, the compiler's own limits remain."""
    with suppress(OSError, ValueError):
        with open("/proc/self/statm", encoding="ascii") as file:
            mapped = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (mapped + BYTES, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _limit_time() -> None:
    """Give the next file its own time, on top of what earlier ones used."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(used.ru_utime + used.ru_stime) + 1 + SECONDS
    with suppress(ValueError):  # the caller has a lower limit of its own
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def _send(file: IO[bytes], value: object) -> None:
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    file.write(len(data).to_bytes(_SIZE, "big") + data)
    file.flush()


def _receive(file: IO[bytes]) -> bytes:
    size = int.from_bytes(_read(file, _SIZE), "big")
    return _read(file, size)


def _read(file: IO[bytes], size: int) -> bytes:
    data = file.read(size)
    if len(data) < size:
        raise EOFError
    return data
