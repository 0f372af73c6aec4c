"""The installed command, as a member runs it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headcount.protocol.team import Status

if TYPE_CHECKING:
    from conftest import World


# --- mail --------------------------------------------------------------------------------------------------


def test_inbox_prints_whole_messages_and_marks_only_what_it_printed(world: World) -> None:
    world.run("boss", "send", "alice", "-s", "first", "-m", "line one\nline two")
    out = world.run("alice", "inbox")
    assert out.returncode == 0
    assert "from lead" in out.stdout and "    line one\n    line two\n1 unread of 1 message.\n" in out.stdout
    world.run("boss", "send", "alice", "-s", "second", "-m", "x")
    assert [m["read"] for m in world.json("alice", "inbox", "--peek")] == [True, False]
    assert [m["subject"] for m in world.json("alice", "inbox", "--unread")] == ["second"]
    assert world.json("alice", "inbox", "--unread") == []


def test_a_message_in_json_has_the_published_fields(world: World) -> None:
    world.run("boss", "send", "alice", "-s", "s", "-m", "b\x1b[1mé", "--priority", "high")
    [message] = world.json("alice", "inbox")
    sent_at = message.pop("sentAt")
    assert message == {
        "id": "m1", "type": "message", "template": None, "from": "lead", "to": "alice#1", "subject": "s",
        "body": "b\x1b[1mé", "requestId": None, "priority": "high", "read": False,
    }  # fmt: skip
    assert sent_at.endswith("+00:00")


def test_B6_what_could_not_be_printed_is_not_marked_as_read(world: World) -> None:
    world.run("boss", "send", "alice", "-s", "s", "-m", "x" * 90_000)
    reader = world.start("alice", "inbox")
    assert reader.stdout is not None
    reader.stdout.close()
    assert reader.wait(60) == 141  # as if SIGPIPE had ended it
    assert [m["read"] for m in world.json("alice", "inbox", "--peek")] == [False]


@pytest.mark.parametrize("event", ["UserPromptSubmit", "PostToolUse", "Stop"])
def test_B6_what_a_client_did_not_take_from_its_hook_is_not_marked_as_read(world: World, event: str) -> None:
    """It has given the hook up, as clients do when a person interrupts them."""
    world.run("boss", "send", "alice", "-s", "s", "-m", "Not on main.")
    hook = subprocess.Popen(
        [*_command(), "hook", event], env=world.env("alice"), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert hook.stdin is not None and hook.stdout is not None
    hook.stdout.close()
    hook.stdin.close()
    assert hook.wait(60) == 141
    assert [m["read"] for m in world.json("alice", "inbox", "--peek")] == [False]
    taken = subprocess.run(
        [*_command(), "hook", event], env=world.env("alice"), input="{}", text=True, capture_output=True,
        timeout=60, check=True,
    )  # fmt: skip
    assert "Not on main." in taken.stdout
    assert [m["read"] for m in world.json("alice", "inbox", "--peek")] == [True]


def test_B6_mail_that_arrives_between_reading_and_marking_stays_unread(world: World) -> None:
    world.run("boss", "send", "alice", "-s", "first", "-m", "x" * 90_000)
    reader = world.start("alice", "inbox")  # has read, and cannot print the rest before somebody takes it
    assert reader.stdout is not None
    printed = reader.stdout.read(1000)
    world.run("boss", "send", "alice", "-s", "second", "-m", "while it printed")
    printed += reader.stdout.read()
    reader.stdout.close()
    assert reader.wait(60) == 0
    assert "second" not in printed
    messages = world.json("alice", "inbox", "--peek")
    assert [(m["subject"], m["read"]) for m in messages] == [("first", True), ("second", False)]


def test_a_message_may_be_about_an_option(world: World) -> None:
    assert world.run("alice", "send", "lead", "-s", "-h", "-m", "--help").returncode == 0
    [mail] = world.inbox("lead")
    assert (mail.subject, mail.body) == ("-h", "--help")
    assert "usage" in world.run("alice", "send", "lead", "--help").stdout.lower()


def test_C6_the_body_may_come_from_standard_input_and_arrives_whole(world: World) -> None:
    body = "é\n" * 30_000
    sent = subprocess.run(
        [*_command(), "send", "alice", "-s", "s", "-m", "-"], input=body, env=world.env("boss"), text=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert sent.returncode == 0
    assert world.json("alice", "inbox")[0]["body"] == body


def _command() -> list[str]:
    return [sys.executable, "-m", "headcount"]


def test_nothing_that_moves_a_terminal_is_printed(world: World) -> None:
    world.run("boss", "send", "alice", "-s", "a\x1b]0;title\x07", "-m", "\x1b[2Jgone\x9b1m")
    out = world.run("alice", "inbox").stdout
    assert "gone" in out and not {"\x1b", "\x07", "\x9b"} & set(out)


def test_read_prints_one_message_of_ones_own(world: World) -> None:
    world.run("boss", "send", "alice", "-s", "s", "-m", "for alice only")
    assert world.json("alice", "read", "m1")["body"] == "for alice only"
    assert world.json("alice", "inbox")[0]["read"] is True
    refused = world.run("bob", "read", "m1")
    assert refused.returncode == 2 and "[unknown-message]" in refused.stderr
    assert "for alice only" not in refused.stdout + refused.stderr


def test_C5_an_unknown_recipient_is_an_error_with_a_guess(world: World) -> None:
    refused = world.run("alice", "send", "laed", "-s", "s", "-m", "b")
    assert refused.returncode == 2 and 'Did you mean "lead"?' in refused.stderr
    assert world.inbox("lead") == []


def test_C4_mail_to_one_that_is_gone_says_where_it_went(world: World) -> None:
    with world.store.write() as tx:
        tx.seal(world.team.id, "bob#1")
    sent = world.run("boss", "send", "bob", "-s", "s", "-m", "b")
    assert sent.returncode == 1 and "bob#1 is gone, so the message went to the lead" in sent.stdout
    [bounced] = world.json("boss", "inbox")
    assert (bounced["to"], bounced["bouncedFrom"]) == ("lead", "bob#1")


def test_C3_mail_to_a_closed_team_is_a_dead_letter_and_said_to_be(world: World) -> None:
    with world.store.write() as tx:
        tx.save_team(world.team, replace(world.team, status=Status.SHUTDOWN))
    sent = world.run(None, "send", "lead", "-s", "s", "-m", "b", "--team", "review")
    assert sent.returncode == 1 and "dead letter" in sent.stdout
    assert [m.bounced_from for m in world.inbox("dead-letters")] == ["lead"]


def test_A7_a_broadcast_reaches_everyone_with_an_id_each(world: World) -> None:
    sent = world.json("boss", "send", "all", "-s", "s", "-m", "b")
    assert sent["to"] == ["alice#1", "bob#1", "rita#1"] and len(set(sent["messageIds"])) == 3
    refused = world.run("alice", "send", "all", "-s", "s", "-m", "b")
    assert refused.returncode == 5 and "allowed: " in refused.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["send", "lead", "-m", "b"], "-s SUBJECT is missing"),
        (["send", "lead", "-s", "s"], "-m BODY is missing"),
        (["send", "lead", "-s", "x" * 201, "-m", "b"], "[too-long]"),
        (["send", "lead", "-s", "s", "-m", "b", "--priority", "now"], "[unknown-priority]"),
        (["inbox", "--wait", "soon"], "--wait soon"),
        (["inbox", "--wait", "nan"], "--wait nan"),
        (["read"], "ID is missing"),
        (["review"], "after review comes pass or changes"),
        (["review", "maybe", "t1"], "after review comes pass or changes"),
        (["reject"], "reason is missing"),
        (["review", "changes", "t1"], "reason is empty"),
        (["task", "list", "--status", "done"], "[unknown-status]"),
    ],
)
def test_E7_a_wrong_call_is_told_what_is_wrong(world: World, words: list[str], said: str) -> None:
    world.add_task("t1")
    refused = world.run("rita", *words)
    assert refused.returncode == 2 and said in refused.stderr and "Traceback" not in refused.stderr


def test_an_argument_that_is_no_text_is_refused(world: World) -> None:
    refused = subprocess.run(
        [*_command(), "send", "lead", "-s", "s", "-m", b"\xff\xfe"], env=world.env("alice"),
        capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert refused.returncode == 2 and b"[invalid-text]" in refused.stderr


# --- who calls ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"HEADCOUNT_TOKEN": "token-bob"},
        {"HEADCOUNT_TOKEN": ""},
        {"HEADCOUNT_TOKEN": "token-alice "},
        {"HEADCOUNT_GENERATION": "2"},
        {"HEADCOUNT_TEAM": "other"},
    ],
)
def test_who_is_not_who_its_token_says_is_nobody(world: World, changes: dict[str, str]) -> None:
    refused = world.run("alice", "inbox", **changes)
    assert refused.returncode == 5 and "[bad-token]" in refused.stderr


def test_a_mark_without_a_token_is_never_the_operator_and_the_try_is_audited(world: World) -> None:
    refused = world.run(None, "inbox", HEADCOUNT_MARK="hc1.x.review.alice.1.n")
    assert refused.returncode == 5
    with world.store.read() as tx:
        [entry] = tx.journal("")
        assert (entry.kind, entry.data["action"], entry.data["code"]) == ("refused", "inbox", "bad-token")


def test_who_descends_from_a_member_is_never_the_operator(world: World) -> None:
    clean = f'env -u HEADCOUNT_MARK {sys.executable} -m headcount inbox; exit "$?"'
    refused = subprocess.run(
        ["sh", "-c", clean], env=world.env(None, HEADCOUNT_MARK="hc1.x"), capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert refused.returncode == 5 and "[no-identity]" in refused.stderr


def test_A12_the_token_of_one_that_is_gone_is_void(world: World) -> None:
    with world.store.write() as tx:
        tx.seal(world.team.id, "alice#1")
    assert world.run("alice", "inbox").returncode == 5


def test_A14_a_refusal_says_who_may_and_is_in_the_journal(world: World) -> None:
    refused = world.run("alice", "review", "pass", "t1")
    assert refused.returncode == 5 and "allowed: operator, reviewer" in refused.stderr
    [(about, data)] = world.notes("refused")
    assert (about, data["action"], data["code"]) == ("alice#1", "review", "not-allowed")


def test_the_operator_reads_the_leads_mailbox_while_there_is_no_lead(world: World) -> None:
    world.run("alice", "send", "lead", "-s", "s", "-m", "b")
    assert world.json(None, "inbox", "--peek") == []
    world.change("boss", state="gone")
    assert [m["from"] for m in world.json(None, "inbox")] == ["alice#1"]


# --- the path itself ---------------------------------------------------------------------------------------

HEAVY = ("argparse", "json", "dataclasses", "typing", "re", "pathlib", "subprocess", "enum", "hashlib",
         "socket", "contextlib", "headcount.protocol.team", "headcount.ports",
         "headcount.store.team_values")  # fmt: skip


@pytest.mark.parametrize(
    "words",
    [
        ["inbox"],
        ["send", "lead", "-s", "s", "-m", "b"],
        ["approve"],
        ["done"],
        ["idle"],
        ["task", "list", "--json"],
    ],
)
def test_a_members_command_imports_next_to_nothing(world: World, words: list[str]) -> None:
    world.ask("alice")
    code = (
        "import sys; before = set(sys.modules); from headcount.cli import main; code = main(sys.argv[1:])\n"
        "print(*(set(sys.modules) - before), file=sys.stderr); sys.exit(code)"
    )
    # -S: what the environment's own start-up files import is not ours
    site = [path for path in sys.path if path]
    run = subprocess.run(
        [sys.executable, "-S", "-c", code, *words], env=world.env("alice", PYTHONPATH=":".join(site)),
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert run.returncode == 0
    imported = set(run.stderr.split())
    assert "headcount.cli.member" in imported
    assert imported.isdisjoint(HEAVY), sorted(imported & set(HEAVY))


@pytest.mark.parametrize(
    "words", [["inbox", "-h"], ["task", "claim", "--help"], ["review", "pass", "--help"]]
)
def test_help_needs_no_state(world: World, words: list[str]) -> None:
    run = world.run(None, *words, HEADCOUNT_HOME="/nowhere")
    assert run.returncode == 0 and run.stdout.startswith("usage: headcount " + " ".join(words[:-1]))


def test_a_missing_or_foreign_state_is_a_clear_error(world: World, tmp_path: object) -> None:
    missing = world.run("alice", "inbox", HEADCOUNT_HOME=f"{tmp_path}/nowhere")
    assert missing.returncode == 4 and "[no-state]" in missing.stderr
    (world.home / "other").mkdir()
    (world.home / "other" / "state.db").write_bytes(b"x" * 5000)
    foreign = world.run("alice", "inbox", "--json", HEADCOUNT_HOME=str(world.home / "other"))
    assert foreign.returncode == 4 and '"code":"store-corrupt"' in foreign.stdout


# --- what nobody foresaw -----------------------------------------------------------------------------------


def test_what_is_said_is_answered_though_nobody_can_be_rung(world: World) -> None:
    """The bell is a hint: what was committed is not reported as failed for want of it."""
    lose_the_bells(world)
    sent = world.run("boss", "send", "alice", "-s", "s", "-m", "b")
    assert (sent.returncode, sent.stderr) == (0, "")
    assert [m["subject"] for m in world.json("alice", "inbox")] == ["s"]


def test_a_bug_is_an_error_like_any_other_to_whoever_called(world: World) -> None:
    lose_the_bells(world)
    waited = world.run("alice", "inbox", "--wait", "1", "--json")
    assert waited.returncode == 70
    assert json.loads(waited.stdout)["error"]["code"] == "bug"
    assert "NotADirectoryError" in waited.stderr


def lose_the_bells(world: World) -> None:
    place = Path(world.home) / "run"
    shutil.rmtree(place, ignore_errors=True)
    place.write_text("")
