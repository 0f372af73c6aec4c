from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.app.ancestry import descends_from_member
from headcount.app.caller import Caller

if TYPE_CHECKING:
    from pathlib import Path


def fake_process(proc: Path, pid: int, parent: int, environ: bytes) -> None:
    (proc / str(pid)).mkdir()
    (proc / str(pid) / "environ").write_bytes(environ)
    (proc / str(pid) / "stat").write_text(f"{pid} (a ) b (x) S {parent} 1 1")


def test_a_mark_in_any_ancestor_is_seen(tmp_path: Path) -> None:
    fake_process(tmp_path, 30, 20, b"HOME=/x\0")
    fake_process(tmp_path, 20, 10, b"A=1\0HEADCOUNT_MARK=hc1.x\0")
    fake_process(tmp_path, 10, 1, b"")
    assert descends_from_member(30, str(tmp_path))
    assert not descends_from_member(10, str(tmp_path))


def test_a_variable_that_only_ends_like_the_mark_is_none(tmp_path: Path) -> None:
    fake_process(tmp_path, 30, 1, b"OLD_HEADCOUNT_MARK=1\0X=HEADCOUNT_MARK=\0")
    assert not descends_from_member(30, str(tmp_path))


def test_a_process_that_has_gone_ends_the_walk(tmp_path: Path) -> None:
    fake_process(tmp_path, 30, 20, b"")
    assert not descends_from_member(30, str(tmp_path))


def test_a_lead_reads_its_own_mailbox_and_the_leads() -> None:
    lead, worker = Caller("lead", "boss#1", "t#1"), Caller("worker", "alice#1", "t#1")
    assert (lead.boxes, lead.sender) == (("boss#1", "lead"), "lead")
    assert (worker.boxes, worker.sender) == (("alice#1",), "alice#1")
