"""Members, other users and slow connections, each with the right token: none of them becomes the operator."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn
from test_page_guard import DOWN, untouched
from weblab import POLITE, TEAM, WebLab

from headcount.app.page_caller import find_peer, why_not_operator
from headcount.web.server import make_protocol

_CALL = """
import socket, sys, time
address, port, token, mode, out = sys.argv[1:]
port = int(port)
family = socket.AF_INET6 if mode == "mapped" else socket.AF_INET
with socket.socket(family) as connection:
    connection.connect(("::ffff:" + address if mode == "mapped" else address, port))
    more = "X-Forwarded-For: 203.0.113.9\\r\\nX-Forwarded-Proto: http\\r\\n" if mode == "forwarded" else ""
    connection.sendall(
        f"POST /api/teams/crew/stand-down HTTP/1.1\\r\\nHost: {address}:{port}\\r\\n{more}"
        f"Origin: http://{address}:{port}\\r\\nAuthorization: Bearer {token}\\r\\n"
        "Connection: close\\r\\nContent-Length: 2\\r\\n\\r\\n{}".encode()
    )
    if mode != "closed":
        said = connection.makefile("rb").read()
        (sys.stdout.buffer if out == "-" else open(out, "wb")).write(said)
"""


def own_address() -> str:
    """Of this machine, and not loopback; one of the loopback's others where there is no network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        try:
            any_socket.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.2"
        return str(any_socket.getsockname()[0])


@pytest.mark.parametrize("mode", ["plain", "forwarded", "mapped", "closed", "beyond"])
def test_a_member_with_the_token_never_stands_a_team_down(lab: WebLab, tmp_path: Path, mode: str) -> None:
    lab.create()
    address = own_address() if mode == "beyond" else "127.0.0.1"
    lab.serve(*(("--host", "0.0.0.0") if mode == "beyond" else ()))
    port = lab.origin.rpartition(":")[2]
    (tmp_path / "call.py").write_text(_CALL)
    out = tmp_path / "answer"
    words = f"{sys.executable} {tmp_path}/call.py {address} {port} {lab.token} {mode} {out}"
    lab.start("ada", f"{words}; touch {tmp_path}/done; {POLITE}")
    lab.wait(lambda _: (tmp_path / "done").exists())
    if mode == "closed":
        # Its call was received before ours: when ours is answered, so is that one.
        assert lab.call(f"api/teams/{TEAM}/report", Authorization=f"Bearer {lab.token}")[0] == 200
        time.sleep(0.5)
    else:
        assert b'"not-operator"' in out.read_bytes(), out.read_bytes()
    assert untouched(lab)


def test_another_user_of_the_machine_with_the_token_is_refused(idle_lab: WebLab, tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can act as two users")
    idle_lab.create()
    idle_lab.serve()
    host, _, port = idle_lab.origin.removeprefix("http://").partition(":")
    other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", sys.executable, "-c", _CALL]
    words = [*other, host, port, idle_lab.token, "plain", "-"]
    done = subprocess.run(words, capture_output=True, text=True, cwd="/", check=True)
    assert "not-operator" in done.stdout and "65534" in done.stdout, done.stdout


def test_the_operators_own_process_is_found_and_let_in(idle_lab: WebLab) -> None:
    idle_lab.create()
    idle_lab.serve()
    assert idle_lab.call(f"api/teams/{TEAM}/report", Authorization=f"Bearer {idle_lab.token}")[0] == 200


def test_a_socket_is_found_by_both_of_its_ends_in_either_family() -> None:
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        with socket.create_server((host, 0), family=family) as listener:
            server = listener.getsockname()[:2]
            with socket.create_connection(server) as connection:
                client = connection.getsockname()[:2]
                found = find_peer(client, server)
                assert found is not None and os.getpid() in found.pids and found.uid == os.getuid()
                assert why_not_operator(client, server) == ""
            assert "cannot be found" in why_not_operator(client, server)


def test_serving_beyond_this_machine_is_warned_about(idle_lab: WebLab) -> None:
    idle_lab.serve("--host", "0.0.0.0")
    assert idle_lab.server is not None and idle_lab.server.stderr is not None
    assert "nothing is encrypted" in idle_lab.server.stderr.readline()


# --- limits -----------------------------------------------------------------------------------------------


@pytest.fixture
def limited(request: pytest.FixtureRequest) -> Iterator[int]:
    """A server with small limits, on a port of its own. The parameter is the time for headers."""

    async def say_yes(scope: object, receive: object, send: object) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})  # type: ignore[operator]
        await send({"type": "http.response.body", "body": b"yes"})  # type: ignore[operator]

    config = uvicorn.Config(say_yes, http=make_protocol(request.param, 4), log_level="error", lifespan="off")
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])), daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        server.should_exit = True
        thread.join(30)


@pytest.mark.parametrize("limited", [0.3], indirect=True)
def test_a_connection_that_sends_no_whole_request_is_closed(limited: int) -> None:
    for sent in (b"", b"GET / HTTP/1.1\r\nHost: x\r\n"):
        with socket.create_connection(("127.0.0.1", limited), timeout=30) as slow:
            slow.sendall(sent)
            assert slow.recv(100) == b""  # closed by the other side, and not by our time limit


@pytest.mark.parametrize("limited", [60.0], indirect=True)
def test_so_many_connections_and_no_more(limited: int) -> None:
    with contextlib.ExitStack() as stack:
        opened = [
            stack.enter_context(socket.create_connection(("127.0.0.1", limited), timeout=30))
            for _ in range(9)
        ]
        ends = 0
        for connection in opened:
            with contextlib.suppress(ConnectionResetError):
                connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                ends += b"yes" in connection.makefile("rb").read()
        assert 1 <= ends <= 4


def test_a_body_larger_than_any_call_is_refused_and_not_kept(idle_lab: WebLab) -> None:
    idle_lab.create()
    idle_lab.serve()
    body = {"reason": "x" * 1_000_000}
    headers = {"Authorization": f"Bearer {idle_lab.token}", "Origin": idle_lab.origin}
    status, answer = idle_lab.call(DOWN, body, **headers)
    assert (status, answer["error"]["code"]) == (400, "usage"), json.dumps(answer)


def test_a_body_that_nests_without_end_is_refused_and_is_no_bug(idle_lab: WebLab) -> None:
    idle_lab.create()
    idle_lab.serve()
    connection = http.client.HTTPConnection(idle_lab.origin.removeprefix("http://"), timeout=60)
    headers = {"Authorization": f"Bearer {idle_lab.token}", "Origin": idle_lab.origin}
    connection.request("POST", f"/{DOWN}", b"[" * 60_000, headers)
    answer = connection.getresponse()
    assert (answer.status, json.load(answer)["error"]["code"]) == (400, "usage")
    connection.close()
