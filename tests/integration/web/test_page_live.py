"""The live page on a real team: it changes by itself, and a person acts on it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from playwright.sync_api import Locator, Page, expect
from weblab import LIMIT_S, POLITE, QUICK, TEAM, UNTIDY, WebLab

from headcount.app.mail import send
from headcount.app.teams import create_team
from headcount.app.witness import nudge
from headcount.protocol.member import State
from headcount.protocol.team import Status
from tests.support.lab import add_ask


def row(page: Page, name: str) -> Locator:
    return page.locator("#rows tr", has=page.locator(f'button[data-key="{name}#1"]'))


def test_a_member_that_is_started_appears_and_one_that_goes_is_shown_gone(lab: WebLab, page: Page) -> None:
    lab.create()
    lab.start("ada")
    page.goto(lab.serve())
    expect(page.locator("#rows button.name")).to_have_text(["ada"])
    expect(row(page, "ada").locator(".state")).to_have_text("working")
    lab.start("ben", "exit 0")
    expect(page.locator("#rows button.name")).to_have_text(["ada", "ben"])
    expect(row(page, "ben").locator(".state")).to_have_text("ended")
    expect(page.locator("#link")).to_have_text("live")


def test_nothing_of_a_team_stays_on_the_page_when_another_is_chosen(lab: WebLab, page: Page) -> None:
    lab.create()
    lab.start("ada", UNTIDY)
    send(lab.app, "ada", "Only for crew", "the body of it", team=TEAM)
    create_team(lab.app, "other", "A team without members", environ=os.environ)
    page.goto(lab.serve())
    page.locator("#team").select_option(TEAM)
    expect(page.locator("#rows button.name")).to_have_text(["ada"])
    expect(page.locator("#panel")).to_contain_text("Only for crew")
    page.locator("#team").select_option("other")
    expect(page).to_have_title("other: active")
    expect(page.locator("#rows button.name")).to_have_count(0)
    expect(page.locator("#counts button")).to_have_count(0)
    expect(page.locator("#panel")).to_have_text("No mail yet.")
    page.locator("#team").select_option(TEAM)
    expect(page.locator("#rows button.name")).to_have_text(["ada"])


def test_what_is_unsaved_is_counted_while_a_member_works(lab: WebLab, page: Page) -> None:
    lab.create()
    lab.start("ada", UNTIDY)
    page.goto(lab.serve())
    expect(row(page, "ada").locator(".c-dirty")).to_have_text("1")
    with lab.app.store.read() as tx:
        place = tx.fact(f"{TEAM}#1", "ada#1", "workspace")
    assert place is not None
    (Path(place["path"]) / "more.md").write_text("x")
    expect(row(page, "ada").locator(".c-dirty")).to_have_text("2")


def test_mail_arrives_and_an_open_message_stays_open(lab: WebLab, page: Page) -> None:
    lab.create()
    lab.start("ada")
    send(lab.app, "ada", "First", "the body of it", team=TEAM)
    page.goto(lab.serve())
    page.get_by_text("First").click()
    expect(page.get_by_text("the body of it")).to_be_visible()
    send(lab.app, "ada", "Second", "another", team=TEAM)
    expect(page.get_by_text("Second")).to_be_visible()
    expect(page.get_by_text("the body of it")).to_be_visible()


def test_a_permission_request_is_answered_by_a_click(lab: WebLab, page: Page) -> None:
    lab.create()
    lab.start("ada")
    page.goto(lab.serve())
    expect(row(page, "ada").locator(".state")).to_have_text("working")
    first = add_ask(lab.app, TEAM, "ada#1", "make <b>test</b>")
    card = page.locator("#desk article")
    expect(card).to_contain_text("Run: make <b>test</b>")
    expect(row(page, "ada").locator(".state")).to_have_text("waiting")
    card.get_by_role("button", name="Deny").click()
    expect(card).to_have_count(0)
    second = add_ask(lab.app, TEAM, "ada#1", "make test")
    card.get_by_role("button", name="Always allow").click()
    expect(row(page, "ada").locator(".state")).to_have_text("working")
    with lab.app.store.read() as tx:
        answers = {ask.id: (ask.state, ask.by) for ask in tx.asks(f"{TEAM}#1")}
        always = tx.fact(f"{TEAM}#1", "", "always")
    assert answers == {first: ("denied", "operator"), second: ("allowed", "operator")}
    assert always == {"allow": ["make test"], "deny": []}


def test_an_escalation_is_decided_by_a_click(lab: WebLab, page: Page) -> None:
    lab.create()
    lab.start("ada", UNTIDY)
    page.goto(lab.serve())
    page.get_by_role("button", name="ada").click()
    page.locator("#member").get_by_role("button", name="Stand down…").click()
    page.locator("#ask").get_by_role("button", name="Stand down").click()
    card = page.locator("#desk article")
    expect(card).to_contain_text("1 untracked: notes.md")
    card.get_by_role("button", name="Save and stop").click()
    expect(row(page, "ada").locator(".state")).to_have_text("forced")
    expect(card).to_have_count(0)
    page.get_by_role("tab", name="Salvage").click()
    restore = page.locator("code.copy")
    expect(restore).to_have_text("headcount salvage restore refs/headcount/salvage/crew/ada/1 DIR")
    lab.wait(lambda team: team.status is Status.ACTIVE and not team.live())
    with lab.app.store.read() as tx:
        decided = tx.journal(f"{TEAM}#1", kinds=("decided",))
    assert [(e.data["decision"], e.data["by"]) for e in decided] == [("force-kill", "operator")]


def test_a_team_is_stood_down_from_the_page_until_proof(lab: WebLab, page: Page) -> None:
    lab.create()
    for name in ("ada", "ben", "cy"):
        lab.start(name, POLITE)
    page.goto(lab.serve())
    expect(page.locator("#down")).to_be_enabled()
    page.keyboard.press("d")
    page.get_by_label("Reason").fill("All done")
    page.keyboard.press("Enter")
    expect(page.locator("#progress")).to_contain_text("of 3 members proved gone")
    expect(page.locator("#status")).to_have_text("shutdown")
    expect(page.locator("#progress h2")).to_contain_text("with proof")
    expect(page.locator("#progress")).to_contain_text("3 of 3 members proved gone")
    lab.wait(lambda team: team.status is Status.SHUTDOWN)
    with lab.app.store.read() as tx:
        proofs = tx.facts(f"{TEAM}#1", "proof")
        asked = tx.journal(f"{TEAM}#1", kinds=("stand_down",))
    assert [proof["empty"] for proof in proofs.values()] == [True] * 3
    assert (asked[0].data["reason"], asked[0].data["by"]) == ("All done", "operator")


def test_the_decision_that_cannot_be_taken_says_why(lab: WebLab, page: Page) -> None:
    lab.create()
    lab.start("ada", UNTIDY)
    page.goto(lab.serve())
    expect(page.locator("#down")).to_be_enabled()
    page.keyboard.press("d")
    page.keyboard.press("Enter")
    reassign = page.locator("#desk article").get_by_role("button", name="Reassign")
    expect(reassign).to_be_disabled()
    expect(reassign).to_have_attribute("title", "crew is being stood down, nothing is reassigned")


def test_the_story_of_one_member_and_its_screen_are_a_click_away(lab: WebLab, page: Page) -> None:
    lab.create()
    lab.start("ada", f"echo hello from the other side; {POLITE}")
    page.goto(lab.serve())
    page.get_by_role("button", name="ada").press("Enter")
    expect(page.locator("dialog")).to_contain_text(["started", ""])
    page.get_by_role("button", name="Show its screen").click()
    expect(page.locator(".screen")).to_contain_text("hello from the other side")
    page.keyboard.press("Escape")
    expect(page.locator("dialog[open]")).to_have_count(0)


def test_a_page_that_lost_its_connection_says_so_and_the_team_is_not_touched(lab: WebLab, page: Page) -> None:
    lab.create(QUICK)
    lab.start("ada")
    page.goto(lab.serve())
    expect(page.locator("#link")).to_have_text("live")
    lab.stop_serving()
    expect(page.locator("#link")).to_have_text("connection lost, trying again")
    lab.wait(lambda team: team.members["ada#1"].state is State.RUNNING)
    nudge(lab.app, "ada", "still there", TEAM)


def test_the_report_is_downloaded_whole(lab: WebLab, page: Page, tmp_path: Path) -> None:
    lab.create()
    lab.start("ada")
    page.goto(lab.serve())
    expect(page.locator("#rows button.name")).to_have_text(["ada"])
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Report").click()
    waiting.value.save_as(tmp_path / "report.html")
    assert waiting.value.suggested_filename == "crew-report.html"
    assert "<svg" in (tmp_path / "report.html").read_text()


def test_serving_ends_at_once_and_without_a_word_while_a_page_is_open(lab: WebLab, page: Page) -> None:
    lab.create()
    lab.start("ada")
    page.goto(lab.serve())
    expect(page.locator("#link")).to_have_text("live")
    assert lab.server is not None
    lab.server.send_signal(signal.SIGINT)
    assert lab.server.wait(LIMIT_S) == 0
    assert lab.server.stderr is not None
    assert lab.server.stderr.read() == ""  # a stream that had to be cut off when its time was over is said
