"""`headcount logs`: what a member printed, as it printed it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from headcount.app.app import App
from headcount.app.caller import OPERATOR
from headcount.app.members import read_output
from headcount.app.witness import capture
from headcount.domain.settings import Settings
from headcount.protocol.member import Member, State
from headcount.store.sqlite import InMemoryStore

from .lab import TEAM, Lab

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


def test_after_a_team_is_closed_its_logs_are_in_the_archive_and_its_run_records_are_gone(
    lab: Lab,
) -> None:
    lab.create()
    lab.start("ada", "echo PRINTED BEFORE THE END; touch $HEADCOUNT_HOME/ready; sleep 1000 & wait")
    lab.wait_flag("ready")
    with lab.app.store.read() as tx:
        mark = (tx.fact(f"{TEAM}#1", "ada#1", "start") or {})["mark"]
    records = Path(lab.app.home) / "run" / mark
    assert records.is_dir()
    answer = lab.ask()
    lab.approve(answer)
    report = lab.finish(answer)
    assert (report["status"], report["deleted"]) == ("shutdown", True)
    assert not records.exists()
    assert "PRINTED BEFORE THE END" in "".join(read_output(lab.app, "ada", TEAM))
    assert "PRINTED BEFORE THE END" in capture(lab.app, "ada", TEAM)["screen"]
    assert [path.name for path in Path(report["archive"]).glob("logs/ada#1/*")] == ["log.0"]
