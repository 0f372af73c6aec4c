"""Real clients, with no network but loopback: an interactive one tried to reach it in spite of being told."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from client_lab import POLICY, Lab, laboratory

from headcount.agents.registry import CLIENTS

_CLONE_NEWNET = 0x40000000
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 0x1


# Slow stories that another client or runtime plays, too. `./check --clients` leaves them out.
_COMMAND_LINE = "test_another_user_sees_no_prompt_mail_or_instructions_on_a_command_line"
_ASKED = "test_a_permission_that_is_asked_for_is_told_and_only_a_person_gives_it"
_DASH = "test_in_a_terminal_a_task_that_begins_with_a_dash_is_told_whole"
_REPEATED = frozenset((
    *(f"{_COMMAND_LINE}[{way}]" for way in ("claude-tmux", "codex-plain", "gemini-plain", "opencode-plain")),
    f"{_COMMAND_LINE}[opencode-tmux]",
    *(f"{_DASH}[{client}]" for client in ("codex", "opencode")),
    *(f"test_C1_a_member_killed_in_mid_turn_loses_nothing[{way}]" for way in ("claude-tmux", "codex-plain")),
    "test_a_limit_parks_and_is_lifted_and_what_no_longer_fits_is_made_to_fit[gemini-tmux]",
    f"{_ASKED}[opencode-\\u25b3 Permission required]",
    "test_two_members_in_terminals_work_and_leave_and_one_hears_while_it_is_busy[opencode]",
))  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """These start large programs that come late on a busy machine: no test here is given less than this."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent) and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(300))
        if item.name in _REPEATED:
            item.add_marker(pytest.mark.repeated)


@pytest.fixture(autouse=True)
def loopback_only(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A network of its own for this thread and all that it starts; where that is not allowed, proxies that
    refuse everything."""
    libc = ctypes.CDLL(None, use_errno=True)
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        if libc.unshare(_CLONE_NEWNET) == 0:
            _raise_loopback()
            yield
            assert libc.setns(before, _CLONE_NEWNET) == 0
        else:
            for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
                monkeypatch.setenv(name, "http://127.0.0.1:9")
            for name in ("NO_PROXY", "no_proxy"):
                monkeypatch.setenv(name, "127.0.0.1,localhost")
            yield
    finally:
        os.close(before)


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        name = b"lo".ljust(16, b"\0")
        flags = struct.unpack("16sh14x", fcntl.ioctl(any_socket, _SIOCGIFFLAGS, name + b"\0" * 16))[1]
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", name, flags | _IFF_UP))


@pytest.fixture
def open_lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Lab]]:
    with ExitStack() as stack:

        def open_(lanes: list[dict[str, Any]], policy: Any = POLICY, **environ: str) -> Lab:
            return stack.enter_context(laboratory(tmp_path, {"lanes": lanes}, monkeypatch, policy, environ))

        yield open_


@pytest.fixture
def open_fake_lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Lab]]:
    """A laboratory whose clients are shell scripts: they fail in ways that real ones do only sometimes."""
    with ExitStack() as stack:

        def open_(scripts: dict[str, str], policy: Any = POLICY, **environ: str) -> Lab:
            programs = tmp_path / "programs"
            programs.mkdir()
            for name, script in scripts.items():
                version = ".".join(map(str, CLIENTS[name].oldest))
                path = programs / name
                path.write_text(f'#!/bin/sh\n[ "$1" = --version ] && {{ echo {version}; exit; }}\n{script}\n')
                path.chmod(0o755)
            lab = laboratory(tmp_path, {"lanes": []}, monkeypatch, policy, environ, programs)
            return stack.enter_context(lab)

        yield open_
