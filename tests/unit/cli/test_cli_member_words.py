from __future__ import annotations

import pytest

from headcount.cli import HOT
from headcount.cli.member.command_line import parse
from headcount.cli.member.command_table import COMMANDS
from headcount.domain.display import utc
from headcount.domain.mail_text import message_head, message_text, plain, task_line
from headcount.domain.records import Mail, Task
from headcount.errors import UsageError
from headcount.protocol.mailboxes import find_box

SEND = COMMANDS["send"][0]


def test_options_are_read_in_every_spelling() -> None:
    for line in (["lead", "-s", "a", "-m", "-x"], ["--subject=a", "lead", "--message", "-x"]):
        words = parse(SEND, line)
        assert (words.plain, words.get("--subject"), words.get("--message")) == (["lead"], "a", "-x")


def test_after_two_dashes_everything_is_a_word() -> None:
    assert parse(COMMANDS["read"][0], ["--", "--json"]).plain == ["--json"]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ([], "TO is missing"),
        (["lead", "bob"], "Unexpected 'bob'"),
        (["lead", "--sbject", "x"], "Unknown option --sbject"),
        (["lead", "-s"], "-s needs a value"),
    ],
)
def test_a_mistake_is_named_with_the_usage(line: list[str], what: str) -> None:
    with pytest.raises(UsageError) as refusal:
        parse(SEND, line)
    assert refusal.value.what == what and "headcount send TO" in refusal.value.why


def test_every_hot_command_has_a_spec_and_its_help_says_how_it_is_written() -> None:
    wanted = {f"{name} {sub}".strip() for name, subs in HOT.items() for sub in subs or ("",)}
    assert wanted == set(COMMANDS)
    for name, (spec, _) in COMMANDS.items():
        assert spec.usage.startswith(name) and f"headcount {name}" in spec.help()


def test_what_a_terminal_would_obey_is_not_shown() -> None:
    shown = plain("a\x1b[31m\x07\x9b\u202eb\tc\r\nd")
    assert shown == "a\ufffd[31m\ufffd\ufffdb\tc\nd"


def test_a_message_is_shown_whole_and_its_head_is_one_line() -> None:
    mail = Mail("m1", "t#1", "lead", "a#1", "s\nx", "one\n\ntwo\n", "shutdown_request", None, "r1", "high",
                0.5, None, "b#1")  # fmt: skip
    assert message_head(mail) == (
        "m1 from lead at 1970-01-01T00:00:00.500+00:00 "
        "(shutdown_request, request r1, priority high, meant for b#1, which is gone): s x"
    )
    assert message_text(mail).splitlines()[1:] == ["    one", "    ", "    two"]


def test_a_task_shows_what_it_waits_for() -> None:
    task = Task("t2", "t#1", "s", "", None, "blocked", "a#1", ("t0", "t1"), {}, "no key")
    assert task_line(task) == "t2 blocked (owner a#1; after t0, t1; no key): s"


def test_times_are_in_utc_with_offset() -> None:
    assert utc(1_700_000_000.25) == "2023-11-14T22:13:20.250+00:00"


def test_help_names_the_option_of_the_operator_where_the_operator_may() -> None:
    may = {name for name, (spec, _) in COMMANDS.items() if "--team T" in spec.help()}
    assert {"inbox", "read", "send", "task list", "task complete", "review pass"} <= may
    assert not may & {"done", "idle", "approve", "reject", "task claim"}


def test_a_text_after_the_recipient_shows_how_to_send_it() -> None:
    with pytest.raises(UsageError, match="Unexpected 'hello'") as refused:
        parse(SEND, ["ben", "hello", "there"])
    assert refused.value.hints == ('Write it as `headcount send ben -s SUBJECT -m "hello there"`',)


def test_of_an_unknown_recipient_the_error_says_that_nothing_was_sent() -> None:
    with pytest.raises(UsageError) as refused:
        find_box("adda", "crew", ["ada#1"], effect="nothing was sent")
    assert refused.value.render().split("\n") == [
        'Error: No recipient is called "adda"; nothing was sent [unknown-recipient]',
        'Hint: Did you mean "ada"?',
    ]
