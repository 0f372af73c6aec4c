"""No command is without a row in the table of who may do what."""

from __future__ import annotations

from headcount.cli import COMMANDS, HOT
from headcount.protocol import authority


def test_every_command_has_a_row_of_the_authority_table_and_every_row_a_command() -> None:
    assert set(authority.OF_COMMAND) == {*COMMANDS, *HOT}
    assert set(authority.OF_COMMAND.values()) <= set(authority.MAY)


def test_every_row_has_words_for_its_refusal() -> None:
    assert set(authority._IN_WORDS) == set(authority.MAY)
