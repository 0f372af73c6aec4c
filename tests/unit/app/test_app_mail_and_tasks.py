"""The rules of mail and of the task list, over a store in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from headcount.app.caller import Caller
from headcount.app.mail import Sent, write_mail
from headcount.app.session import Session
from headcount.app.signals import hand_in
from headcount.app.tasks import add, claim_task, complete_task
from headcount.engine.delivery import deliver, find_box, release_tasks, seal_mailbox
from headcount.errors import Declined, NotAllowed, UsageError
from headcount.ports import Task
from headcount.protocol import events as ev
from headcount.protocol.member import State
from headcount.protocol.task_list import check_task
from headcount.protocol.team import Status
from headcount.store.sqlite import InMemoryStore
from tests.support.store_stage import add_members, close_team, mail, make_team

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from headcount.domain.records import TeamCard
    from headcount.ports import Store, Tx
    from headcount.protocol.team import Team


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = InMemoryStore(str(tmp_path))
    yield store
    store.close()


def card(tx: Tx, team: Team) -> TeamCard:
    found = tx.team_card(team.id)
    assert found is not None
    return found


def send(tx: Tx, team: Team, kind: str, sender: str, to: str, subject: str, body: str) -> Sent:
    caller = Caller(kind, sender, team.id)
    never: Any = None
    return write_mail(tx, card(tx, team), Session("", never, caller), to, subject, body)


# --- mail ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("to", "box"),
    [
        ("alice", "alice#2"),
        ("alice#2", "alice#2"),
        ("alice#1", "alice#1"),
        ("review/alice", "alice#2"),
        ("lead", "lead"),
        ("mayor/", "lead"),
        ("witness", "witness"),
        ("review/witness", "witness"),
        ("operator", "operator"),
    ],
)
def test_an_address_is_one_mailbox(store: Store, to: str, box: str) -> None:
    with store.write() as tx:
        team = add_members(tx, make_team(tx, "review", "alice"), "alice")
        assert find_box(tx, card(tx, team), to) == box


@pytest.mark.parametrize("to", ["alcie", "", "alice#9", "other/witness", "all", "Alice", "review/"])
def test_C5_a_recipient_that_is_nobody_is_an_error(store: Store, to: str) -> None:
    with store.write() as tx:
        team = make_team(tx, "review", "alice")
    with pytest.raises(UsageError) as refusal, store.write() as tx:
        deliver(tx, mail(team, to))
    assert refusal.value.code == "unknown-recipient"
    if to == "alcie":
        assert refusal.value.hints == ('Did you mean "alice"?',)


def test_C4_mail_for_one_that_is_gone_goes_to_the_lead(store: Store) -> None:
    with store.write() as tx:
        team = make_team(tx, "review", "alice")
        read, _ = deliver(tx, mail(team, "alice", "read"))
        tx.mark_read(team.id, [read])
        deliver(tx, mail(team, "alice", "unread"))
        deliver(tx, mail(team, "alice", "moot", type="shutdown_request", request_id="r1"))
        assert seal_mailbox(tx, team.id, "alice#1") == 1
        assert seal_mailbox(tx, team.id, "alice#1") == 0
        deliver(tx, mail(team, "alice", "late"))
        bounced = tx.inbox(team.id, ["lead"], unread=True)
        assert [(m.subject, m.bounced_from) for m in bounced] == [
            ("unread", "alice#1"),
            ("late", "alice#1"),
        ]
        assert [m.subject for m in tx.inbox(team.id, ["alice#1"])] == ["read", "moot"]


def test_A12_a_namesake_does_not_get_the_old_ones_mail(store: Store) -> None:
    with store.write() as tx:
        team = make_team(tx, "review", "alice")
        deliver(tx, mail(team, "alice", "go", type="shutdown_request", request_id="r1"))
        seal_mailbox(tx, team.id, "alice#1")
        team = add_members(tx, team, "alice")
        deliver(tx, mail(team, "alice", "welcome"))
        assert [m.subject for m in tx.inbox(team.id, ["alice#2"])] == ["welcome"]


def test_C3_mail_to_a_closed_team_is_a_dead_letter(store: Store) -> None:
    with store.write() as tx:
        team = close_team(tx, make_team(tx, "review", "alice"))
        posted, _ = deliver(tx, mail(team, "alice", "late"))
        letter = tx.find_mail(team.id, posted)
        assert letter is not None and (letter.to, letter.bounced_from) == ("dead-letters", "alice#1")
        assert tx.inbox(team.id, ["alice#1", "lead"]) == []
        assert tx.team_names() == []


def test_A7_a_broadcast_has_an_id_for_each_recipient_and_one_group(store: Store) -> None:
    with store.write() as tx:
        team = make_team(tx, "review", "alice", "bob", "carol")
        team = add_members(tx, team, "boss", role="lead")
        gone = replace(team.members["carol#1"], state=State.GONE)
        tx.save_team(team, replace(team, members={**team.members, "carol#1": gone}))
        sent = send(tx, team, "lead", "lead", "all", "news", "for all")
        copies = tx.inbox(team.id, None)
        assert sent.delivered and sent.boxes == ["alice#1", "bob#1"]
        assert sent.channels == [f"{team.id}/alice#1", f"{team.id}/bob#1"]
        assert [m.id for m in copies] == sent.ids and len(set(sent.ids)) == 2
        assert {m.type for m in copies} == {"broadcast"}
        assert len({m.group for m in copies}) == 1 and copies[0].group


def test_members_write_to_each_other_only_if_the_team_says_so(store: Store) -> None:
    with store.write() as tx:
        team = make_team(tx, "review", "alice", "bob")
        team = add_members(tx, team, "rita", role="spec-reviewer")
        open_team = make_team(tx, "open", "alice", "bob", policy={"peer_mail": True})
    with pytest.raises(NotAllowed), store.write() as tx:
        send(tx, team, "worker", "alice#1", "bob", "hi", "")
    with store.write() as tx:
        assert send(tx, team, "worker", "alice#1", "rita", "hi", "").delivered
        assert send(tx, team, "worker", "alice#1", "lead", "hi", "").delivered
        assert send(tx, open_team, "worker", "alice#1", "bob", "hi", "").delivered
        assert tx.inbox(team.id, ["bob#1"]) == []


def test_a_worker_and_a_reviewer_write_to_each_other_about_their_own_task(store: Store) -> None:
    with store.write() as tx:
        team = make_team(tx, "review", "alice", "bob")
        team = add_members(tx, team, "rita", role="spec-reviewer")
        tasks = {"alice#1": "1", "bob#1": "2", "rita#1": "1"}
        given = {key: replace(team.members[key], task=task) for key, task in tasks.items()}
        tx.save_team(team, replace(team, members=given))
    for kind, sender, to in (("worker", "bob#1", "rita"), ("reviewer", "rita#1", "bob")):
        with pytest.raises(NotAllowed, match="another task"), store.write() as tx:
            send(tx, team, kind, sender, to, "hi", "")
    with store.write() as tx:
        assert send(tx, team, "worker", "alice#1", "rita", "hi", "").delivered
        assert send(tx, team, "reviewer", "rita#1", "alice", "hi", "").delivered
        assert send(tx, team, "operator", "operator", "bob", "hi", "").delivered


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"body": "é" * 50_001}, "too-long"),
        ({"subject": "x" * 201}, "too-long"),
        ({"type": "shutdown_approved"}, "unknown-type"),
        ({"priority": "urgent"}, "unknown-priority"),
        ({"body": "\udc80"}, "invalid-text"),
    ],
)
def test_E4_E7_mail_that_does_not_fit_is_refused(store: Store, changes: dict[str, Any], code: str) -> None:
    with store.write() as tx:
        team = make_team(tx, "review", "alice")
    with pytest.raises(UsageError) as refusal, store.write() as tx:
        deliver(tx, mail(team, "alice", **changes))
    assert refusal.value.code == code


def test_E7_limits_are_those_of_the_settings(store: Store) -> None:
    with store.write() as tx:
        team = make_team(tx, "review", "alice", limits={"message_bytes": 10, "tasks": 1})
        deliver(tx, mail(team, "alice", body="x" * 10))
        add(tx, card(tx, team), Task("", team.id, "one"))
    with pytest.raises(UsageError, match="body is too long"), store.write() as tx:
        deliver(tx, mail(team, "alice", body="x" * 11))
    with pytest.raises(Declined, match="No more tasks"), store.write() as tx:
        add(tx, card(tx, team), Task("", team.id, "two"))
    with pytest.raises(UsageError), store.write() as tx:
        make_team(tx, "other", limits={"message_bytes": 0})


# --- tasks -----------------------------------------------------------------------------------------------


def test_the_next_available_task_is_the_oldest_whose_dependencies_are_complete(store: Store) -> None:
    with store.write() as tx:
        team = make_team(tx, "review", "alice", "bob")
        add(tx, card(tx, team), Task("base", team.id, "base"))
        add(tx, card(tx, team), Task("top", team.id, "top", depends_on=("base",)))
        first = claim_task(tx, card(tx, team), "alice#1")
        assert first is not None
        assert (first.id, first.owner, first.status) == ("base", "alice#1", "in_progress")
        assert claim_task(tx, card(tx, team), "bob#1") is None
        complete_task(tx, card(tx, team), "base", "lead")
        second = claim_task(tx, card(tx, team), "bob#1")
        assert second is not None and second.id == "top"


def test_a_claim_is_among_the_engines_inputs(store: Store) -> None:
    with store.write() as tx:
        team = make_team(tx, "review", "alice")
        add(tx, card(tx, team), Task("t", team.id, "t"))
        claim_task(tx, card(tx, team), "alice#1", "t")
        claim_task(tx, card(tx, team), "alice#1", "t")
        assert tx.take_inputs(team.id) == [ev.TaskClaimed("alice#1", "t")]


def test_B5_a_lost_race_names_the_winner(store: Store) -> None:
    with store.write() as tx:
        team = make_team(tx, "review", "alice", "bob")
        add(tx, card(tx, team), Task("t", team.id, "t"))
        claim_task(tx, card(tx, team), "alice#1", "t")
    with pytest.raises(Declined) as refusal, store.write() as tx:
        claim_task(tx, card(tx, team), "bob#1", "t")
    assert refusal.value.code == "already-claimed" and "alice#1" in refusal.value.why


@pytest.mark.parametrize("status", [Status.PENDING_SHUTDOWN, Status.STOPPING, Status.CLOSING, Status.STUCK])
def test_B2_nothing_is_claimed_while_draining(store: Store, status: Status) -> None:
    with store.write() as tx:
        team = make_team(tx, "review", "alice")
        add(tx, card(tx, team), Task("t", team.id, "t"))
        tx.save_team(team, replace(team, status=status))
    for task_id in ("t", None):
        with pytest.raises(Declined) as refusal, store.write() as tx:
            claim_task(tx, card(tx, team), "alice#1", task_id)
        assert refusal.value.code == "draining"


def test_C3_a_closed_team_takes_no_task(store: Store) -> None:
    with store.write() as tx:
        team = make_team(tx, "review", "alice")
        add(tx, card(tx, team), Task("t", team.id, "t"))
        close_team(tx, team)
    with pytest.raises(Declined, match="shut down"), store.write() as tx:
        add(tx, card(tx, team), Task("u", team.id, "u"))
    with pytest.raises(Declined, match="shut down"), store.write() as tx:
        claim_task(tx, card(tx, team), "alice#1", "t")


def test_E6_dependencies_must_exist_and_make_no_cycle(store: Store) -> None:
    with store.write() as tx:
        team = make_team(tx)
        a = add(tx, card(tx, team), Task("a", team.id, "a"))
        add(tx, card(tx, team), Task("b", team.id, "b", depends_on=("a",)))
    with pytest.raises(UsageError) as unknown, store.write() as tx:
        add(tx, card(tx, team), Task("c", team.id, "c", depends_on=("bb",)))
    with pytest.raises(UsageError) as itself, store.write() as tx:
        add(tx, card(tx, team), Task("c", team.id, "c", depends_on=("c",)))
    with pytest.raises(UsageError) as cycle, store.write() as tx:
        check_task(a.changed(depends_on=("b",)), tx.tasks(team.id), card(tx, team))
    with pytest.raises(UsageError) as twice, store.write() as tx:
        add(tx, card(tx, team), Task("a", team.id, "again"))
    codes = [refusal.value.code for refusal in (unknown, itself, cycle, twice)]
    assert codes == ["unknown-task", "cycle", "cycle", "task-exists"]


def test_E6_only_the_owner_hands_a_task_in(store: Store) -> None:
    with store.write() as tx:
        team = make_team(tx, "review", "alice", "bob")
        add(tx, card(tx, team), Task("t", team.id, "t"))
        claim_task(tx, card(tx, team), "alice#1", "t")
    with pytest.raises(NotAllowed) as refusal, store.write() as tx:
        hand_in(tx, card(tx, team), "bob#1", "t")
    assert refusal.value.code == "not-owner"
    with store.write() as tx:
        assert hand_in(tx, card(tx, team), "bob#1") is None
        assert hand_in(tx, card(tx, team), "alice#1") == "t"
        assert hand_in(tx, card(tx, team), "alice#1", "t") == "t"
        assert [t.status for t in tx.tasks(team.id)] == ["in_review"]


def test_a_task_is_not_complete_before_what_it_depends_on(store: Store) -> None:
    with store.write() as tx:
        team = make_team(tx)
        add(tx, card(tx, team), Task("a", team.id, "a"))
        add(tx, card(tx, team), Task("b", team.id, "b", depends_on=("a",)))
    with pytest.raises(Declined, match="has to wait"), store.write() as tx:
        complete_task(tx, card(tx, team), "b", "lead")
    with store.write() as tx:
        complete_task(tx, card(tx, team), "a", "lead")
        assert complete_task(tx, card(tx, team), "b", "lead").status == "complete"
        assert complete_task(tx, card(tx, team), "b", "lead").status == "complete"


def test_E5_a_blocked_task_says_why(store: Store) -> None:
    with store.write() as tx:
        team = make_team(tx)
        task = add(tx, card(tx, team), Task("a", team.id, "a"))
    with pytest.raises(UsageError, match="needs a reason"), store.write() as tx:
        check_task(task.changed(status="blocked"), (), card(tx, team))
    with store.write() as tx:
        check_task(task.changed(status="blocked", reason="no key"), (), card(tx, team))


def test_D8_a_dead_owners_task_can_be_claimed_again(store: Store) -> None:
    with store.write() as tx:
        team = make_team(tx, "review", "alice", "bob")
        for task_id in ("a", "b", "c"):
            add(tx, card(tx, team), Task(task_id, team.id, task_id))
            claim_task(tx, card(tx, team), "alice#1", task_id)
        hand_in(tx, card(tx, team), "alice#1", "b")
        assert release_tasks(tx, team.id, "alice#1") == ["a", "c"]
        assert release_tasks(tx, team.id, "alice#1") == []
        again = claim_task(tx, card(tx, team), "bob#1")
        assert again is not None and again.id == "a"
        assert [t.id for t in tx.tasks(team.id, owner="alice#1")] == ["b"]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"subject": " "}, "missing-subject"),
        ({"subject": "x" * 201}, "too-long"),
        ({"description": "x" * 10_001}, "too-long"),
        ({"status": "done"}, "unknown-status"),
        ({"id": "x" * 201}, "too-long"),
    ],
)
def test_E4_E7_a_task_that_does_not_fit_is_refused(store: Store, changes: dict[str, Any], code: str) -> None:
    with store.write() as tx:
        team = make_team(tx)
    with pytest.raises(UsageError) as refusal, store.write() as tx:
        add(tx, card(tx, team), Task("", team.id, "s").changed(**changes))
    assert refusal.value.code == code
