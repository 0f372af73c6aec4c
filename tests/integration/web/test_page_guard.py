"""Who gets in: nobody without the token, no page of another origin, no other name for us, and no member."""

from __future__ import annotations

import http.client
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from weblab import POLITE, TEAM, WebLab

from headcount.protocol.member import State

DOWN = f"api/teams/{TEAM}/stand-down"


@pytest.fixture
def served(lab: WebLab) -> WebLab:
    lab.create()
    lab.start("ada")
    lab.serve()
    return lab


def untouched(lab: WebLab) -> bool:
    with lab.app.store.read() as tx:
        team = tx.load_team(TEAM)
        asked = tx.journal(f"{TEAM}#1", kinds=("stand_down",))
    return team is not None and team.members["ada#1"].state is State.RUNNING and not asked


def test_a_stand_down_without_the_token_is_refused_and_nothing_happens(served: WebLab) -> None:
    for headers in ({}, {"Authorization": "Bearer "}, {"Authorization": f"Bearer {served.token}x"}):
        status, answer = served.call(DOWN, {}, Origin=served.origin, **headers)
        assert (status, answer["error"]["code"]) == (401, "bad-token")
    assert untouched(served)


def test_reading_needs_the_token_too(served: WebLab) -> None:
    for path in ("api/events", f"api/teams/{TEAM}/events", f"api/teams/{TEAM}/report"):
        assert served.call(path)[0] == 401


@pytest.mark.parametrize("origin", ["", "null", "http://evil.example", "http://127.0.0.1:1"])
def test_another_origin_changes_nothing_even_with_the_token(served: WebLab, origin: str) -> None:
    headers = {"Authorization": f"Bearer {served.token}", **({"Origin": origin} if origin else {})}
    status, answer = served.call(DOWN, {}, **headers)
    assert (status, answer["error"]["code"]) == (403, "wrong-origin")
    assert untouched(served)


def test_a_name_that_somebody_pointed_at_us_is_refused(served: WebLab) -> None:
    port = int(served.origin.rpartition(":")[2])
    for host in (f"evil.example:{port}", "127.0.0.1:1", "127.0.0.1", f"10.0.0.1:{port}"):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/", headers={"Host": host})
        assert connection.getresponse().status == 403, host
        connection.close()


def test_a_member_that_has_the_token_is_still_not_the_operator(lab: WebLab, tmp_path: Path) -> None:
    lab.create()
    url = lab.serve()
    out = tmp_path / "answer"
    call = (
        "import sys, urllib.request, urllib.error\n"
        f"request = urllib.request.Request('{lab.origin}/{DOWN}', b'{{}}', "
        f"{{'Authorization': 'Bearer {lab.token}', 'Origin': '{lab.origin}'}})\n"
        "try: said = urllib.request.urlopen(request).read()\n"
        "except urllib.error.HTTPError as error: said = error.read()\n"
        f"open('{out}', 'wb').write(said)\n"
    )
    (tmp_path / "call.py").write_text(call)
    lab.start("ada", f"{sys.executable} {tmp_path}/call.py; touch {tmp_path}/done; {POLITE}")
    subprocess.run(
        ["timeout", "60", "sh", "-c", f"until [ -e {tmp_path}/done ]; do sleep 0.05; done"], check=True
    )
    assert url
    assert '"not-operator"' in out.read_text()
    assert untouched(lab)


def test_the_page_without_its_token_shows_nothing_and_says_what_to_do(served: WebLab, page: Page) -> None:
    page.goto(served.origin)
    expect(page.locator("#notice")).to_contain_text("The token is missing or wrong")
    expect(page.locator("#link")).to_have_text("refused")
    expect(page.locator("#rows button")).to_have_count(0)
    expect(page.locator("#down")).to_be_disabled()


def test_the_token_leaves_the_address_at_once_and_a_reload_still_works(served: WebLab, page: Page) -> None:
    page.goto(served.url)
    expect(page.locator("#rows button")).to_have_count(1)
    assert page.url == f"{served.origin}/"
    page.reload()
    expect(page.locator("#rows button")).to_have_count(1)
    assert page.context.cookies() == []


def test_a_page_elsewhere_cannot_call_us_from_the_operators_browser(served: WebLab, browser: Browser) -> None:
    page = browser.new_page()
    page.goto("data:text/html,<p>elsewhere</p>")
    call = "([url, more]) => fetch(url, {method: 'POST', body: '{}', ...more}).then(() => 1, () => 0)"
    where = f"{served.origin}/{DOWN}"
    assert page.evaluate(call, [where, {"headers": {"Authorization": f"Bearer {served.token}"}}]) == 0
    page.evaluate(call, [where, {"mode": "no-cors"}])  # this one is sent, and refused when it arrives
    page.close()
    assert untouched(served)


def test_the_page_loads_only_from_us_and_lets_nothing_become_markup(served: WebLab, page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    answer = page.goto(served.url)
    expect(page.locator("#rows button")).to_have_count(1)
    assert answer is not None
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "require-trusted-types-for 'script'" in policy
    assert [url for url in asked if not url.startswith(served.origin)] == []


def test_no_file_outside_of_the_page_is_served(served: WebLab) -> None:
    for path in ("..%2fserver.py", "%2e%2e/server.py", "server.py", ".env", "static/main.js", "nothing.js"):
        assert served.call(path)[0] == 404, path
