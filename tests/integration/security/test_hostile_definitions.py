"""A definition of a stranger takes bounded time and memory, because headcount compiles it in a child."""

from __future__ import annotations

import os
import resource
import signal
from pathlib import Path

import pytest

from headcount.app import bounded_compile
from headcount.app.bounded_compile import Compiler, compile_bounded
from headcount.app.builds import Options, build
from headcount.app.definition_files import compile_file
from headcount.compiler.compile import compile_source
from headcount.compiler.dialects import AGENT, TEAMMATE

from .conftest import Desk

GOOD = (
    "import { Command } from 'headcount';\nexport default <Command name='c' description='d'>fine</Command>;\n"
)
LONG = "'x'.repeat(1900000)"


def write(path: Path, body: str, head: str = "") -> str:
    path.write_text(GOOD.replace("fine", body).replace("export", f"{head}\nexport", 1))
    return str(path)


def codes(path: str) -> list[str]:
    return [found.code for found in compile_bounded(path).diagnostics]


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Less time and memory than the product gives, so that a test is fast."""
    monkeypatch.setattr(bounded_compile, "SECONDS", 1)
    monkeypatch.setattr(bounded_compile, "BYTES", 200 << 20)


def test_the_child_compiles_what_the_caller_would(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsx", "<p>text</p>")
    bad = write(tmp_path / "b.tsx", "{nothing}")
    with Compiler() as compiler:
        for dialect in (TEAMMATE, AGENT):
            assert compiler.compile(path, dialect) == compile_file(path, dialect)
            assert compiler.compile(bad, dialect) == compile_file(bad, dialect)
        assert compiler.read(path).root is not None


def test_a_definition_that_needs_too_much_memory_is_reported_and_the_next_one_compiles(
    tmp_path: Path, little: None
) -> None:
    """Each limit of the compiler is kept: only the sum of 150 texts of two megabytes is too large."""
    huge = write(tmp_path / "huge.tsx", "<p>{long}</p>" * 150, f"const long = {LONG};")
    good = write(tmp_path / "later.tsx", "fine")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    results = list(build([huge, good], Options(TEAMMATE, str(tmp_path))))
    assert [[found.code for found in one.diagnostics] for one in results] == [["too-large"], []]
    assert results[1].status == "written"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kilobytes, of this process


def test_a_definition_that_imports_without_end_is_ended_by_its_time(tmp_path: Path, little: None) -> None:
    """Each file takes a moment that is within its own limit. Together they have no other limit."""
    (tmp_path / "package.json").touch()
    words = " ".join(f"w{n}: [1, 2, `x`]," for n in range(20_000))
    for n in range(40):
        (tmp_path / f"part{n}.tsx").write_text(f"const t = {{{words}}}; export const P{n} = 'p';")
    head = "".join(f"import {{ P{n} }} from './part{n}';" for n in range(40))
    path = write(tmp_path / "many.tsx", "".join(f"{{P{n}}}" for n in range(40)), head)
    (found,) = compile_bounded(path).diagnostics
    assert (found.code, "seconds of processor time" in found.message) == ("too-large", True), found


def test_a_crash_of_the_parser_is_an_error_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "crash.tsx", "fine")
    monkeypatch.setattr(bounded_compile, "compile_file", lambda *_: os.kill(os.getpid(), signal.SIGSEGV))
    assert codes(path) == ["too-large"]


def test_a_child_that_was_taken_over_can_answer_only_with_values_of_the_compiler(tmp_path: Path) -> None:
    class Order:
        def __reduce__(self) -> tuple[object, ...]:
            return os.mkdir, (str(tmp_path / "owned"),)

    import pickle

    for answer in (Order(), Path("x"), compile_bounded, compile_source):
        with pytest.raises(pickle.UnpicklingError):
            bounded_compile._Values(pickle.dumps(answer)).load()
    assert not (tmp_path / "owned").exists()


def test_the_child_holds_nothing_of_the_caller_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock that it inherited would stay taken as long as it lives."""
    path = write(tmp_path / "a.tsx", "fine")
    out = tmp_path / "open"
    lock = os.open(tmp_path / "lock", os.O_CREAT | os.O_RDWR)
    os.set_inheritable(lock, True)

    def look(*_: object) -> None:
        out.write_text(" ".join(os.readlink(f"/proc/self/fd/{fd}") for fd in range(3, lock + 1) if held(fd)))
        raise MemoryError

    monkeypatch.setattr(bounded_compile, "compile_file", look)
    assert codes(path) == ["too-large"]
    os.close(lock)
    assert str(tmp_path / "lock") not in out.read_text()


def held(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


@pytest.mark.parametrize("kind", ["pipe", "device", "terabyte"])
def test_a_definition_that_is_not_a_file_is_reported(desk: Desk, kind: str) -> None:
    path = desk.repo / "team.tsx"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        with open(path, "wb") as file:
            file.truncate(1 << 40)
    done = desk.run("build", "--check", "team.tsx")
    assert done.returncode == 3 and "unreadable" in done.stderr, done.stderr
    assert desk.answer("up", "team.tsx")["error"]["code"] == "definition"
