"""The corners of ACP with a scripted agent: what it may send, refuse or leave out, and what the host does."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headcount.agents.acp import acp_host, acp_link
from headcount.agents.acp.acp_host import AcpHost
from headcount.agents.acp.acp_link import LONGEST_LINE, AgentGone, Link
from headcount.agents.acp.acp_messages import choose, describe_call, is_own, read_wanted
from headcount.agents.acp.known_agents import UNKNOWN, AcpAgent
from headcount.agents.client import Seen
from headcount.agents.host import Answer, Wanted
from headcount.agents.host.host_process import Options
from headcount.domain.records import Mail

AGENT = Path(__file__).parents[2] / "support" / "acp_agent.py"
END = {"end": "end_turn", "usage": {"totalTokens": 5}}
OPTIONS = [{"optionId": "y", "kind": "allow_once"}, {"optionId": "n", "kind": "reject_once"}]
RUN = {"toolCallId": "c", "kind": "execute", "title": "make", "rawInput": {"command": "make all"}}


class Enough(Exception):
    """No more mail: the test has seen all turns."""


class Reports:
    """The team, as the host sees it: some mail, and what was reported."""

    def __init__(self, mail: list[str]) -> None:
        self.mail = [Mail(f"m{n}", "crew#1", "lead", "ann#1", "Order", body) for n, body in enumerate(mail)]
        self.turns: list[tuple[Seen, int]] = []
        self.doing: list[str] = []
        self.asked: list[Wanted] = []
        self.warned: list[str] = []
        self.parked: list[str] = []
        self.causes: list[str] = []
        self.left: list[str] = []
        self.used: list[Seen] = []
        self.above = False
        self.first: Mail | None = None
        self.decide: Callable[[Wanted], Answer] = lambda wanted: Answer(True)
        self.idle: Callable[[], None] = lambda: None

    def unread(self) -> list[Mail]:
        return self.mail[:1]

    def mark_read(self, shown: list[Mail]) -> None:
        self.mail = self.mail[len(shown) :]

    def wait_for_mail(self) -> None:
        if not self.mail:
            raise Enough
        self.idle()

    def record_turn(self, seen: Seen, code: int, cause: str = "") -> None:
        self.turns.append((seen, code))
        self.causes.append(cause)

    def restarts(self) -> int:
        return 2

    def fail(self, cause: str) -> None:
        self.causes.append(cause)

    def record_rest(self, ended: list[str]) -> None:
        self.left.extend(ended)

    def show(self, mail: list[Mail]) -> None: ...

    def record_usage(self, seen: Seen) -> bool:
        self.used.append(seen)
        return self.above

    def report_activity(self, text: str) -> None:
        self.doing.append(text)

    def ask(self, wanted: Wanted, gone: int | None = None) -> Answer:
        self.asked.append(wanted)
        return self.decide(wanted)

    def warn(self, text: str) -> None:
        self.warned.append(text)

    def limit_end(self, resets_at: float | None, count: int) -> float:
        return 0.0

    def park(self, reason: str, until: float) -> None:
        self.parked.append(reason)

    def begin_work(self) -> None: ...
    def end_work(self) -> None: ...
    def lift_limit(self) -> None: ...


class Processes:
    """Nothing is left: `runtime/turn_tree.py` has tests of its own, and would search below this process."""

    def begin(self) -> dict[str, str]:
        return {}

    def end_rest(self) -> list[str]:
        return ["rest"]

    def reap(self, client: int = 0) -> None: ...


class Stage:
    """One host and its scripted agent, which is run until its mail is used up."""

    def __init__(self, place: Path) -> None:
        self.script = place / "script.json"
        self.reports = Reports([])
        self.code: int | None = None
        self.host: AcpHost | None = None

    def run(
        self,
        *prompts: list[Any],
        mail: int = 1,
        row: AcpAgent = UNKNOWN,
        permissions: str = "edit",
        deny: tuple[str, ...] = (),
        **script: Any,
    ) -> Reports:
        self.script.write_text(json.dumps({"prompts": prompts, **script}))
        self.reports.mail = Reports([f"order {n}" for n in range(mail)]).mail
        if self.reports.first is not None:
            self.reports.mail[0] = self.reports.first
        command = (sys.executable, "-S", "-E", str(AGENT), str(self.script))
        options = Options(permissions=permissions, deny=deny)
        self.host = AcpHost(self.reports, row, command, options, Processes())  # type: ignore[arg-type]
        try:
            self.code = self.host.run_turns()
        except Enough:
            pass
        return self.reports

    def sent(self, method: str | None = None) -> list[dict[str, Any]]:
        """What the agent received."""
        lines = Path(f"{self.script}.log").read_text().splitlines()
        messages = [json.loads(line) for line in lines]
        return [m for m in messages if method is None or m.get("method") == method]


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    (tmp_path / "w").mkdir()
    monkeypatch.chdir(tmp_path / "w")
    for name, value in {
        "HOME": str(tmp_path / "state"), "TEAM": "crew", "MEMBER": "ann", "GENERATION": "1",
        "TOKEN": "secret",
        "PROMPT_FILE": os.devnull,
    }.items():  # fmt: skip
        monkeypatch.setenv(f"HEADCOUNT_{name}", value)
    monkeypatch.setattr(acp_host, "_TOOLS_S", 0.0)
    monkeypatch.setattr("headcount.agents.host.host_process._AGAIN_S", 0.0)
    monkeypatch.setattr("headcount.agents.host.host_process._LIMIT_MARGIN_S", 0.0)
    before = signal.getsignal(signal.SIGTERM)
    yield Stage(tmp_path)
    signal.signal(signal.SIGTERM, before)


def failed(reports: Reports) -> list[str]:
    return [cause for cause in reports.causes if cause]


def test_a_session_has_the_workspace_and_headcounts_server_with_the_members_variables(stage: Stage) -> None:
    stage.run([END])
    (new,) = stage.sent("session/new")
    assert new["params"]["cwd"] == os.getcwd()
    (server,) = new["params"]["mcpServers"]
    assert server["name"] == "headcount" and server["args"][-1] == "mcp"
    assert {"name": "HEADCOUNT_TOKEN", "value": "secret"} in server["env"]
    (hello,) = stage.sent("initialize")
    assert hello["params"]["clientCapabilities"] == {
        "fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}  # fmt: skip


def test_mail_becomes_one_prompt_after_the_other_in_one_session_and_the_brief_is_in_the_first(
    stage: Stage,
) -> None:
    reports = stage.run([END], [END], [END], mail=3)
    prompts = [m["params"]["prompt"][0]["text"] for m in stage.sent("session/prompt")]
    assert ["order 0" in prompts[0], "order 1" in prompts[1], "order 2" in prompts[2]] == [True] * 3
    assert "You are ann, a member" in prompts[0] and "You are ann, a member" not in prompts[1]
    assert len(stage.sent("session/new")) == 1 and [seen.tokens for seen, _ in reports.turns] == [5, 5, 5]


@pytest.mark.parametrize("row", [UNKNOWN, AcpAgent("x", "X", (), "", counts=True)])
def test_F113_a_turn_that_ended_without_tokens_or_a_tool_call_has_failed_and_keeps_its_mail(
    stage: Stage, row: AcpAgent
) -> None:
    said = [{"say": "Error: something broke"}] if row.counts else []
    reports = stage.run([*said, {"end": "end_turn"}], [END], row=row)
    assert [bool(cause) for cause in reports.causes] == [True, False]
    assert "without an answer of the model" in failed(reports)[0]
    first, second = (m["params"]["prompt"][0]["text"] for m in stage.sent("session/prompt"))
    assert "order 0" in first and "order 0" in second


def test_a_tool_call_alone_or_words_of_an_agent_that_counts_nothing_are_an_answer(stage: Stage) -> None:
    call = {"update": {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "t"}}
    reports = stage.run([call, {"end": "end_turn"}], [{"say": "done"}, {"end": "end_turn"}], mail=2)
    assert reports.causes == ["", ""]


@pytest.mark.parametrize(
    ("ends", "field"),
    [
        (
            [{"error": {"code": -32603, "message": "Internal error", "data": {"errorKind": "rate_limit"}}}],
            "limit",
        ),
        ([{"say": "Error: 429 Too Many Requests"}, {"end": "end_turn"}], "limit"),
        ([{"error": {"code": -32000, "message": "Please sign in"}}], "login"),
        ([{"error": {"code": 1, "message": "prompt is too long: 5 > 4"}}], "overflow"),
        ([{"error": "broken stream"}], "error"),
        ([{"end": "cancelled"}], "error"),
    ],
)
def test_the_ways_to_report_an_error_are_told_apart(stage: Stage, ends: list[Any], field: str) -> None:
    reports = stage.run(ends, [END], row=AcpAgent("x", "X", (), "", counts=True))
    seen, _ = reports.turns[0]
    assert getattr(seen, field), seen
    assert bool(reports.parked) == (field == "limit") == (not reports.causes[0]) and not reports.causes[-1]


def test_an_agent_that_tells_of_its_limit_only_in_its_log_is_cancelled_and_parked(stage: Stage) -> None:
    row = AcpAgent("x", "X", (), "", at_limit="stderr")
    line = {"stderr": "Attempt failed with status 429. Retrying"}
    stage.run([line, line, line, {"hang": True}], [END], row=row)
    assert stage.reports.parked and "429" in stage.reports.parked[0]
    assert len(stage.sent("session/cancel")) == 1


def test_a_permission_request_is_asked_and_the_answer_is_one_of_the_agents_options(stage: Stage) -> None:
    answers = iter([Answer(True), Answer(False, "too dangerous")])
    stage.reports.decide = lambda wanted: next(answers)
    ask = {"ask": {"toolCall": RUN, "options": OPTIONS}}
    reports = stage.run([ask, ask, END])
    assert [(one.kind, one.command) for one in reports.asked] == [("command", "make all")] * 2
    outcomes = [m["result"]["outcome"] for m in stage.sent() if str(m.get("id")).startswith("ask")]
    assert [one["optionId"] for one in outcomes] == ["y", "n"]
    assert "waiting for permission: make all" in reports.doing


def test_full_permissions_and_headcounts_own_tools_are_not_asked(stage: Stage) -> None:
    own = {"ask": {"toolCall": {"title": "headcount-inbox", "kind": "other"}, "options": OPTIONS}}
    assert stage.run([own, END]).asked == []
    assert (
        stage.run([END], [{"ask": {"toolCall": RUN, "options": OPTIONS}}, END], permissions="full").asked
        == []
    )


@pytest.mark.parametrize(
    ("call", "own"),
    [
        ({"title": "mcp__headcount__inbox", "kind": "other"}, True),
        ({"title": "headcount-inbox", "kind": "execute", "rawInput": {"command": "rm -rf ~"}}, False),
        ({"title": "headcount-inbox", "rawInput": {"command": "rm -rf ~"}}, False),
        ({"title": "run headcount-inbox"}, False),
        ({"kind": "edit", "locations": [{"path": "src/x.py"}]}, True),
        ({"kind": "edit", "locations": [{"path": "../other/x.py"}]}, False),
        ({"kind": "edit", "locations": [{"path": "link/x.py"}]}, False),
        ({"kind": "edit"}, False),
        ({"kind": "delete", "locations": [{"path": "src/x.py"}]}, False),
    ],
)
def test_F114_only_files_of_the_workspace_and_headcounts_tools_are_allowed_unasked(
    call: dict[str, Any], own: bool, tmp_path: Path
) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "link").symlink_to(tmp_path)
    assert is_own(call, str(tmp_path / "w")) is own


def test_an_outcome_is_only_ever_allow_once_or_reject_once(stage: Stage) -> None:
    always = [{"optionId": "always", "kind": "allow_always"}, {"optionId": "never", "kind": "reject_always"}]
    assert choose(always, True) == choose(always, False) == {"outcome": "cancelled"}
    assert choose([*always, *OPTIONS], True)["optionId"] == "y"
    assert read_wanted({"rawInput": 7, "title": None}).kind == "tool"


def test_requests_that_headcount_does_not_serve_are_refused(stage: Stage) -> None:
    stage.run([{"request": "fs/read_text_file"}, {"request": "terminal/create"}, {"request": "x/y"}, END])
    refused = [m["error"]["code"] for m in stage.sent() if str(m.get("id")).startswith("ask")]
    assert refused == [-32601] * 3


def test_F115_no_line_of_an_agent_ends_the_host(stage: Stage) -> None:
    updates = [7, {"sessionUpdate": "agent_message_chunk", "content": 7},
               {"sessionUpdate": "tool_call", "locations": 5, "kind": 7, "rawInput": []},
               {"sessionUpdate": "usage_update", "cost": "much", "_meta": {"usage": 3}}]  # fmt: skip
    ask, update = "session/request_permission", "session/update"
    odd = ["", "not JSON", "[1, 2]", "7", '{"jsonrpc": "2.0"}', '{"id": 99, "result": {}}', "[" * 100_000,
           json.dumps({"method": update}), json.dumps({"id": None, "method": ask, "params": []}),
           json.dumps({"id": "odd", "method": ask, "params": {"options": 7}}),
           *(json.dumps({"method": update, "params": {"update": one}}) for one in updates)]  # fmt: skip
    reports = stage.run([*({"raw": line} for line in odd), END], [END], mail=2)
    assert reports.causes == ["", ""]


@pytest.mark.parametrize("path", ["", "a\0b", "\ud800"])
def test_F120_a_path_that_no_file_can_have_ends_no_host_and_is_not_allowed_unasked(
    path: str, stage: Stage
) -> None:
    call = {"sessionUpdate": "tool_call", "kind": "edit", "title": "Edit", "locations": [{"path": path}]}
    stage.reports.decide = lambda wanted: Answer(False)
    reports = stage.run([{"update": call}, {"ask": {"toolCall": call, "options": OPTIONS}}, END])
    assert reports.causes == [""] and [one.title for one in reports.asked] == ["Edit"]
    (answer,) = [m for m in stage.sent() if m.get("id") == "ask-1"]
    assert answer["result"]["outcome"]["optionId"] == "n"


def test_F120_words_that_cannot_be_stored_are_replaced_in_the_cause_of_a_failed_turn(stage: Stage) -> None:
    reports = stage.run([{"error": {"code": 1, "message": "half \ud800"}}], [{"say": "\udfff"}, END])
    assert failed(reports) == ["reported an error: half ?"]


def test_F121_tokens_and_costs_that_cannot_be_true_are_not_counted(stage: Stage) -> None:
    usages = [{"totalTokens": 10**40}, {"totalTokens": -9}, {"inputTokens": 3, "outputTokens": -2}]
    updates = [
        {"sessionUpdate": "usage_update", "cost": {"amount": amount}, "_meta": {"usage": usage}}
        for amount, usage in zip((1e999, -1e999, 0.25), usages, strict=True)
    ]
    reports = stage.run([*({"update": one} for one in updates), END])
    spent = [*reports.used, *(seen for seen, _ in reports.turns)]
    assert (sum(one.tokens for one in spent), sum(one.cost_usd for one in spent)) == (5, 0.25)


def test_an_agent_whose_turn_has_ended_no_longer_waits_for_the_model(stage: Stage) -> None:
    said = stage.run([{"say": "All "}, {"say": "done."}, END]).doing[-1]
    silent = stage.run([END], [END]).doing[-1]
    assert (said, silent) == ("said: All done.", "ended its turn")


def test_F121_a_new_session_counts_its_cost_from_zero(stage: Stage) -> None:
    costs = [[{"update": {"sessionUpdate": "usage_update", "cost": {"amount": amount}}}, *more]
             for amount, more in ((2.0, [END]), (2.5, [{"die": 9}]), (0.5, [END]))]  # fmt: skip
    reports = stage.run(*costs, mail=2, capabilities={})
    assert sum(one.cost_usd for one in reports.used) == 3.0


def test_a_line_that_is_too_long_is_refused_and_a_flood_is_taken_in_order(stage: Stage) -> None:
    long = '{"id": "big", "method": "session/request_permission", "params": "%s"}' % ("x" * LONGEST_LINE)
    reports = stage.run([{"raw": long}, {"flood": 3000, "size": 200}, END])
    assert reports.causes == [""]
    (answer,) = [m for m in stage.sent() if m.get("id") == "big"]
    assert answer["error"]["code"] == -32600


def test_F116_an_agent_killed_in_a_turn_is_started_again_with_its_session_and_the_same_mail(
    stage: Stage,
) -> None:
    reports = stage.run([END], [{"die": 9}], [END], mail=2)
    assert [code for _, code in reports.turns] == [0, -9, 0]
    assert reports.left == ["rest"] and "killed by SIGKILL" in failed(reports)[0]
    (load,) = stage.sent("session/load")
    assert load["params"]["sessionId"] == "s1" and len(stage.sent("session/new")) == 1
    prompts = [m["params"]["prompt"][0]["text"] for m in stage.sent("session/prompt")]
    assert "order 1" in prompts[1] and "order 1" in prompts[2]


def test_a_session_that_cannot_be_loaded_is_begun_anew_and_said(stage: Stage) -> None:
    refuses = {"session/load": {"code": -32602, "message": "no such session"}}
    reports = stage.run([{"die": 9}], [END], refuses=refuses)
    assert "no such session" in reports.warned[0] and len(stage.sent("session/new")) == 2
    assert "You are ann" in stage.sent("session/prompt")[-1]["params"]["prompt"][0]["text"]


def test_an_agent_that_never_answers_the_start_fails_the_turn(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acp_host, "_START_S", 0.5)
    reports = stage.run(silent=["initialize"])
    assert stage.code and all("did not answer initialize" in text for text in failed(reports))


def test_another_version_of_the_protocol_is_refused(stage: Stage) -> None:
    assert "version 2" in failed(stage.run([END], version=2))[0]


def test_the_way_out_cancels_closes_and_ends_an_agent_that_ignores_all_of_it(
    stage: Stage, tmp_path: Path
) -> None:
    """Also what it left in its process group. The rest is for the reaper."""

    def stop() -> None:
        deadline = time.monotonic() + 30
        while not (tmp_path / "left").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)

    stopper = threading.Thread(target=stop)
    stopper.start()
    left = tmp_path / "left"
    child = {"child": f"echo $$ > {left}.new; mv {left}.new {left}; exec sleep 1000"}
    stage.run([child, {"hang": True}], ignores_eof=True, ignores_cancel=True)
    stopper.join()
    assert stage.code == 0
    assert len(stage.sent("session/cancel")) == 1 and len(stage.sent("session/close")) == 1
    _wait_gone(int(left.read_text()))


def _wait_gone(pid: int) -> None:
    """Killed, and perhaps not yet waited for by whoever adopted it."""
    deadline = time.monotonic() + 10
    while os.path.exists(f"/proc/{pid}"):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/stat") as file:
            if file.read().rpartition(")")[2].split()[0] == "Z":
                return
        assert time.monotonic() < deadline, f"{pid} is alive"
        time.sleep(0.01)


def test_activity_is_read_from_tool_calls(stage: Stage) -> None:
    edit = {"kind": "edit", "title": "Edit", "locations": [{"path": f"{os.getcwd()}/src/x.py"}]}
    assert describe_call(RUN) == "running make all"
    assert describe_call(edit) == "editing src/x.py"
    update = {"update": {"sessionUpdate": "tool_call", **RUN}}
    done = {"update": {"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed"}}
    reports = stage.run([update, done, END])
    model = "waiting for the model"
    assert reports.doing == ["starting", model, "running make all", model, "ended its turn"]


def test_the_cost_of_a_turn_is_what_the_session_cost_more(stage: Stage) -> None:
    def cost(amount: float) -> dict[str, Any]:
        return {"update": {"sessionUpdate": "usage_update", "used": 1, "cost": {"amount": amount}}}

    reports = stage.run([cost(0.25), END], [cost(0.75), END], mail=2)
    assert [seen.cost_usd for seen in reports.used] == [0.25, 0.5]
    assert [seen.cost_usd for seen, _ in reports.turns] == [0.0, 0.0]


def test_above_a_budget_a_turn_is_cancelled_in_the_middle_if_a_request_waits(stage: Stage) -> None:
    usage = {"sessionUpdate": "agent_message_chunk", "_meta": {"usage": {"totalTokens": 70}}}
    request = Mail("m9", "crew#1", "lead", "ann#1", "Stand down", "order 0", request_id="r1")
    stage.reports.above, stage.reports.first = True, request
    reports = stage.run([{"update": usage}, {"hang": True}], [END])
    assert [seen.tokens for seen in reports.used] == [70] and len(stage.sent("session/cancel")) == 1
    assert [(seen.tokens, code) for seen, code in reports.turns] == [(0, 0)]


def test_usual_commands_are_not_asked_unless_the_settings_deny_them(stage: Stage) -> None:
    def ask(command: str) -> dict[str, Any]:
        return {"ask": {"toolCall": {**RUN, "rawInput": {"command": command}}, "options": OPTIONS}}

    commands = ["git commit -m x", "git commit -m x; rm -rf ~", "git reset --hard"]
    asked = stage.run([*map(ask, commands), END], deny=("git reset *",)).asked
    assert [one.command for one in asked] == commands[1:]


def test_an_agent_that_ended_while_it_was_idle_is_started_again_without_a_failed_turn(stage: Stage) -> None:
    stage.reports.idle = lambda: _wait_ended(stage)
    reports = stage.run([END, {"exit": 3}], [END], mail=2)
    assert reports.causes == ["", ""] and "while it was idle" in reports.warned[0]


def _wait_ended(stage: Stage) -> None:
    assert stage.host is not None and stage.host._link is not None
    assert stage.host._link.has_ended(30)


def test_F136_an_agent_that_reads_nothing_is_given_up_and_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acp_link, "_WRITE_S", 0.05)
    link = Link([sys.executable, "-c", "import signal; signal.pause()"], dict(os.environ))
    with pytest.raises(AgentGone, match="reads nothing"):
        link.notify("session/prompt", {"text": "x" * (1 << 20)})
    with pytest.raises(AgentGone):  # the way out does not wait for it again
        link.notify("session/cancel", {})
    link.leave(ends_on_eof=False)
    assert link.child.returncode is not None


def test_a_link_that_is_left_has_no_descriptor_open_even_if_nobody_took_its_messages() -> None:
    before = os.listdir("/proc/self/fd")
    flood = "import json\nwhile True: print(json.dumps({'id': 1, 'method': 'm'}), flush=True)"
    link = Link([sys.executable, "-c", flood], dict(os.environ))
    link.request("initialize", {})
    link.take(60)
    link.leave(ends_on_eof=False)
    assert os.listdir("/proc/self/fd") == before
