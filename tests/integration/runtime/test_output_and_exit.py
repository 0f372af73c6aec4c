from __future__ import annotations

import os
import selectors
import signal
import time
from pathlib import Path

import pytest
from places import Place, wait_until

from headcount.errors import ProcessError
from headcount.runtime.log import read_log, read_tail


def disk_bytes(home: str) -> int:
    return sum(path.stat().st_size for path in Path(home).glob("log.*"))


def test_the_log_has_a_limit_keeps_both_ends_and_never_blocks_the_member(plain: Place) -> None:
    limit = 40_000
    handle = plain.start("sh", "-c", "echo first; seq 1 200000; echo last", log_limit=limit)
    status = plain.runtime.wait_exit(handle, 60)
    assert status is not None
    assert status.code == 0
    assert plain.runtime.wait_empty(handle, 60)

    home = handle.directory.path
    assert limit / 2 < disk_bytes(home) <= limit
    assert read_log(home).data.startswith(b"first\n1\n2\n")
    assert read_tail(home, 1000).endswith(b"\n199999\n200000\nlast\n")
    assert plain.runtime.capture(handle).endswith("200000\nlast\n")


def test_a_reader_who_goes_on_by_offset_sees_every_byte_once(plain: Place) -> None:
    handle = plain.start("seq", "1", "20000", log_limit=1_000_000)
    assert plain.runtime.wait_empty(handle, 60)
    seen, offset = b"", 0
    while (chunk := read_log(handle.directory.path, offset, limit=777)).data:
        assert chunk.offset == offset
        seen, offset = seen + chunk.data, chunk.end
    assert seen == b"".join(b"%d\n" % number for number in range(1, 20001))


def test_a_script_that_reopens_its_own_output_loses_none_of_it(plain: Place) -> None:
    handle = plain.start("sh", "-c", "echo one; echo two > /dev/stderr; echo three > /dev/stdout")
    assert plain.runtime.wait_empty(handle, 60)
    assert plain.runtime.capture(handle) == "one\ntwo\nthree\n"


def test_output_in_a_terminal_is_in_the_log_after_its_end(tmux: Place) -> None:
    handle = tmux.start("sh", "-c", r"printf '\033[31mred\033[0m\n'; printf '\033]0;title\007plain\n'")
    assert tmux.runtime.wait_empty(handle, 60)
    assert tmux.runtime.capture(handle) == "red\nplain\n"


def test_captured_text_has_no_control_characters(place: Place) -> None:
    handle = place.start("sh", "-c", r"printf '\033[31mr\033[0med\a\b\033]52;c;ZXZpbA==\a ok\n'; sleep 300")
    wait_until(lambda: "ok" in place.runtime.capture(handle))
    shown = place.runtime.capture(handle)
    assert shown.replace("\n", "").isprintable()
    assert "52;c" not in shown


def test_a_hundred_quick_exits_are_all_noticed_through_their_descriptors(plain: Place) -> None:
    handles = [plain.start("sh", "-c", f"read go; exit {number}", stdin=True) for number in range(100)]
    with selectors.DefaultSelector() as selector:
        for handle in handles:
            assert handle.exit_fd is not None
            selector.register(handle.exit_fd, selectors.EVENT_READ, handle)
        began = time.monotonic()
        for handle in handles:
            fd = os.open(handle.directory.file("stdin"), os.O_WRONLY)
            os.write(fd, b"go\n")
            os.close(fd)
        codes = []
        while len(codes) < 100:
            for key, _ in selector.select(timeout=60):
                selector.unregister(key.fileobj)
                status = plain.runtime.exit_status(key.data)
                assert status is not None
                codes.append(status.code)
    assert sorted(code for code in codes if code is not None) == list(range(100))
    assert time.monotonic() - began < 100


def test_exit_code_and_signal_are_told_apart(place: Place) -> None:
    coded = place.start("sh", "-c", "exit 143")
    killed = place.start("sh", "-c", "kill -TERM $$")
    assert str(place.runtime.wait_exit(coded, 60)) == "exited with code 143"
    assert str(place.runtime.wait_exit(killed, 60)) == "killed by SIGTERM"


@pytest.mark.parametrize(
    ("argv", "cwd", "why"),
    [
        (("no-such-program",), "/", "No such file or directory"),
        (("/etc/passwd",), "/", "Permission denied"),
        (("sleep", "1"), "/no/such/directory", "No such file or directory"),
        (("echo", "a\0b"), "/", "Invalid argument"),
    ],
)
def test_a_program_that_cannot_run_is_an_error_that_says_why(
    place: Place, argv: tuple[str, ...], cwd: str, why: str
) -> None:
    from dataclasses import replace

    spec = replace(place.spec(*argv), cwd=cwd)
    with pytest.raises(ProcessError) as error:
        place.runtime.start(spec)
    assert error.value.code == "start-failed"
    assert why in error.value.why
    assert place.runtime.list_marked() == {}
    handle = place.runtime.adopt(spec.mark)
    assert handle is not None
    assert place.runtime.prove_gone(handle).empty


def test_a_huge_environment_arrives_whole_and_a_too_huge_one_is_refused(plain: Place) -> None:
    handle = plain.start("sh", "-c", 'echo "${#BIG}"', "x" * 100_000, mark=plain.mark())
    assert plain.runtime.wait_empty(handle, 60)
    with pytest.raises(ProcessError) as error:
        plain.start("echo", "x" * 5_000_000)
    assert error.value.code == "start-too-large"
    assert plain.runtime.list_marked() == {}


def test_large_arguments_arrive_whole(place: Place) -> None:
    handle = place.start("sh", "-c", 'echo "${#1}"', "sh", "x" * 50_000)
    wait_until(lambda: "50000" in place.runtime.capture(handle))


def test_the_member_is_alone_in_its_session_with_default_signals_and_its_mark(place: Place) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    try:
        handle = place.start("sh", "-c", "echo $HEADCOUNT_MARK; exec sleep 300")
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    agent = handle.record.agent.pid
    wait_until(lambda: handle.record.mark in place.runtime.capture(handle))
    wait_until(lambda: Path(f"/proc/{agent}/comm").read_text() == "sleep\n")
    assert os.getsid(agent) == agent
    assert os.getpgid(agent) == agent
    status = Path(f"/proc/{agent}/status").read_text()
    for what in ("SigIgn:", "SigBlk:"):
        assert int(status.split(what)[1].split()[0], 16) == 0, what
    # Nothing of the keeper's but standard input, output and error.
    assert set(os.listdir(f"/proc/{agent}/fd")) == {"0", "1", "2"}


def test_nudge_reaches_an_agent_that_reads_and_is_not_claimed_otherwise(place: Place) -> None:
    reader = place.start("sh", "-c", "echo ready; read line; echo got:$line; sleep 300", stdin=True)
    wait_until(lambda: "ready" in place.runtime.capture(reader))
    assert place.runtime.nudge(reader, "please \x1b[201~commit\x07")
    wait_until(lambda: "got:please commit" in place.runtime.capture(reader))
    place.runtime.kill(reader)
    assert not place.runtime.nudge(reader, "again")


def test_nudge_to_an_agent_that_never_reads_is_reported_as_not_delivered(plain: Place) -> None:
    deaf = plain.start("sleep", "300", stdin=True)
    assert not plain.runtime.nudge(deaf, "hello")
    closed = plain.start("sleep", "300")
    assert not plain.runtime.nudge(closed, "hello")


def test_request_exit_by_text_and_by_signal(place: Place) -> None:
    talker = place.start(
        "sh", "-c", 'echo ready; while read word; do [ "$word" = /exit ] && exit 4; done', stdin=True
    )
    wait_until(lambda: "ready" in place.runtime.capture(talker))
    place.runtime.request_exit(talker, "/exit")
    assert str(place.runtime.wait_exit(talker, 60)) == "exited with code 4"
    silent = place.start("sh", "-c", "trap 'exit 5' TERM; echo ready; while :; do sleep 0.05; done")
    wait_until(lambda: "ready" in place.runtime.capture(silent))
    assert place.runtime.request_exit(silent)
    assert str(place.runtime.wait_exit(silent, 60)) == "exited with code 5"
