"""The report's pieces: text stays text, and the picture says what the journal says."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

from headcount.app.timeline import read_timeline
from headcount.ports import Entry
from headcount.web.html_parts import draw_timeline, el, join, say_seconds
from headcount.web.report_page import write_report

HOSTILE = '<script>alert(1)</script><img src=x onerror=alert(2)>" onload="alert(3)'
REVERSED = "\N{RIGHT-TO-LEFT OVERRIDE}"


class Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def entry(seq: int, at: float, kind: str, about: str, **data: Any) -> Entry:
    return Entry(seq, "crew#1", at, kind, about, data)


def moved(seq: int, at: float, before: str, after: str) -> Entry:
    return entry(seq, at, "moved", "ada#1", **{"from": before, "to": after, "cue": "x"})


def a_member(**more: Any) -> dict[str, Any]:
    return {
        "name": "ada", "generation": 1, "role": "worker", "state": "gone", "outcome": "clean", "task": None,
        "answer": "approved", "answerReason": "", "attempts": 1, "issues": [], "failure": None, "cause": None,
        "branch": "b", "processes": None, "salvage": [], "spans": [], "marks": [], "checkpoints": [],
        "findings": None, "usage": None, "doing": None, "commits": [], "change": None,
        "seconds": {"working": 5.0, "idle": 0.0, "paused": 0.0, "limited": 0.0}, **more,
    }  # fmt: skip


def a_report(**more: Any) -> dict[str, Any]:
    return {
        "summary": "One agent.",
        "team": "crew", "teamId": "crew#1", "description": "", "status": "shutdown", "began": 0.0,
        "ended": 10.0, "seconds": 10.0, "archive": None, "members": [a_member()], "tasks": [],
        "standDowns": [], "run": None, "cost_usd": None,
        "escalations": [], "unreadMail": [], "warnings": [], "story": [], **more,
    }  # fmt: skip


def test_text_is_escaped_in_content_and_in_attributes() -> None:
    made = el("p", HOSTILE, title=HOSTILE)
    assert [tag for tag, _ in Tags(made).found] == ["p"]
    assert Tags(made).found[0][1] == {"title": HOSTILE}


def test_markup_is_not_escaped_twice_and_plain_text_beside_it_is() -> None:
    assert join(el("b", "x"), "<") == "<b>x</b>&lt;"


def test_a_direction_override_does_not_reach_the_page() -> None:
    assert REVERSED not in el("p", f"a{REVERSED}b", title=REVERSED)


def test_whatever_an_agent_wrote_adds_no_element_to_the_report() -> None:
    story = [{"seq": 1, "at": 1.0, "who": "ada#1", "kind": "answered", "what": HOSTILE}]
    saved = {
        "ref": HOSTILE, "commit": "c" * 40, "files": 1, "bytes": 5, "restore": HOSTILE, "lost": False,
        "leftOut": [{"path": HOSTILE, "size": 9, "why": HOSTILE}],
    }  # fmt: skip
    member = a_member(
        issues=[HOSTILE],
        answerReason=HOSTILE,
        usage={"tokens": 7, "turns": 1, "cost_usd": 1.5, "refused": {"count": 2, "last": HOSTILE}},
        doing={"text": HOSTILE, "at": "2026-11-17T10:20:02.511+00:00"},
        salvage=[saved],
        task="1",
        commits=[{"commit": "d" * 40, "author": HOSTILE, "at": "", "subject": HOSTILE}],
        change={"files": 1, "added": 2, "removed": 0},
        marks=[{"at": 1.0, "kind": "answered", "what": HOSTILE}],
    )
    mail = [{"id": "1", "from": HOSTILE, "to": HOSTILE, "meantFor": HOSTILE, "subject": HOSTILE}]
    task = {"id": "1", "subject": HOSTILE, "status": "complete", "owner": HOSTILE, "reason": HOSTILE}
    page = write_report(
        a_report(
            description=HOSTILE,
            story=story,
            members=[member],
            tasks=[task],
            warnings=[HOSTILE],
            unreadMail=mail,
        )
    )
    tags = Tags(page).found
    assert not {tag for tag, _ in tags} & {"script", "img", "iframe", "a", "link"}
    assert not [name for _, attributes in tags for name in attributes if name.startswith("on")]
    assert page.count("&lt;script&gt;") >= 8


def test_the_report_loads_nothing_from_anywhere() -> None:
    page = write_report(a_report())
    assert not re.search(r"(?:src|href)=|url\(|@import", page)
    assert {"default-src 'none'; style-src 'unsafe-inline'"} <= {
        a.get("content") for _, a in Tags(page).found
    }


def test_a_lane_has_a_span_for_each_state_and_ends_when_its_member_is_gone() -> None:
    journal = [
        entry(1, 0.0, "starting", "ada#1"),
        moved(2, 1.0, "starting", "running"),
        moved(3, 4.0, "running", "asked"),
        moved(4, 5.0, "asked", "asked"),
        moved(5, 6.0, "asked", "gone"),
    ]
    lane = read_timeline(journal).lanes["ada#1"].as_dict(100.0)
    assert [(s["state"], s["from"], s["to"]) for s in lane["spans"]] == [
        ("starting", 0.0, 1.0), ("running", 1.0, 4.0), ("asked", 4.0, 6.0),
    ]  # fmt: skip


def test_idle_paused_and_limited_time_is_no_working_time() -> None:
    """And a transition to the same state, as a claim, ends the idle time."""
    journal = [
        entry(1, 0.0, "starting", "ada#1"),
        moved(2, 1.0, "starting", "running"),
        entry(3, 2.0, "moved", "ada#1", **{"from": "running", "to": "running", "cue": "idle"}),
        entry(4, 5.0, "moved", "ada#1", **{"from": "running", "to": "running", "cue": "claimed"}),
        entry(5, 6.0, "paused", "ada#1", by="operator"),
        entry(6, 7.0, "moved", "ada#1", **{"from": "running", "to": "running", "cue": "changes"}),
        entry(7, 8.0, "resumed", "ada#1", by="operator"),
        entry(8, 9.0, "limited", "ada#1", reason="", until=""),
        entry(9, 11.0, "limit_over", "ada#1"),
        moved(10, 12.0, "running", "asked"),
        entry(11, 12.5, "limited", "ada#1", reason="", until=""),
        moved(12, 13.0, "asked", "gone"),
    ]
    lane = read_timeline(journal).lanes["ada#1"].as_dict(100.0)
    assert [(s["state"], s["from"], s["to"]) for s in lane["spans"]] == [
        ("starting", 0.0, 1.0), ("running", 1.0, 2.0), ("idle", 2.0, 5.0), ("running", 5.0, 6.0),
        ("paused", 6.0, 8.0), ("running", 8.0, 9.0), ("limited", 9.0, 11.0), ("running", 11.0, 12.0),
        ("asked", 12.0, 13.0),
    ]  # fmt: skip
    page = write_report(a_report(members=[a_member(**lane)]))
    assert all(f'class="s-{state}"' in page for state in ("idle", "paused", "limited"))


def test_the_last_span_of_one_that_is_there_reaches_to_now() -> None:
    lane = read_timeline([entry(1, 3.0, "starting", "ada#1")]).lanes["ada#1"]
    assert lane.as_dict(9.0)["spans"] == [{"state": "starting", "from": 3.0, "to": 9.0}]


def test_a_moment_too_short_for_a_pixel_is_drawn_all_the_same() -> None:
    spans = [{"state": "killing", "from": 5.0, "to": 5.000001}]
    picture = draw_timeline([a_member(spans=spans)], 0.0, 36000.0, "t")
    assert 'class="s-killing"' in picture
    assert 'width="1.5"' in picture


def test_a_short_stand_down_of_a_long_life_is_drawn_once_more_by_itself() -> None:
    asked = {
        "requestId": "r", "at": 9000.0, "from": 8999.9, "to": 9005.0, "by": "operator", "reason": "",
        "seconds": 5.0, "targets": ["ada#1"], "wholeTeam": True, "status": "shutdown", "rejectedBy": [],
    }  # fmt: skip
    member = a_member(spans=[{"state": "running", "from": 0.0, "to": 9005.0}])
    long = write_report(a_report(ended=9005.0, standDowns=[asked], members=[member]))
    short = write_report(
        a_report(ended=10.0, standDowns=[{**asked, "from": 2.0, "to": 9.0}], members=[member])
    )
    of_nobody = write_report(a_report(ended=9005.0, standDowns=[{**asked, "targets": []}], members=[member]))
    assert [page.count("<svg") for page in (long, short, of_nobody)] == [2, 1, 1]


def test_seconds_are_said_as_a_person_would() -> None:
    said = [say_seconds(s) for s in (0, 0.44, 12, 60, 200, 7500)]
    assert said == ["0 s", "0.4 s", "12 s", "1 min", "3 min 20 s", "2 h 5 min"]


def test_what_is_alive_is_named_as_a_process_is() -> None:
    tail = {"pid": 7, "start": 1, "name": "tail", "evidence": "mark", "ended": ""}
    proof = {"empty": False, "method": "subreaper+mark", "at": 9.0, "processes": [], "alive": [tail]}
    page = write_report(a_report(members=[a_member(outcome="stuck", processes=proof)]))
    assert "7 tail is alive" in page and "evidence" not in page


def test_checkpoints_are_a_strip_of_points_with_their_times() -> None:
    at = "2026-11-17T10:41:53.000+00:00"
    points = [
        {"id": f"ada@{n}", "at": at, "files": n, "why": HOSTILE, "number": n, "head": None, "leftOut": []}
        for n in (1, 2)
    ]
    page = write_report(a_report(members=[a_member(checkpoints=points)]))
    titles = [attributes["title"] for tag, attributes in Tags(page).found if tag == "i"]
    assert titles == [
        f"ada@1, 2026-11-17 10:41:53, 1 file, {HOSTILE}",
        f"ada@2, 2026-11-17 10:41:53, 2 files, {HOSTILE}",
    ]
    assert "headcount checkpoints restore ada --at ada@2 --into DIR" in page
