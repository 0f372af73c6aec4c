"""From a report to spans: the team, below it each member, below that each state that it was in.

The journal knows when everything was, so a trace is made afterwards, and the same each time: its ids follow
from the team's, and sending it twice shows it once.
"""

from __future__ import annotations

import hashlib
import time
from typing import TYPE_CHECKING, Any

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import StatusCode, set_span_in_context

from headcount import __version__
from headcount.errors import WorldError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import Tracer

_AT_ONCE = 500
_BAD = ("stuck", "forced")


def make_spans(report: Mapping[str, Any]) -> Sequence[ReadableSpan]:
    kept = InMemorySpanExporter()
    about = Resource.create({"service.name": "headcount", "service.version": __version__})
    provider = TracerProvider(resource=about, id_generator=_Ids(f"{report['teamId']} {report['began']}"))
    provider.add_span_processor(SimpleSpanProcessor(kept))
    _team(provider.get_tracer("headcount", __version__), report)
    return kept.get_finished_spans()


def send_trace(report: Mapping[str, Any], endpoint: str, timeout_s: float = 10) -> int:
    """Send a trace to an OTLP collector over HTTP, and return the number of spans."""
    spans = make_spans(report)
    exporter = OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces", timeout=timeout_s)
    for first in range(0, len(spans), _AT_ONCE):
        if exporter.export(spans[first : first + _AT_ONCE]) is not SpanExportResult.SUCCESS:
            raise WorldError(
                f"The trace of {report['team']} was not accepted", f"{endpoint} did not answer, or refused",
                ("Is a collector there? Its OTLP over HTTP is usually on port 4318",), code="not-taken",
            )  # fmt: skip
    exporter.shutdown()  # type: ignore[no-untyped-call]
    return len(spans)


class _Ids(IdGenerator):
    """Not random: the nth span of a team has the same id each time."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._count = 0

    def generate_trace_id(self) -> int:
        return self._number("trace", 16)

    def generate_span_id(self) -> int:
        self._count += 1
        return self._number(str(self._count), 8)

    def _number(self, what: str, size: int) -> int:
        digest = hashlib.sha256(f"{self._seed} {what}".encode()).digest()
        return int.from_bytes(digest[:size], "big") or 1


def _team(tracer: Tracer, report: Mapping[str, Any]) -> None:
    began, ended = report["began"], report["ended"] or time.time()
    attributes = {"headcount.team": report["teamId"], "headcount.status": report["status"]}
    span = tracer.start_span(f"team {report['team']}", start_time=_ns(began), attributes=attributes)
    for one in report["standDowns"]:
        told = {"headcount.reason": one["reason"], "headcount.by": one["by"]}
        span.add_event("stand-down asked for", told, timestamp=_ns(one["at"]))
    below = set_span_in_context(span)
    for member in report["members"]:
        if member["spans"]:
            _member(tracer, below, member)
    span.end(_ns(ended))


def _member(tracer: Tracer, below: Context, member: Mapping[str, Any]) -> None:
    states = member["spans"]
    attributes = {
        "headcount.member": f"{member['name']}#{member['generation']}",
        "headcount.role": member["role"],
        "headcount.outcome": member["outcome"] or "",
        "headcount.salvage": [saved["ref"] for saved in member["salvage"]],
    }
    begin = _ns(states[0]["from"])
    span = tracer.start_span(f"member {member['name']}", below, start_time=begin, attributes=attributes)
    for mark in member["marks"]:
        span.add_event(mark["kind"], {"headcount.what": mark["what"]}, timestamp=_ns(mark["at"]))
    if member["outcome"] in _BAD:
        span.set_status(StatusCode.ERROR, member["outcome"])
    inside = set_span_in_context(span)
    for state in states:
        tracer.start_span(state["state"], inside, start_time=_ns(state["from"])).end(_ns(state["to"]))
    span.end(_ns(states[-1]["to"]))


def _ns(at: float) -> int:
    return int(at * 1e9)
