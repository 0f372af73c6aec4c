"""Which processes count as ours, on made-up process tables. Pids are above the kernel's maximum, so that
nothing real could be signalled by mistake."""

from __future__ import annotations

from typing import Any

from headcount.runtime.processes import Process, Snapshot
from headcount.runtime.proof import BY_MARK_ONLY, BY_REBOOT
from headcount.runtime.reaper import boot_id
from headcount.runtime.start_record import Identity, Record
from headcount.runtime.tree import Members, Tree

BASE = 5_000_000
KEEPER, AGENT, OTHER = BASE + 1, BASE + 2, BASE + 3
MARK = "hc1.0000000000000000.web.alice.1.aaaaaaaa"


def process(
    pid: int, ppid: int = 1, mark: str = "", session: int = 0, start: int = 7, state: str = "S"
) -> Process:
    return Process(pid, ppid, session, start, state, 1, f"p{pid - BASE}", mark)


class Table:
    def __init__(self, *processes: Process) -> None:
        self.processes = processes

    def fresh(self) -> Snapshot:
        return Snapshot({process.pid: process for process in self.processes})


class NoFiles:
    def emptied(self) -> None:
        return None

    exit_status = emptied


def tree(*processes: Process, boot: str | None = None) -> Tree:
    record = Record(MARK, Identity(AGENT, 7), Identity(KEEPER, 7), boot or boot_id(), 0.0)
    table: Any = Table(*processes)
    files: Any = NoFiles()
    return Tree(record, files, table, Members())


def found(tree: Tree) -> set[int]:
    return {identity.pid - BASE for identity in tree.find()}


def evidence(tree: Tree) -> dict[int, str]:
    tree.find()
    return {view.pid - BASE: view.evidence for view in tree.prove_gone().processes}


def test_F12_a_record_alone_makes_no_process_ours() -> None:
    assert found(tree(process(AGENT))) == set()
    assert found(tree(process(AGENT, mark=MARK))) == {2}
    assert found(tree(process(KEEPER), process(AGENT, KEEPER))) == {2}


def test_all_below_the_keeper_is_ours_and_the_keeper_itself_is_not_in_the_tree() -> None:
    lineage = (process(KEEPER), process(OTHER, KEEPER), process(BASE + 4, OTHER), process(BASE + 5, BASE + 4))
    assert found(tree(*lineage)) == {3, 4, 5}


def test_a_keeper_is_left_out_even_if_it_carries_the_mark() -> None:
    assert found(tree(process(KEEPER, mark=MARK), process(OTHER, KEEPER))) == {3}


def test_nothing_is_ours_for_being_below_a_recycled_keeper_pid() -> None:
    assert found(tree(process(KEEPER, start=8), process(OTHER, KEEPER))) == set()


def test_C10_a_mark_counts_whole() -> None:
    longer, other = process(OTHER, mark=MARK + "0"), process(BASE + 4, mark=MARK.replace("web", "web-2"))
    assert found(tree(longer, other)) == set()
    assert evidence(tree(process(OTHER, mark=MARK)))[3] == "mark"


def test_what_a_marked_process_started_is_ours_without_a_mark() -> None:
    assert found(tree(process(OTHER, mark=MARK), process(BASE + 4, OTHER))) == {3, 4}


def test_a_session_counts_only_while_its_recorded_leader_lives() -> None:
    member_of_session = process(OTHER, session=AGENT)
    assert evidence(tree(process(AGENT, session=AGENT, mark=MARK), member_of_session))[3] == "session"
    assert found(tree(process(AGENT, session=AGENT), member_of_session)) == set()
    assert found(tree(member_of_session)) == set()
    assert found(tree(process(AGENT, session=AGENT, start=8), member_of_session)) == set()


def test_after_a_reboot_only_the_mark_counts() -> None:
    rebooted = tree(process(KEEPER), process(AGENT), process(OTHER, KEEPER), boot="an earlier one")
    assert found(rebooted) == set()
    assert rebooted.prove_gone().method == BY_REBOOT


def test_what_was_ours_stays_ours_when_it_loses_its_mark_and_its_parent() -> None:
    known = tree(process(OTHER, mark=MARK))
    assert found(known) == {3}
    table: Any = Table(process(OTHER))
    known._table = table
    assert found(known) == {3}
    table.processes = (process(OTHER, start=9),)
    assert found(known) == set()


def test_what_cannot_be_killed_ends_in_a_refused_proof_that_names_it() -> None:
    proof = tree(process(OTHER, mark=MARK, state="D")).kill(limit_s=0.05)
    assert not proof.empty
    assert proof.method == BY_MARK_ONLY
    assert [view.pid for view in proof.alive] == [OTHER]
    assert [view.ended for view in proof.processes if view.pid == OTHER] == [""]


def test_E2_one_quiet_look_is_not_enough_to_be_held() -> None:
    """Forked just before its parent was stopped, and not in the first list."""
    parent, newborn = process(OTHER, mark=MARK, state="T"), process(BASE + 4, OTHER)
    looks = iter([(parent,), (parent, newborn), (parent, newborn._replace(state="T"))])
    held_tree = tree()

    class Moving(Table):
        def fresh(self) -> Snapshot:
            self.processes = next(looks, self.processes)
            return super().fresh()

    moving: Any = Moving()
    held_tree._table = moving
    held = held_tree.freeze(1.0)
    assert held.confirmed
    assert {view.pid for view in held.processes} == {OTHER, BASE + 4}


def test_what_cannot_be_stopped_is_not_confirmed_as_held() -> None:
    held = tree(process(OTHER, mark=MARK, state="D"), process(BASE + 4, mark=MARK, state="T")).freeze(0.02)
    assert not held.confirmed
    assert [view.pid for view in held.others] == [OTHER]
    assert len(held.processes) == 2
