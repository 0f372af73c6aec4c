"""A day at the page in a real browser: answer a question, allow an ask, read a diff, merge, end it quickly.

Each view is checked by axe in light and dark on the way.
"""

from __future__ import annotations

import http.client
import os
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect
from weblab import TEAM, UNTIDY, WebLab

from headcount.app.standing_down import stand_down
from headcount.protocol.team import Status
from tests.support.lab import add_ask

AXE = Path(os.environ.get("HEADCOUNT_AXE", ".tools/node_modules/axe-core/axe.min.js"))
WORKS = """
printf 'import math\\n\\n\\ndef area(r: float) -> float:\\n    return math.pi * r**2\\n' > circle.py
git add circle.py && git commit --quiet -m 'Compute areas'
echo '2 failed, 3 passed'
headcount send operator -s 'Which unit?' -m 'Metres or feet?'
headcount inbox --wait 100 --unread > "$HEADCOUNT_HOME/reply"
sleep 1000 & wait
"""


class Axe:
    """Runs axe in the page; its rules for WCAG 2 A and AA and its best practices."""

    def __init__(self, page: Page) -> None:
        assert AXE.exists(), "axe is not installed: .ci/tools"
        self._page = page
        page.evaluate(AXE.read_text())

    def check(self) -> None:
        for scheme in ("light", "dark"):
            self._page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            found: dict[str, Any] = self._page.evaluate(
                "axe.run(document, { resultTypes: ['violations'], elementRef: false })"
            )
            said = [(v["id"], [node["html"][:160] for node in v["nodes"]]) for v in found["violations"]]
            assert said == [], scheme


def open_tab(page: Page, name: str) -> None:
    page.locator("#member").get_by_role("tab", name=name).click()


def test_a_day_at_the_page(lab: WebLab, page: Page) -> None:
    lab.create()
    lab.start("ada", WORKS)
    lab.start("ben", UNTIDY)
    page.goto(lab.serve())
    axe = Axe(page)

    question = page.locator("#desk article", has_text="Which unit?")
    expect(question).to_contain_text("Metres or feet?")
    expect(page.locator("#rows tr.needs button.name")).to_have_text(["ada"])
    axe.check()
    question.get_by_label("Reply to ada#1").fill("Metres")
    question.get_by_role("button", name="Reply").click()
    expect(question).to_have_count(0)
    lab.wait(lambda _: "Metres" in Path(lab.app.home, "reply").read_text())

    add_ask(lab.app, TEAM, "ada#1", "make test")
    ask = page.locator("#desk article", has_text="Run: make test")
    ask.get_by_role("button", name="Allow", exact=True).click()
    expect(page.locator("#desk-title")).to_have_text("Nothing needs you")

    page.get_by_role("button", name="ada").click()
    sheet = page.locator("#member")
    expect(sheet).to_contain_text("started")
    axe.check()
    open_tab(page, "Transcript")
    expect(sheet.locator(".transcript")).to_contain_text("2 failed, 3 passed")
    open_tab(page, "Diff")
    expect(sheet).to_contain_text("1 commit since")
    expect(sheet).to_contain_text("Tests: 2 failed, 3 passed")
    expect(sheet.locator(".code.plus")).to_contain_text(["import math", "def area", "return math.pi"])
    expect(sheet.locator(".t-k").first).to_have_text("import")
    axe.check()
    sheet.get_by_role("button", name="Unified").click()
    expect(sheet.locator(".line.plus")).to_have_count(5)
    sheet.get_by_role("button", name="Merge into my branch").click()
    expect(sheet).to_contain_text("Merged 1 commit into main.")
    assert Path(lab.app.root, "circle.py").read_text().startswith("import math")
    page.keyboard.press("Escape")

    page.keyboard.press("d")
    page.get_by_label("The same, without waiting for answers").check()
    axe.check()
    page.locator("#go").click()
    expect(page.locator("#status")).to_have_text("shutdown")
    expect(page.locator("#progress")).to_contain_text("2 of 2 members proved gone")
    with lab.app.store.read() as tx:
        assert tx.journal(f"{TEAM}#1", kinds=("answers_not_awaited",))
    page.keyboard.press("t")
    expect(page.locator("#ask")).to_contain_text("crew#1")
    axe.check()


def test_many_escalations_of_one_cause_are_decided_by_one_button(lab: WebLab, page: Page) -> None:
    lab.create()
    for name in ("ada", "ben", "cy"):
        lab.start(name, UNTIDY)
    page.goto(lab.serve())
    stand_down(lab.app, TEAM)
    card = page.locator("#desk > article", has_text="3 members")
    card.get_by_role("button", name="Save and stop all").click()
    expect(page.locator("#status")).to_have_text("shutdown")
    with lab.app.store.read() as tx:
        decided = tx.journal(f"{TEAM}#1", kinds=("decided",))
    assert [entry.data["decision"] for entry in decided] == ["force-kill"] * 3


def test_a_member_is_started_paused_and_written_to_from_the_page(lab: WebLab, page: Page) -> None:
    lab.create()
    Path(lab.app.root, "headcount.toml").write_text('[agents.ada]\ncommand = ["sleep", "1000"]\n')
    page.goto(lab.serve())
    expect(page.locator("#start")).to_be_enabled()
    page.keyboard.press("a")
    page.get_by_role("textbox", name="Name").fill("ada")
    page.get_by_label("What it is to do").fill("Wait <b>here</b>")
    page.get_by_role("button", name="Start", exact=True).click()
    pill = page.locator("#rows .state")
    expect(pill).to_have_text("working")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    sheet = page.locator("#member")
    expect(sheet.locator("pre")).to_contain_text(["Wait <b>here</b>"])
    sheet.get_by_role("button", name="Pause").click()
    expect(pill).to_have_text("paused")
    sheet.get_by_role("button", name="Resume").click()
    expect(pill).to_have_text("working")
    sheet.get_by_label("Message or nudge").fill("Still there?")
    sheet.get_by_role("button", name="Send").click()
    page.keyboard.press("Escape")
    expect(page.locator("#panel")).to_contain_text("Still there?")
    lab.wait(lambda team: team.status is Status.ACTIVE)


def test_F131_a_stream_of_a_silent_member_ends_with_its_reader(lab: WebLab) -> None:
    """Each reader of a transcript has a thread. It must not wait for a member that prints nothing."""
    lab.create()
    lab.start("ada")
    lab.serve()
    assert lab.server is not None
    threads = f"/proc/{lab.server.pid}/task"
    readers = [http.client.HTTPConnection(lab.origin.removeprefix("http://")) for _ in range(30)]
    for reader in readers:
        path = f"/api/teams/{TEAM}/members/ada%231/transcript"
        reader.request("GET", path, headers={"Authorization": f"Bearer {lab.token}"})
        assert reader.getresponse().status == 200
    lab.wait(lambda _: len(os.listdir(threads)) > len(readers))
    for reader in readers:
        reader.close()
    lab.wait(lambda _: len(os.listdir(threads)) < len(readers))
