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


NAME = "two\nlines\u202e<b>.py"
MAKES = r"""
python3 - <<'END'
name = "two\nlines\u202e<b>.py"
open(name, "w").write("x = '<script>window.hurt=1</script>'  # \u202e \x1b[2J\n")
open("long.txt", "w").write("y" * 1_000_000 + "\n")
open("many.py", "w").write("".join(f"value_{n} = {n}\n" for n in range(10_000)))
open("bytes.bin", "wb").write(bytes(range(256)) * 40)
print("z" * 1_000_000 + "\x1b[2J\u202e<img src=x onerror=window.hurt=1>")
END
git add --all && git commit --quiet -m '<script>window.hurt=1</script>'
"""


def test_hostile_diffs_and_transcripts_stay_text_and_small(lab: WebLab, page: Page) -> None:
    lab.create()
    lab.start("ada", f"{MAKES} touch $HEADCOUNT_HOME/made; {POLITE}")
    lab.wait(lambda _: Path(lab.app.home, "made").exists())
    page.goto(lab.serve())
    page.get_by_role("button", name="ada").click()
    sheet = page.locator("#member")
    sheet.get_by_role("tab", name="Diff").click()
    expect(sheet.locator(".files .path")).to_have_text(
        ["bytes.bin", "long.txt", "many.py", "two\nlines\ufffd<b>.py"], use_inner_text=False
    )
    expect(sheet.locator(".lines")).to_have_text(" A binary file")
    sheet.get_by_role("button", name="long.txt").click()
    expect(sheet.locator(".code.plus")).to_contain_text("998,000 more bytes")
    sheet.get_by_role("button", name="<b>.py").click()
    expect(sheet.locator(".code.plus")).to_contain_text(
        "'<script>window.hurt=1</script>'  # \ufffd \ufffd[2J"
    )
    sheet.get_by_role("button", name="many.py").click()
    expect(sheet.locator(".code.plus").first).to_have_text("+value_0 = 0")
    sheet.locator(".lines").evaluate("(node) => { node.scrollTop = node.scrollHeight; }")
    expect(sheet.locator(".code.plus").last).to_have_text("+value_9999 = 9999")
    assert sheet.locator(".line").count() < 120
    sheet.get_by_role("tab", name="Transcript").click()
    expect(sheet.locator(".transcript")).to_contain_text("more characters")
    assert page.evaluate("window.hurt") is None
    assert sheet.locator("img, script, b").count() == 0
