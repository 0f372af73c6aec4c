from __future__ import annotations

from headcount.cli import COMMANDS
from headcount.cli.command_lists import FOR_CLIENTS, GROUPS, read_commands, write_overview
from headcount.cli.member.command_table import COMMANDS as MEMBERS


def test_every_command_is_in_one_group_of_the_overview() -> None:
    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(COMMANDS)


def test_the_overview_has_a_line_for_every_command_that_a_person_or_a_member_types() -> None:
    said = [line.strip() for line in write_overview().splitlines()]
    for name in (*COMMANDS, *(name for name in MEMBERS if name not in FOR_CLIENTS)):
        assert any(line.startswith(f"{name}  ") for line in said), name


def test_completion_knows_every_command_and_its_options() -> None:
    commands = {command.name: command for command in read_commands()}
    assert set(commands) >= set(COMMANDS) | {name.split()[0] for name in MEMBERS} - set(FOR_CLIENTS)
    down = commands["down"]
    assert {"--member", "--force", "--keep-team"} <= {option.name for option in down.options}
    assert down.kind == "teams"
    assert set(commands["task"].choices) >= {"create", "list", "claim", "complete"}
    assert (commands["decide"].kind, commands["decide"].choices[0]) == ("escalations", "force-kill")
