from __future__ import annotations

import pytest

from headcount.agents.launch import CommandAgent
from headcount.errors import UsageError


def argv(*command: str, prompt: str = "P", model: str = "haiku") -> tuple[str, ...]:
    return CommandAgent(command, "/defs/team").argv(prompt, "/state/prompt.md", model)


def test_placeholders_are_filled_anywhere_in_a_word() -> None:
    assert argv("agent", "--p={prompt}", "{prompt_file}", "{model}") == (
        "agent",
        "--p=P",
        "/state/prompt.md",
        "haiku",
    )


def test_a_prompt_is_not_searched_for_placeholders_and_other_braces_stay() -> None:
    assert argv("agent", "{prompt}", '{"a": {}}', prompt="use {model}") == (
        "agent",
        "use {model}",
        '{"a": {}}',
    )


def test_a_program_with_a_slash_is_relative_to_the_definition_and_a_bare_one_is_on_path() -> None:
    assert argv("./agent.sh", "bob")[0] == "/defs/team/agent.sh"
    assert argv("bin/agent")[0] == "/defs/team/bin/agent"
    assert argv("/usr/bin/env")[0] == "/usr/bin/env"
    assert argv("python3")[0] == "python3"


def test_only_arguments_that_say_so_are_relative_to_the_definition() -> None:
    assert argv("python3", "./a.py", "../b.py", "c.py", "-") == (
        "python3",
        "/defs/team/a.py",
        "/defs/b.py",
        "c.py",
        "-",
    )


def test_an_empty_command_is_refused() -> None:
    with pytest.raises(UsageError):
        CommandAgent((), "/defs")
