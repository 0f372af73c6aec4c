"""`headcount logs`: what a member printed, as it printed it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from headcount.app.app import App
from headcount.app.caller import OPERATOR
from headcount.app.members import read_output
from headcount.domain.settings import Settings
from headcount.protocol.member import Member, State
from headcount.store.sqlite import InMemoryStore

MARK = "hc1.0123.crew.ada.1.abcd"


def printed(home: Path, data: bytes) -> list[str]:
    """By a member that is gone, in one segment of its log."""
    store = InMemoryStore()
    with store.write() as tx:
        team = tx.create_team("crew", "", {})
        ada = Member("ada", 1, state=State.GONE, settled=True)
        tx.save_team(team, replace(team, members={ada.key: ada}, generations={"ada": 1}))
        tx.put_fact(team.id, ada.key, "start", {"mark": MARK})
    (home / "run" / MARK).mkdir(parents=True)
    (home / "run" / MARK / "log.0").write_bytes(data)
    return list(read_output(App(str(home), store, Settings(), OPERATOR), "ada"))


def test_a_character_on_a_cut_between_two_reads_is_whole(tmp_path: Path) -> None:
    text = "éab\n" * 20_000  # 65,536 is one more than a multiple of five bytes
    assert "".join(printed(tmp_path, text.encode())) == text


def test_an_order_to_the_terminal_on_a_cut_is_taken_out_whole(tmp_path: Path) -> None:
    line = b"x\x1b[31mred\x1b[0m\n"
    assert "".join(printed(tmp_path, line * 10_000)) == "xred\n" * 10_000


def test_a_last_line_without_an_end_is_there_too(tmp_path: Path) -> None:
    assert "".join(printed(tmp_path, b"one\ntwo")) == "one\ntwo"
