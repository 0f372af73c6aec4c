"""Whatever an agent wrote stays text, on the page and in the report."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, expect
from weblab import POLITE, TEAM, WebLab

from headcount.app import tasks
from headcount.app.mail import send
from headcount.app.report import read_report
from headcount.web.report_page import write_report

HOSTILE = '<img src=x onerror="window.hurt=1"><script>window.hurt=1</script>'
LONG = "A" + "x" * 62 + "Z"  # as long as a name may be: names with markup in them are refused when they come


def test_a_hostile_message_file_task_and_screen_stay_text(lab: WebLab, page: Page, tmp_path: Path) -> None:
    lab.create()
    file = "<svg onload=window.hurt=1>.md"
    lab.start(LONG, f"echo x > '{file}'; printf '%s\\n' '{HOSTILE}' '\\033[2J'; {POLITE}", prompt=HOSTILE)
    send(lab.app, LONG, HOSTILE, HOSTILE, team=TEAM)
    tasks.create(lab.app, HOSTILE, HOSTILE, team=TEAM)
    page.goto(lab.serve())
    page.get_by_text("window.hurt").first.click()
    expect(page.locator("#panel")).to_contain_text(HOSTILE)
    page.get_by_role("tab", name="Tasks").click()
    expect(page.locator("#panel")).to_contain_text(HOSTILE)
    page.get_by_role("tab", name="Log").click()
    page.get_by_role("button", name=LONG).click()
    page.get_by_role("button", name="Show its screen").click()
    expect(page.locator(".screen")).to_contain_text("window.hurt")
    assert page.evaluate("window.hurt") is None
    assert page.locator("main img, main script, dialog img, dialog script").count() == 0
    (tmp_path / "report.html").write_text(write_report(read_report(lab.app, TEAM)))
    page.goto(f"file://{tmp_path}/report.html")
    expect(page.locator("body")).to_contain_text(LONG)
    assert page.evaluate("window.hurt") is None
    assert page.locator("img, script").count() == 0
