"""The table of ACP agents: what it starts, and that the how-to page says the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headcount import define_worker
from headcount.agents.acp.known_agents import AGENTS, UNKNOWN, find_agent
from headcount.agents.launch import Order, check_agent, plan_launch, resolve_via, trusting_client
from headcount.domain.settings import parse_settings
from headcount.errors import UsageError, WorldError

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs/how-to/run-any-acp-agent.md"


def order(*command: str, terminal: bool = False) -> Order:
    return Order(
        "/home", "crew", "ann", "Work.", "/p.md", "m1", command, "/d", terminal=terminal, trusted="/r"
    )


def test_the_page_has_the_table_as_it_is() -> None:
    lines = PAGE.read_text().split("## Agents that were tried")[1].split("\n")
    rows = [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines if "|" in line]
    table = {row[0]: row[1:] for row in rows}
    agents = list(AGENTS.values())
    pinned = json.loads((ROOT / ".ci/npm/clients/package.json").read_text())["dependencies"]
    yes = {True: "yes", False: "no"}
    assert table["package"] == [one.package for one in agents]
    assert table["version"] == [pinned[one.package] for one in agents]
    assert table["command"] == [" ".join(one.argv) for one in agents]
    for mode in ("edit", "full"):
        assert table[f"mode for `{mode}"] == [one.modes.get(mode, "its rules") for one in agents]
    assert table["a second prompt"] == [one.second_prompt for one in agents]
    assert table["loads a session"] == [yes[one.loads] for one in agents]
    assert table["ends on closed input"] == [yes[one.ends_on_eof] for one in agents]
    assert table["at a usage limit"] == [one.at_limit for one in agents]


def test_an_agent_is_found_by_its_program_wherever_that_is() -> None:
    assert find_agent(("/opt/bin/qwen", "--acp")) is AGENTS["qwen"]
    assert find_agent(("my-agent",)) is UNKNOWN


def test_a_known_client_is_run_over_acp_only_where_the_settings_say_so() -> None:
    settings = parse_settings('[agents]\nvia = "acp"\n[agents.ann]\nvia = "native"\n', "headcount.toml", {})
    assert settings.agents.via == "acp" and settings.agents.workers["ann"].via == "native"
    assert resolve_via("claude", (), "acp") == ("acp", ("claude-agent-acp",))
    assert resolve_via("claude", (), "native") == ("claude", ())
    assert resolve_via("command", ("./a",), "acp") == ("command", ("./a",))


def test_agent_and_command_stand_together_only_for_acp() -> None:
    read = parse_settings('[agents.q]\nagent = "acp"\ncommand = ["qwen", "--acp"]\n', "headcount.toml", {})
    assert read.agents.workers["q"].command == ("qwen", "--acp")
    with pytest.raises(UsageError, match="both agent and command"):
        parse_settings('[agents.q]\nagent = "claude"\ncommand = ["x"]\n', "headcount.toml", {})


def test_a_launch_names_the_command_after_the_options_of_the_host() -> None:
    launch = plan_launch("acp", order("./agent", "--acp"))
    assert launch.argv[-3:] == ("--", "/d/agent", "--acp") and launch.stdin
    assert launch.argv[-5:-3] == ("--model", "m1")


def test_an_adapter_needs_the_trust_of_its_client() -> None:
    assert trusting_client("acp", ("claude-agent-acp",)) == "claude"
    assert trusting_client("acp", ("my-agent",)) == "acp"


def test_what_cannot_be_started_is_refused_before() -> None:
    with pytest.raises(WorldError, match="no-such-agent is not installed"):
        check_agent("acp", ("no-such-agent",), installed=True)
    with pytest.raises(UsageError, match="cannot run in a terminal"):
        plan_launch("acp", order("agent", terminal=True))
    with pytest.raises(UsageError, match="needs a program"):
        plan_launch("acp", order())


def test_an_acp_agent_without_a_command_is_refused_before_a_team_is_made() -> None:
    with pytest.raises(UsageError, match="has no command") as refused:
        check_agent("acp", (), installed=True)
    assert refused.value.code == "empty-command"


def test_a_definition_gives_an_acp_worker_its_command() -> None:
    worker = define_worker("q", agent="acp", command=["qwen", "--acp"])
    assert (worker.agent, worker.command) == ("acp", ("qwen", "--acp"))
