"""Notifications on the desktop, by the bell, by a webhook and by a command; and ways that fail."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from headcount.app.notifier import _split_topic
from headcount.app.policy_changes import list_policy
from headcount.app.teams import create_team
from headcount.domain.settings import Notify, Settings, parse_settings
from headcount.errors import UsageError

from .lab import LIMIT_S, PATIENT, TEAM, Lab

FAILS = "touch $HEADCOUNT_HOME/ada; echo '<!channel> boom' >&2; exit 3"


class Service:
    """A service on this machine that remembers what was posted to it."""

    def __init__(self) -> None:
        self.posted: list[dict[str, Any]] = []
        service, self.status = self, 200

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                service.posted.append({"path": self.path, **json.loads(body)})
                self.send_response(service.status)
                self.send_header("Location", "/elsewhere")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_port}/hook/SECRET"


@pytest.fixture
def service() -> Iterator[Service]:
    service = Service()
    yield service
    service.server.shutdown()
    service.server.server_close()


def create(lab: Lab, notify: Notify, **policy: Any) -> None:
    lab.app.settings = Settings(policy=replace(PATIENT, **policy), notify=notify)
    create_team(lab.app, TEAM, environ=os.environ)


def wait_notified(lab: Lab, count: int = 1) -> list[str]:
    import time

    deadline = time.monotonic() + LIMIT_S
    while len(found := lab.journal("notified")) < count:
        assert time.monotonic() < deadline, found
        time.sleep(0.02)
    return [entry.data["result"] for entry in found]


def test_every_way_that_is_set_is_used_and_the_address_is_nowhere(
    lab: Lab, service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    shown = tmp_path / "shown"
    (tools / "notify-send").write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {shown}\n')
    (tools / "notify-send").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    ours, theirs = os.openpty()
    monkeypatch.setattr("headcount.app.notifier._terminal", lambda: os.ttyname(theirs))
    told = tmp_path / "told"
    command = ("sh", "-c", f'echo "$HEADCOUNT_FAILURE" > {told}')
    create(lab, Notify(command, desktop=True, bell=True, webhook=service.address))
    lab.start("ada", FAILS)
    assert wait_notified(lab) == ["command: exit code 0, desktop: ok, bell: ok, webhook: ok"]
    assert "boom" in told.read_text() and os.read(ours, 1) == b"\a"
    os.close(ours), os.close(theirs)
    [posted] = service.posted
    assert posted["headcount"]["kind"] == "failure" and posted["headcount"]["team"] == TEAM
    assert "<!channel>" not in posted["text"] and "<!channel>" in posted["message"]
    assert shown.read_text().splitlines()[:2] == ["--app-name=headcount", "--"]
    assert not lab.journal("notify_failed")
    lab.finish(lab.ask(now=True))
    for directory, _, names in os.walk(lab.app.home):
        for name in names:
            if (path := Path(directory, name)).is_file():
                assert b"SECRET" not in path.read_bytes(), name
    assert "SECRET" not in json.dumps(list_policy(lab.app, TEAM))


def test_a_way_that_fails_is_said_once_and_harms_nothing(
    lab: Lab, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.status = 302  # a redirect is not followed
    monkeypatch.setattr("headcount.app.notifier._terminal", lambda: "/dev/pts/none")
    create(lab, Notify(("/no/such",), bell=True, webhook=service.address))
    for name in ("ada", "ben"):
        lab.start(name, FAILS)
    assert wait_notified(lab, 2)[0].endswith(
        "bell: failed: its terminal is closed, webhook: failed: HTTP 302"
    )
    ways = [entry.data["way"] for entry in lab.journal("notify_failed")]
    assert sorted(ways) == ["bell", "command", "webhook"]
    assert [one["path"] for one in service.posted] == ["/hook/SECRET"] * 2
    assert lab.finish(lab.ask(now=True))["status"] == "shutdown"


def test_a_question_notifies_and_a_kind_that_is_not_chosen_does_not(lab: Lab, service: Service) -> None:
    create(lab, Notify(webhook=service.address, kinds=("question",)))
    lab.start("ada", f"headcount send lead -s Which -m 'Which port?'; {FAILS}")
    assert wait_notified(lab) == ["webhook: ok"]
    lab.wait_state("ada#1", lambda m: m.settled)
    assert [one["headcount"]["kind"] for one in service.posted] == ["question"]


def test_the_old_key_works_and_both_are_refused() -> None:
    assert parse_settings('[policy]\nnotify = ["x"]', "f", {}).policy.notifies("ask")
    with pytest.raises(UsageError, match="both"):
        parse_settings('[policy]\nnotify = ["x"]\n[notify]\ncommand = ["y"]', "f", {})
    with pytest.raises(UsageError) as refused:
        parse_settings("", "f", {"HEADCOUNT_NOTIFY_WEBHOOK": "htps://SECRET"})
    assert "SECRET" not in refused.value.render()
    with pytest.raises(UsageError, match="kinds"):
        parse_settings('[notify]\nkinds = ["all"]', "f", {})


def test_ntfy_gets_its_topic() -> None:
    assert _split_topic("https://ntfy.sh/mine") == ("https://ntfy.sh/", "mine")
    assert _split_topic("https://push.example.org/?topic=mine") == ("https://push.example.org/", "mine")
    slack = "https://hooks.slack.com/services/T/B/X"
    assert _split_topic(slack) == (slack, "")
