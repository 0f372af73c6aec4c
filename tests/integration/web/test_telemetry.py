"""Prometheus reads our numbers, and a collector takes our trace."""

from __future__ import annotations

import http.server
import json
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from prometheus_client.parser import text_string_to_metric_families
from weblab import TEAM, UNTIDY, WebLab

from headcount.app.progress import follow
from headcount.app.report import read_report
from headcount.app.standing_down import stand_down
from headcount.telemetry import make_spans


def finish(lab: WebLab) -> None:
    *_, last = follow(lab.app, TEAM, stand_down(lab.app, TEAM, None, "enough", force=True))
    assert last["status"] == "shutdown"


@contextmanager
def collector() -> Iterator[tuple[str, list[ExportTraceServiceRequest]]]:
    taken: list[ExportTraceServiceRequest] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.path == "/v1/traces":
                taken.append(ExportTraceServiceRequest.FromString(body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", taken
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_prometheus_reads_how_the_teams_stand(lab: WebLab) -> None:
    lab.create()
    lab.start("ada")
    lab.start("ben", "exit 0")
    lab.wait(lambda team: team.members["ben#1"].settled)
    lab.serve()
    assert lab.call("metrics")[0] == 401
    status, text = lab.call("metrics", Authorization=f"Bearer {lab.token}")
    assert status == 200
    found = {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert found["headcount_teams", ("status", "active")] == 1
    assert found["headcount_members", ("state", "running"), ("team", TEAM)] == 1
    assert found["headcount_members", ("state", "gone"), ("team", TEAM)] == 1
    assert found["headcount_escalations", ("team", TEAM)] == 0


def test_a_kept_token_stays_valid_and_is_for_its_owner_alone(idle_lab: WebLab, tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.touch(0o644)
    first = idle_lab.serve("--token-file", str(path)).partition("#")[2]
    idle_lab.stop_serving()
    again = idle_lab.serve("--token-file", str(path)).partition("#")[2]
    assert first == again == path.read_text().strip()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_collector_takes_a_teams_life_as_one_trace(lab: WebLab) -> None:
    lab.create()
    lab.start("ada", UNTIDY)
    finish(lab)
    with collector() as (endpoint, taken):
        command = [sys.executable, "-m", "headcount", "trace", TEAM, "--endpoint", endpoint, "--json"]
        done = subprocess.run(
            command, cwd=lab.app.root, capture_output=True, text=True, timeout=60, check=True
        )
    spans = [s for r in taken for rs in r.resource_spans for ss in rs.scope_spans for s in ss.spans]
    assert json.loads(done.stdout)["spans"] == len(spans)
    (team,) = (s for s in spans if s.name == f"team {TEAM}")
    (ada,) = (s for s in spans if s.name == "member ada")
    states = [
        s.name for s in sorted(spans, key=lambda s: s.start_time_unix_nano) if s.parent_span_id == ada.span_id
    ]
    assert ada.parent_span_id == team.span_id
    assert states[:3] == ["starting", "running", "asked"]
    assert states[-1] in ("stopping", "killing")
    assert {"answered", "salvaged"} <= {event.name for event in ada.events}
    assert team.start_time_unix_nano <= ada.start_time_unix_nano <= ada.end_time_unix_nano
    assert len({s.trace_id for s in spans}) == 1


def test_the_same_team_gives_the_same_trace_each_time(lab: WebLab) -> None:
    lab.create()
    lab.start("ada")
    finish(lab)
    ids = [[s.context.span_id for s in make_spans(read_report(lab.app, TEAM)) if s.context] for _ in range(2)]
    assert ids[0] == ids[1]
    assert len(set(ids[0])) == len(ids[0])


def test_a_collector_that_is_not_there_is_said(lab: WebLab) -> None:
    lab.create()
    command = [sys.executable, "-m", "headcount", "trace", TEAM, "--endpoint", "http://127.0.0.1:9", "--json"]
    done = subprocess.run(command, cwd=lab.app.root, capture_output=True, text=True, timeout=60)
    assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (4, "not-taken")
