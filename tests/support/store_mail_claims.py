"""What a store must hold to: mail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.ports import Task

if TYPE_CHECKING:
    from headcount.ports import Store
from tests.support.store_stage import close_team, mail, make_team


class MailClaims:
    def test_A6_mail_is_in_the_mailbox_that_the_member_reads(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice")
            posted = tx.post(mail(team, "alice#1", type="shutdown_request", request_id="r1", priority="high"))
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
            tx.post(mail(team, "alice#1", 'a "subject"', body))
            assert tx.inbox(team.id, ["alice#1"])[0].body == body

    def test_mail_is_in_order_of_arrival_whatever_its_priority(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice")
            for n, priority in enumerate(["normal", "high", "low", "high"]):
                tx.post(mail(team, "alice#1", str(n), priority=priority))
            assert [m.subject for m in tx.inbox(team.id, ["alice#1"])] == ["0", "1", "2", "3"]

    def test_B6_a_read_mark_is_for_one_message(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice")
            first = tx.post(mail(team, "alice#1", "first"))
        with store.read() as tx:
            seen = [m.id for m in tx.inbox(team.id, ["alice#1"], unread=True)]
        with store.write() as tx:
            tx.post(mail(team, "alice#1", "second"))
        with store.write() as tx:
            tx.mark_read(team.id, seen)
            assert seen == [first]
            assert [m.subject for m in tx.inbox(team.id, ["alice#1"], unread=True)] == ["second"]
            assert [m.subject for m in tx.inbox(team.id, ["alice#1"])] == ["first", "second"]
            assert tx.count_unread(team.id) == {"alice#1": 1}

    def test_a_read_mark_keeps_its_first_time(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice")
            posted = tx.post(mail(team, "alice#1"))
            tx.mark_read(team.id, [posted, "never"])
        with store.read() as tx:
            first = tx.find_mail(team.id, posted)
        with store.write() as tx:
            tx.mark_read(team.id, [posted])
            assert tx.find_mail(team.id, posted) == first

    def test_posting_an_id_again_changes_nothing(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice")
            again = mail(team, "alice#1").changed(id="u1")
            assert (tx.post(again), tx.post(again)) == ("u1", "u1")
            assert len(tx.inbox(team.id, ["alice#1"])) == 1

    def test_C1_a_closed_teams_unread_mail_and_open_tasks_stay_readable(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice")
            tx.post(mail(team, "alice#1", "unread"))
            tx.add_task(Task("t", team.id, "t", status="in_progress", owner="alice#1"))
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
                tx.mark_read(team.id, [tx.post(mail(team, "alice#1", "read"))])
                tx.post(mail(team, "alice#1", "unread"))
            close_team(tx, old)
            assert tx.forget_mail(old.id, read_before=0) == 0
            assert tx.forget_mail(new.id, read_before=1e12) == 0
            assert tx.forget_mail(old.id, read_before=1e12) == 1
            assert [m.subject for m in tx.inbox(old.id, None)] == ["unread"]
            assert [m.subject for m in tx.inbox(new.id, None)] == ["read", "unread"]

    def test_unread_mail_of_some_types_moves_to_another_mailbox(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice")
            tx.mark_read(team.id, [tx.post(mail(team, "alice#1", "read"))])
            tx.post(mail(team, "alice#1", "unread"))
            tx.post(mail(team, "alice#1", "request", type="shutdown_request", request_id="r1"))
            assert tx.redirect_mail(team.id, "alice#1", "lead", ["message", "idle"]) == 1
            assert tx.redirect_mail(team.id, "alice#1", "lead", ["message", "idle"]) == 0
            assert [(m.subject, m.bounced_from) for m in tx.inbox(team.id, ["lead"])] == [
                ("unread", "alice#1")
            ]
            assert [m.subject for m in tx.inbox(team.id, ["alice#1"])] == ["read", "request"]
            assert tx.has_unread(team.id, ["lead", "witness"]) and not tx.has_unread(team.id, ["witness"])
