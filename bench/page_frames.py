"""The page with 300 members of which one changes each 100 ms, while it is scrolled: time of its main thread.

    python bench/page_frames.py [--members N] [--seconds N]

Needs chromium. A task's own time leaves out the time in which the machine ran other programs.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import threading
import time
from dataclasses import replace

from page_latency import running
from playwright.sync_api import Page, sync_playwright
from scene import make_team, open_empty

from headcount.app.app import App
from headcount.protocol.effects import Note
from headcount.protocol.member import State

FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
FRAMES = """
  window.times_ = [];
  let last = performance.now();
  const frame = (now) => { window.times_.push(now - last); last = now; requestAnimationFrame(frame); };
  requestAnimationFrame(frame);
"""


def change(app: App, over: threading.Event) -> None:
    """Move one member after the other from running to inspecting and back."""
    number = 0
    while not over.wait(0.1):
        with app.store.write(team="bench") as tx:
            team = tx.load_team("bench")
            assert team is not None
            member = list(team.members.values())[number * 37 % len(team.members)]
            state = State.INSPECTING if member.state is State.RUNNING else State.RUNNING
            changed = replace(member, state=state, epoch=member.epoch + 1)
            tx.save_team(team, replace(team, members={**team.members, member.key: changed}))
            moved = {"from": str(member.state), "to": str(state), "cue": "done"}
            tx.note(team.id, [Note("moved", member.key, moved)])
        app.store.ring(["team/bench"])
        number += 1


def scroll(page: Page, seconds: float) -> list[float]:
    """The times between frames, in milliseconds."""
    page.evaluate(FRAMES)
    page.locator("#roster").hover()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        page.mouse.wheel(0, 600)
        page.wait_for_timeout(100)
    found: list[float] = page.evaluate("window.times_")
    return found


def own_times(trace: bytes) -> list[float]:
    events = json.loads(trace)["traceEvents"]
    named = [e for e in events if e["name"] == "thread_name" and e["args"]["name"] == "CrRendererMain"]
    threads = {(e["pid"], e["tid"]) for e in named}
    tasks = [e for e in events if e["name"] == "ThreadControllerImpl::RunTask" and "tdur" in e]
    return sorted(e["tdur"] / 1000 for e in tasks if (e["pid"], e["tid"]) in threads)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--members", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=8)
    given = parser.parse_args()
    app, over = open_empty(), threading.Event()
    with app.store.write() as tx:
        make_team(tx, "bench", *(f"m{number:04}" for number in range(given.members)))
    changing = threading.Thread(target=change, args=(app, over))
    try:
        with running(["headcount", "serve", "--json"], app.root) as line, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(json.loads(line)["url"])
            page.wait_for_selector("#rows button.name")
            changing.start()
            browser.start_tracing(page=page, categories=["toplevel"])
            frames = scroll(page, given.seconds)
            tasks = own_times(browser.stop_tracing())
            over.set()
            changing.join()
            browser.close()
    finally:
        over.set()
        app.close()
        shutil.rmtree(app.root)
    frames.sort()
    print(f"{given.members} members, {given.seconds:g} s, load {os.getloadavg()[0]:.1f}")
    print(f"frames: {len(frames) / given.seconds:.0f} a second, median {statistics.median(frames):.1f} ms, "
          f"95 of 100 within {frames[int(len(frames) * 0.95)]:.1f} ms")  # fmt: skip
    print(f"main thread: {sum(tasks) / given.seconds / 10:.1f} % of a core, longest task {tasks[-1]:.1f} ms")


if __name__ == "__main__":
    main()
