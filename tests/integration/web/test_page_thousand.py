"""A thousand members, one of them changing every 100 ms: the browser never stops for long."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace

from playwright.sync_api import Browser, Page, expect
from weblab import TEAM, WebLab

from headcount.protocol.effects import Note
from headcount.protocol.member import Member, State

NUMBER = 1000
SECONDS = 6.0
LONGEST_MS = 100
_RECORD = """
  window.long = []; window.frames_ = 0;
  new PerformanceObserver((list) => window.long.push(...list.getEntries().map((e) => e.duration)))
    .observe({ type: "longtask", buffered: true });
  const frame = () => { window.frames_ += 1; requestAnimationFrame(frame); };
  requestAnimationFrame(frame);
"""


def make_thousand(lab: WebLab) -> list[Member]:
    lab.create()
    members = [Member(f"m{number:04}", 1, state=State.RUNNING, task=str(number)) for number in range(NUMBER)]
    notes = [Note("starting", m.key, {"role": "worker", "by": "operator"}) for m in members]
    notes += [
        Note("moved", m.key, {"from": "starting", "to": "running", "cue": "registered"}) for m in members
    ]
    lab.put({m.key: m for m in members}, notes)
    return members


def change_one_every_100_ms(lab: WebLab, members: list[Member], over: threading.Event) -> int:
    """Those in sight and those far below, in turn."""
    times = 0
    while not over.wait(0.1):
        member = members[times * 37 % NUMBER if times % 2 else times % 20]
        state = State.INSPECTING if member.state is State.RUNNING else State.RUNNING
        members[int(member.name[1:])] = changed = replace(member, state=state, epoch=member.epoch + 1)
        moved = {"from": str(member.state), "to": str(state), "cue": "done"}
        lab.put({member.key: changed}, [Note("moved", member.key, moved)])
        times += 1
    return times


def own_times_ms(trace: bytes) -> list[float]:
    """How long each task of the page's main thread ran, without the time in which the machine ran others."""
    events = json.loads(trace)["traceEvents"]
    named = [e for e in events if e["name"] == "thread_name" and e["args"]["name"] == "CrRendererMain"]
    threads = {(e["pid"], e["tid"]) for e in named}
    tasks = [e for e in events if e["name"] == "ThreadControllerImpl::RunTask" and "tdur" in e]
    return [e["tdur"] / 1000 for e in tasks if (e["pid"], e["tid"]) in threads]


def scroll_about(page: Page) -> float:
    """The frames a second meanwhile."""
    began, frames = time.monotonic(), page.evaluate("window.frames_")
    page.locator("#roster").hover()
    while time.monotonic() - began < SECONDS:
        page.mouse.wheel(0, 900)
        page.wait_for_timeout(100)
    return float(page.evaluate("window.frames_") - frames) / (time.monotonic() - began)


def test_a_thousand_members_with_one_changing_each_100_ms_stay_smooth(
    idle_lab: WebLab, browser: Browser, page: Page
) -> None:
    members = make_thousand(idle_lab)
    idle_lab.serve()
    page.add_init_script(_RECORD)
    over = threading.Event()
    changing = threading.Thread(target=change_one_every_100_ms, args=(idle_lab, members, over))
    changing.start()
    try:
        browser.start_tracing(page=page, categories=["toplevel"])
        page.goto(idle_lab.url)
        expect(page.locator("#rows .s-inspecting").first).to_be_visible()
        per_second = scroll_about(page)
        times = own_times_ms(browser.stop_tracing())
    finally:
        over.set()
        changing.join()
    long = page.evaluate("window.long")
    assert len(times) > 100
    assert max(times) <= LONGEST_MS, (sorted(times)[-5:], long)
    assert per_second > 10
    assert page.locator("#rows button.name").count() < 80
    with idle_lab.app.store.read() as tx:
        team = tx.load_team(TEAM)
    assert team is not None
    inspecting = sum(1 for m in team.members.values() if m.state is State.INSPECTING)
    expect(page.locator("#counts")).to_contain_text(f"inspecting {inspecting}")
    print(f"longest task {max(times):.0f} ms of its own, {per_second:.0f} frames a second, long tasks {long}")


def test_any_of_a_thousand_is_reached_by_keyboard_and_by_filter(idle_lab: WebLab, page: Page) -> None:
    make_thousand(idle_lab)
    page.goto(idle_lab.serve())
    expect(page.locator("#counts")).to_contain_text("1000")
    page.keyboard.press("j")
    for _ in range(12):
        page.keyboard.press("PageDown")
    expect(page.get_by_role("button", name="m0120")).to_be_focused()
    assert page.locator("#roster table").get_attribute("aria-rowcount") == str(NUMBER + 1)
    row = page.locator("#rows tr", has=page.get_by_role("button", name="m0120"))
    expect(row).to_have_attribute("aria-rowindex", "122")
    page.keyboard.press("/")
    page.keyboard.type("m0777")
    expect(page.locator("#rows button.name")).to_have_text(["m0777"])
