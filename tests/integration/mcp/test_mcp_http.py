"""Who may speak to the server over HTTP: nobody without the token, no browser's page, and no member."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from mcp_lab import HEADCOUNT, Lab, Served, serving_http

from headcount.errors import WorldError
from headcount.mcp_server.http import read_token

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
PLAIN = {"Accept": "application/json, text/event-stream"}


@pytest.fixture
def served(lab: Lab) -> Iterator[Served]:
    with serving_http(lab) as address:
        yield address


def post(served: Served, **headers: str) -> Any:
    return httpx2.post(served.url, json=PING, headers={**PLAIN, **headers}, timeout=30)


def test_it_listens_on_loopback_only(served: Served) -> None:
    assert served.url.startswith("http://127.0.0.1:")


def test_with_the_token_it_answers(served: Served) -> None:
    assert post(served, **served.headers).json() == {"jsonrpc": "2.0", "id": 1, "result": {}}


@pytest.mark.parametrize("said", ["", "Bearer", "Bearer wrong", "Basic {}", "{}", "bearer {}", "Bearer {}x"])
def test_without_the_very_token_nobody_is_heard(served: Served, said: str) -> None:
    answer = post(served, Authorization=said.format(served.token))
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "bad-token"
    assert answer.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("method", ["GET", "DELETE", "OPTIONS", "PUT"])
def test_no_other_way_in_needs_no_token(served: Served, method: str) -> None:
    for path in ("/mcp", "/", "/docs", "/.well-known/oauth-protected-resource"):
        assert httpx2.request(method, served.url.replace("/mcp", path), timeout=30).status_code == 401


@pytest.mark.parametrize(
    ("header", "value", "status"),
    [("Host", "evil.example", 421), ("Host", "127.0.0.1:1", 421), ("Origin", "http://evil.example", 403),
     ("Origin", "null", 403)],
)  # fmt: skip
def test_a_page_that_was_rebound_to_loopback_gets_nowhere_even_with_the_token(
    served: Served, header: str, value: str, status: int
) -> None:
    assert post(served, **served.headers, **{header: value}).status_code == status


def test_a_member_with_the_token_is_still_not_the_operator(lab: Lab, served: Served) -> None:
    """It read the file and washed its environment; its parent carries the mark."""
    code = (
        "import httpx2, sys\n"
        "headers = {'Authorization': sys.argv[2], 'Accept': 'application/json, text/event-stream'}\n"
        "ping = {'jsonrpc': '2.0', 'id': 1, 'method': 'ping'}\n"
        "answer = httpx2.post(sys.argv[1], json=ping, headers=headers, timeout=30)\n"
        "print(answer.status_code, answer.json()['error']['code'])\n"
    )
    command = [sys.executable, "-c", code, served.url, served.headers["Authorization"]]
    script = 'env -u HEADCOUNT_MARK "$@"; true'
    marked = {**lab.env, "HEADCOUNT_MARK": "somebody"}
    done = subprocess.run(
        ["sh", "-c", script, "sh", *command], env=marked, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "403 not-operator\n", done.stderr


def test_a_member_does_not_serve(lab: Lab) -> None:
    lab.add_team()
    done = subprocess.run(
        [*HEADCOUNT, "mcp", "--http"],
        cwd=lab.place,
        env=lab.add_member("alice"),
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 5
    assert b"not-operator" in done.stderr
    assert not os.path.exists(f"{lab.home}/mcp.token")


def test_the_token_is_for_its_owner_alone_and_is_shown_once(lab: Lab) -> None:
    with serving_http(lab) as first:
        assert first.said["token"] == first.token
        assert os.stat(first.said["tokenFile"]).st_mode & 0o777 == 0o600
    os.chmod(first.said["tokenFile"], 0o644)
    with serving_http(lab) as second:
        assert (second.token, second.said["token"]) == (first.token, None)
        assert os.stat(second.said["tokenFile"]).st_mode & 0o777 == 0o600
    assert sorted(name for name in os.listdir(lab.home) if "token" in name) == ["mcp.token"]


@pytest.mark.parametrize("kept", ["", "\n", "short\n"])
def test_a_damaged_token_file_never_becomes_an_easy_token(tmp_path: Any, kept: str) -> None:
    (tmp_path / "mcp.token").write_text(kept)
    with pytest.raises(WorldError) as refused:
        read_token(str(tmp_path))
    assert refused.value.code == "bad-token-file"
