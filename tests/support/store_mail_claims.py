"""What a store must hold to: mail."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from headcount.errors import Declined, NotAllowed, UsageError
from headcount.ports import Task
from headcount.protocol.member import State

if TYPE_CHECKING:
    from headcount.ports import Store
from tests.support.store_stage import add_members, close_team, mail, make_team


class MailClaims:
    def test_A6_mail_is_in_the_mailbox_that_the_member_reads(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice")
            posted = tx.post(mail(team, "alice", type="shutdown_request", request_id="r1", priority="high"))
        with store.read() as tx:
            [got] = tx.inbox(team.id, ["alice#1"], unread=True)
            assert (got.id, got.type, got.request_id, got.priority) == (
                posted,
                "shutdown_request",
                "r1",
                "high",
            )
            assert got.sent_at > 0 and got.read_at is None

    def test_C6_content_comes_back_whole(self, store: Store) -> None:
        body = "ünï\0\r\n\t\x1b[31m" + "x" * 90_000
        with store.write() as tx:
            team = make_team(tx, "review", "alice")
            tx.post(mail(team, "alice", 'a "subject"', body))
            assert tx.inbox(team.id, ["alice#1"])[0].body == body

    def test_mail_is_in_order_of_arrival_whatever_its_priority(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice")
            for n, priority in enumerate(["normal", "high", "low", "high"]):
                tx.post(mail(team, "alice", str(n), priority=priority))
            assert [m.subject for m in tx.inbox(team.id, ["alice#1"])] == ["0", "1", "2", "3"]

    def test_B6_a_read_mark_is_for_one_message(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice")
            first = tx.post(mail(team, "alice", "first"))
        with store.read() as tx:
            seen = [m.id for m in tx.inbox(team.id, ["alice#1"], unread=True)]
        with store.write() as tx:
            tx.post(mail(team, "alice", "second"))
        with store.write() as tx:
            tx.mark_read(team.id, seen)
            assert seen == [first]
            assert [m.subject for m in tx.inbox(team.id, ["alice#1"], unread=True)] == ["second"]
            assert [m.subject for m in tx.inbox(team.id, ["alice#1"])] == ["first", "second"]
            assert tx.count_unread(team.id) == {"alice#1": 1}

    def test_a_read_mark_keeps_its_first_time(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice")
            posted = tx.post(mail(team, "alice"))
            tx.mark_read(team.id, [posted, "never"])
        with store.read() as tx:
            first = tx.find_mail(team.id, posted)
        with store.write() as tx:
            tx.mark_read(team.id, [posted])
            assert tx.find_mail(team.id, posted) == first

    def test_posting_an_id_again_changes_nothing(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice")
            again = replace(mail(team, "alice"), id="u1")
            assert (tx.post(again), tx.post(again)) == ("u1", "u1")
            assert len(tx.inbox(team.id, ["alice#1"])) == 1

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
    def test_an_address_is_one_mailbox(self, store: Store, to: str, box: str) -> None:
        with store.write() as tx:
            team = add_members(tx, make_team(tx, "review", "alice"), "alice")
            assert tx.find_box(team.id, to) == box

    @pytest.mark.parametrize("to", ["alcie", "", "alice#9", "other/witness", "all", "Alice", "review/"])
    def test_C5_a_recipient_that_is_nobody_is_an_error(self, store: Store, to: str) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice")
        with pytest.raises(UsageError) as refusal, store.write() as tx:
            tx.post(mail(team, to))
        assert refusal.value.code == "unknown-recipient"
        if to == "alcie":
            assert refusal.value.hints == ('Did you mean "alice"?',)

    def test_C4_mail_for_one_that_is_gone_goes_to_the_lead(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice")
            read = tx.post(mail(team, "alice", "read"))
            tx.mark_read(team.id, [read])
            tx.post(mail(team, "alice", "unread"))
            tx.post(mail(team, "alice", "moot", type="shutdown_request", request_id="r1"))
            assert tx.seal(team.id, "alice#1") == 1
            assert tx.seal(team.id, "alice#1") == 0
            tx.post(mail(team, "alice", "late"))
            bounced = tx.inbox(team.id, ["lead"], unread=True)
            assert [(m.subject, m.bounced_from) for m in bounced] == [
                ("unread", "alice#1"),
                ("late", "alice#1"),
            ]
            assert [m.subject for m in tx.inbox(team.id, ["alice#1"])] == ["read", "moot"]

    def test_A12_a_namesake_does_not_get_the_old_ones_mail(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice")
            tx.post(mail(team, "alice", "go", type="shutdown_request", request_id="r1"))
            tx.seal(team.id, "alice#1")
            team = add_members(tx, team, "alice")
            tx.post(mail(team, "alice", "welcome"))
            assert [m.subject for m in tx.inbox(team.id, ["alice#2"])] == ["welcome"]

    def test_C3_mail_to_a_closed_team_is_a_dead_letter(self, store: Store) -> None:
        with store.write() as tx:
            team = close_team(tx, make_team(tx, "review", "alice"))
            posted = tx.post(mail(team, "alice", "late"))
            letter = tx.find_mail(team.id, posted)
            assert letter is not None and (letter.to, letter.bounced_from) == ("dead-letters", "alice#1")
            assert tx.inbox(team.id, ["alice#1", "lead"]) == []
            assert tx.team_names() == []

    def test_C1_a_closed_teams_unread_mail_and_open_tasks_stay_readable(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice")
            tx.post(mail(team, "alice", "unread"))
            tx.add_task(Task("t", team.id, "t"))
            tx.claim_task(team.id, "alice#1", "t")
            close_team(tx, team)
            tx.create_team("review", "", {})
        with store.read() as tx:
            assert tx.count_unread("review#1") == {"alice#1": 1}
            assert [t.status for t in tx.tasks("review#1")] == ["in_progress"]
            assert tx.journal("review#1")[0].kind == "team_created"
            assert tx.inbox("review#2", None) == [] and tx.tasks("review#2") == []

    def test_C9_retention_takes_only_what_was_read_of_closed_teams(self, store: Store) -> None:
        with store.write() as tx:
            old, new = make_team(tx, "old", "alice"), make_team(tx, "new", "alice")
            for team in (old, new):
                tx.mark_read(team.id, [tx.post(mail(team, "alice", "read"))])
                tx.post(mail(team, "alice", "unread"))
            close_team(tx, old)
            assert tx.forget_mail(read_before=0) == 0
            assert tx.forget_mail(read_before=1e12) == 1
            assert [m.subject for m in tx.inbox(old.id, None)] == ["unread"]
            assert [m.subject for m in tx.inbox(new.id, None)] == ["read", "unread"]

    def test_A7_a_broadcast_has_an_id_for_each_recipient_and_one_group(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice", "bob", "carol")
            team = add_members(tx, team, "boss", role="lead")
            gone = replace(team.members["carol#1"], state=State.GONE)
            tx.save_team(team, replace(team, members={**team.members, "carol#1": gone}))
            sent = tx.send(team.id, "lead", "lead", "all", "news", "for all")
            copies = tx.inbox(team.id, None)
            assert sent.delivered and sent.boxes == ["alice#1", "bob#1"]
            assert sent.channels == [f"{team.id}/alice#1", f"{team.id}/bob#1"]
            assert [m.id for m in copies] == sent.ids and len(set(sent.ids)) == 2
            assert {m.type for m in copies} == {"broadcast"}
            assert len({m.group for m in copies}) == 1 and copies[0].group

    def test_members_write_to_each_other_only_if_the_team_says_so(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice", "bob")
            team = add_members(tx, team, "rita", role="spec-reviewer")
            open_team = make_team(tx, "open", "alice", "bob", policy={"peer_mail": True})
        with pytest.raises(NotAllowed), store.write() as tx:
            tx.send(team.id, "worker", "alice#1", "bob", "hi", "")
        with pytest.raises(NotAllowed), store.write() as tx:
            tx.send(team.id, "worker", "alice#1", "all", "hi", "")
        with store.write() as tx:
            assert tx.send(team.id, "worker", "alice#1", "rita", "hi", "").delivered
            assert tx.send(team.id, "worker", "alice#1", "lead", "hi", "").delivered
            assert tx.send(open_team.id, "worker", "alice#1", "bob", "hi", "").delivered
            assert tx.inbox(team.id, ["bob#1"]) == []

    def test_a_worker_and_a_reviewer_write_to_each_other_about_their_own_task(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice", "bob")
            team = add_members(tx, team, "rita", role="spec-reviewer")
            tasks = {"alice#1": "1", "bob#1": "2", "rita#1": "1"}
            given = {key: replace(team.members[key], task=task) for key, task in tasks.items()}
            tx.save_team(team, replace(team, members=given))
        for kind, sender, to in (("worker", "bob#1", "rita"), ("reviewer", "rita#1", "bob")):
            with pytest.raises(NotAllowed, match="another task"), store.write() as tx:
                tx.send(team.id, kind, sender, to, "hi", "")
        with store.write() as tx:
            assert tx.send(team.id, "worker", "alice#1", "rita", "hi", "").delivered
            assert tx.send(team.id, "reviewer", "rita#1", "alice", "hi", "").delivered
            assert tx.send(team.id, "operator", "operator", "bob", "hi", "").delivered

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
    def test_E4_E7_mail_that_does_not_fit_is_refused(
        self, store: Store, changes: dict[str, Any], code: str
    ) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice")
        with pytest.raises(UsageError) as refusal, store.write() as tx:
            tx.post(mail(team, "alice", **changes))
        assert refusal.value.code == code

    def test_E7_limits_are_those_of_the_settings(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice", limits={"message_bytes": 10, "tasks": 1})
            tx.post(mail(team, "alice", body="x" * 10))
            tx.add_task(Task("", team.id, "one"))
        with pytest.raises(UsageError, match="body is too long"), store.write() as tx:
            tx.post(mail(team, "alice", body="x" * 11))
        with pytest.raises(Declined, match="No more tasks"), store.write() as tx:
            tx.add_task(Task("", team.id, "two"))
        with pytest.raises(UsageError), store.write() as tx:
            make_team(tx, "other", limits={"message_bytes": 0})
