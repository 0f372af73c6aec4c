"""What every store must hold to. Run it on an adapter by giving it a `store` fixture:

    class TestMine(StoreSuite):
        @pytest.fixture
        def store(self): ...

The suite speaks only through the port, so it fits a store that is not ours.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from headcount.errors import Bug, Declined, FencedOut, NotAllowed, UsageError
from headcount.ports import Identity, Mail, Task
from headcount.protocol import events as ev
from headcount.protocol.effects import Act, ActKind, Note
from headcount.protocol.member import Member, State
from headcount.protocol.team import Escalation, Request, Status

if TYPE_CHECKING:
    from headcount.ports import Store, Tx
    from headcount.protocol.team import Team


def make_team(tx: Tx, name: str = "review", *names: str, **settings: Any) -> Team:
    """An open team with a running member for each name."""
    return add_members(tx, tx.create_team(name, "", settings), *names)


def add_members(tx: Tx, team: Team, *names: str, role: str = "worker") -> Team:
    members, generations = dict(team.members), dict(team.generations)
    for name in names:
        generations[name] = generations.get(name, 0) + 1
        member = Member(name, generations[name], role=role, state=State.RUNNING)
        members[member.key] = member
    after = replace(team, members=members, generations=generations)
    tx.save_team(team, after)
    return after


def close_team(tx: Tx, team: Team) -> Team:
    after = replace(team, status=Status.SHUTDOWN)
    tx.save_team(team, after)
    return after


def mail(team: Team, to: str, subject: str = "s", body: str = "b", **more: Any) -> Mail:
    return Mail("", team.id, more.pop("sender", "lead"), to, subject, body, **more)


class TransactionClaims:
    def test_a_transaction_that_raises_leaves_nothing_behind(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice")
            tx.post(mail(team, "alice", "first"))
            tx.add_input(team.id, ev.IdleReported("alice#1"))
            tx.add_task(Task("", team.id, "one"))
        with pytest.raises(ZeroDivisionError), store.write() as tx:
            tx.create_team("other", "", {})
            tx.claim_task(team.id, "alice#1")
            tx.save_team(team, replace(team, status=Status.STOPPING))
            tx.note(team.id, [Note("n")])
            tx.take_inputs(team.id)
            tx.add_acts(team.id, [Act(ActKind.START, "alice#1", 1)])
            tx.mark_read(team.id, [tx.post(mail(team, "alice", "second"))])
            tx.seal(team.id, "alice#1")
            tx.put_fact(team.id, "", "f", {})
            tx.add_token(Identity(team.id, "alice#1", "worker"), "t")
            raise ZeroDivisionError
        with store.read() as tx:
            assert tx.team_names() == ["review"]
            assert tx.load_team("review") == team
            assert [e.kind for e in tx.journal(team.id)] == ["team_created", "task_created"]
            assert tx.pending_acts(team.id) == []
            assert [m.subject for m in tx.inbox(team.id, ["alice#1"], unread=True)] == ["first"]
            assert tx.inbox(team.id, ["lead"]) == []
            assert [t.status for t in tx.tasks(team.id)] == ["pending"]
            assert tx.fact(team.id, "", "f") is None
            assert tx.identify("t") is None
        with store.write() as tx:
            assert tx.take_inputs(team.id) == [ev.IdleReported("alice#1")]

    def test_writing_in_a_read_transaction_is_an_error(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx)
        with pytest.raises(Bug), store.read() as tx:
            tx.put_fact(team.id, "", "f", {})
        with store.read() as tx:
            assert tx.fact(team.id, "", "f") is None

    def test_a_transaction_inside_another_is_an_error(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx)
            with pytest.raises(Bug), store.write():
                pass
            with pytest.raises(Bug), store.read():
                pass
            tx.put_fact(team.id, "", "f", {"n": 1})
        with store.read() as tx:
            assert tx.fact(team.id, "", "f") == {"n": 1}

    def test_threads_write_one_after_the_other(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx)

        def count() -> None:
            for _ in range(20):
                with store.write() as tx:
                    seen = tx.fact(team.id, "", "n") or {"n": 0}
                    tx.put_fact(team.id, "", "n", {"n": seen["n"] + 1})

        threads = [threading.Thread(target=count) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with store.read() as tx:
            assert tx.fact(team.id, "", "n") == {"n": 80}


class TeamClaims:
    def test_a_team_comes_back_as_it_was_saved(self, store: Store) -> None:
        with store.write() as tx:
            before = make_team(tx, "review", "alice", "bob")
            request = Request("r1", ("alice#1",), True, "done", rejected_by=(("bob", "busy"),))
            escalation = Escalation("e1", "bob#1", "dirty", ("2 files",), 3)
            after = replace(
                before,
                status=Status.ESCALATED,
                requests={"r1": replace(request, taken_over=(replace(request, id="r0"),))},
                last_request=request,
                escalations={"e1": escalation},
                warnings=("finalizers: late",),
                members={**before.members, "bob#1": replace(before.members["bob#1"], issues=("a", "b"))},
            )
            tx.save_team(before, after)
        with store.read() as tx:
            loaded = tx.load_team("review")
            assert loaded == after
            assert loaded is not None and list(loaded.members) == ["alice#1", "bob#1"]

    def test_members_are_loaded_in_the_order_of_their_start(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "zoe", "adam", "mia")
            changed = replace(team.members["adam#1"], epoch=9)
            tx.save_team(team, replace(team, members={**team.members, "adam#1": changed}))
        with store.read() as tx:
            loaded = tx.load_team("review")
            assert loaded is not None and list(loaded.members) == ["zoe#1", "adam#1", "mia#1"]

    def test_B8_an_open_teams_name_is_refused(self, store: Store) -> None:
        with store.write() as tx:
            make_team(tx)
        with pytest.raises(Declined) as refusal, store.write() as tx:
            make_team(tx)
        assert refusal.value.code == "team-exists"

    def test_generations_count_on_for_ever_for_the_team_and_for_members(self, store: Store) -> None:
        with store.write() as tx:
            first = make_team(tx, "review", "alice", "bob")
            first = add_members(tx, first, "alice")
            close_team(tx, first)
            second = tx.create_team("review", "", {})
            assert second.id == "review#2"
            second = add_members(tx, second, "alice", "carol")
        with store.read() as tx:
            assert tx.load_team("review") == second
            assert list(second.members) == ["alice#3", "carol#1"]
            assert (tx.load_team("review#1") or second).status is Status.SHUTDOWN

    def test_closed_teams_are_listed_only_when_asked_for(self, store: Store) -> None:
        with store.write() as tx:
            close_team(tx, make_team(tx, "old"))
            make_team(tx, "new")
            assert tx.team_names() == ["new"]
            assert tx.team_names(closed=True) == ["old", "new"]
            assert tx.load_team("never") is None

    def test_E1_incarnations_of_one_name_are_kept_apart(self, store: Store) -> None:
        with store.write() as tx:
            team = add_members(tx, make_team(tx, "review", "alice"), "alice")
            gone = replace(team.members["alice#1"], state=State.GONE, settled=True, outcome="clean")
            tx.save_team(team, replace(team, members={**team.members, "alice#1": gone}))
        with store.read() as tx:
            loaded = tx.load_team("review")
            assert loaded is not None
            assert [m.key for m in loaded.live()] == ["alice#2"]
            assert loaded.members["alice#1"].outcome == "clean"

    def test_settings_are_kept_as_json(self, store: Store) -> None:
        with store.write() as tx:
            team = tx.create_team("review", "", {"policy": {"notify": ("a",)}, "mode": "up"})
            assert tx.team_settings(team.id) == {"policy": {"notify": ["a"]}, "mode": "up"}

    @pytest.mark.parametrize("name", ["", "Review", "a/b", "../x", "a" * 51, "-a", "a\n"])
    def test_a_name_that_is_none_is_refused(self, store: Store, name: str) -> None:
        with pytest.raises(UsageError), store.write() as tx:
            tx.create_team(name, "", {})


class JournalClaims:
    def test_entries_are_in_order_and_can_be_read_from_any_point(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx)
            first = tx.note(team.id, [Note("a", "x", {"n": 1}), Note("b")])
            last = tx.note(team.id, [Note("c"), Note("a")])
            assert last > first
            assert [(e.kind, e.about) for e in tx.journal(team.id)][1:3] == [("a", "x"), ("b", "")]
            assert tx.journal(team.id)[1].data == {"n": 1}
            assert [e.kind for e in tx.journal(team.id, after=first)] == ["c", "a"]
            assert [e.kind for e in tx.journal(team.id, after=first, limit=1)] == ["c"]
            assert [e.kind for e in tx.journal(team.id, kinds=["a"])] == ["a", "a"]
            assert [e.kind for e in tx.recent(team.id, 2)] == ["c", "a"]
            assert tx.journal("other#1") == []

    def test_inputs_are_taken_once_in_the_order_in_which_they_came(self, store: Store) -> None:
        said = [
            ev.Answered("alice#1", "r1", False, 'not "yet"\n\0'),
            ev.IdleReported("bob#1"),
            ev.StandDown("r2", ("alice",), force=True),
            ev.TimedOut(None, 3),
        ]
        with store.write() as tx:
            team = make_team(tx)
            for event in said:
                tx.add_input(team.id, event)
        with store.write() as tx:
            assert tx.take_inputs(team.id) == said
            assert tx.take_inputs(team.id) == []

    def test_an_answer_counts_from_the_moment_it_was_given_and_the_first_one_does(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx)
            tx.add_input(team.id, ev.Answered("alice#1", "r1", False, "not yet"))
            tx.add_input(team.id, ev.Answered("alice#1", "r1", True))
            tx.add_input(team.id, ev.Answered("bob#1", "r1", True))
        with store.read() as tx:
            assert tx.unheard_answer(team.id, "alice#1", "r1") == "rejected"
            assert tx.unheard_answer(team.id, "bob#1", "r1") == "approved"
            assert tx.unheard_answer(team.id, "alice#1", "r2") is None
        with store.write() as tx:
            tx.take_inputs(team.id)
            assert tx.unheard_answer(team.id, "alice#1", "r1") is None

    def test_C3_a_closed_team_hears_nothing_more(self, store: Store) -> None:
        with store.write() as tx:
            team = close_team(tx, make_team(tx))
        with pytest.raises(Declined) as refusal, store.write() as tx:
            tx.add_input(team.id, ev.IdleReported("alice#1"))
        assert refusal.value.code == "team-closed"

    def test_acts_are_pending_until_ended_and_added_once(self, store: Store) -> None:
        start, kill = Act(ActKind.START, "a#1", 1, {"x": [1]}), Act(ActKind.KILL, "a#1", 2)
        with store.write() as tx:
            team = make_team(tx)
            tx.add_acts(team.id, [start, kill])
            tx.add_acts(team.id, [start])
            assert tx.pending_acts(team.id) == [start, kill]
            tx.end_act(team.id, start.id)
            tx.add_acts(team.id, [start])
            tx.end_act(team.id, "never")
            assert tx.pending_acts(team.id) == [kill]

    def test_facts_are_kept_by_whom_they_are_about(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx)
            tx.put_fact(team.id, "b#1", "workspace", {"path": "/b", "n": (1, 2)})
            tx.put_fact(team.id, "a#1", "workspace", {"path": "/a"})
            tx.put_fact(team.id, "a#1", "workspace", {"path": "/a2"})
            assert tx.fact(team.id, "b#1", "workspace") == {"path": "/b", "n": [1, 2]}
            assert next(iter(tx.facts(team.id, "workspace").items())) == ("a#1", {"path": "/a2"})
            assert tx.fact(team.id, "c#1", "workspace") is None


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


class TaskClaims:
    def test_a_task_comes_back_as_it_was_added(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx)
            first = tx.add_task(Task("", team.id, "one"))
            second = tx.add_task(Task("audit", team.id, "two", "long", "Auditing", depends_on=(first.id,)))
            second = replace(second, metadata={"files": ["a", "b"]}, status="blocked", reason="no key")
            tx.save_task(second)
            assert tx.tasks(team.id) == [first, second]
            assert tx.tasks(team.id, status="blocked") == [second]
            assert tx.tasks(team.id, owner="alice#1") == []

    def test_the_next_available_task_is_the_oldest_whose_dependencies_are_complete(
        self, store: Store
    ) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice", "bob")
            tx.add_task(Task("base", team.id, "base"))
            tx.add_task(Task("top", team.id, "top", depends_on=("base",)))
            first = tx.claim_task(team.id, "alice#1")
            assert first is not None
            assert (first.id, first.owner, first.status) == ("base", "alice#1", "in_progress")
            assert tx.claim_task(team.id, "bob#1") is None
            tx.complete_task(team.id, "base", "lead")
            second = tx.claim_task(team.id, "bob#1")
            assert second is not None and second.id == "top"

    def test_a_claim_is_among_the_engines_inputs(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice")
            tx.add_task(Task("t", team.id, "t"))
            tx.claim_task(team.id, "alice#1", "t")
            tx.claim_task(team.id, "alice#1", "t")
            assert tx.take_inputs(team.id) == [ev.TaskClaimed("alice#1", "t")]

    def test_B5_a_lost_race_names_the_winner(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice", "bob")
            tx.add_task(Task("t", team.id, "t"))
            tx.claim_task(team.id, "alice#1", "t")
        with pytest.raises(Declined) as refusal, store.write() as tx:
            tx.claim_task(team.id, "bob#1", "t")
        assert refusal.value.code == "already-claimed" and "alice#1" in refusal.value.why

    @pytest.mark.parametrize(
        "status", [Status.PENDING_SHUTDOWN, Status.STOPPING, Status.CLOSING, Status.STUCK]
    )
    def test_B2_nothing_is_claimed_while_draining(self, store: Store, status: Status) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice")
            tx.add_task(Task("t", team.id, "t"))
            tx.save_team(team, replace(team, status=status))
        for task_id in ("t", None):
            with pytest.raises(Declined) as refusal, store.write() as tx:
                tx.claim_task(team.id, "alice#1", task_id)
            assert refusal.value.code == "draining"

    def test_C3_a_closed_team_takes_no_task(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice")
            tx.add_task(Task("t", team.id, "t"))
            close_team(tx, team)
        with pytest.raises(Declined, match="shut down"), store.write() as tx:
            tx.add_task(Task("u", team.id, "u"))
        with pytest.raises(Declined, match="shut down"), store.write() as tx:
            tx.claim_task(team.id, "alice#1", "t")

    def test_E6_dependencies_must_exist_and_make_no_cycle(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx)
            a = tx.add_task(Task("a", team.id, "a"))
            tx.add_task(Task("b", team.id, "b", depends_on=("a",)))
        with pytest.raises(UsageError) as unknown, store.write() as tx:
            tx.add_task(Task("c", team.id, "c", depends_on=("bb",)))
        with pytest.raises(UsageError) as itself, store.write() as tx:
            tx.add_task(Task("c", team.id, "c", depends_on=("c",)))
        with pytest.raises(UsageError) as cycle, store.write() as tx:
            tx.save_task(replace(a, depends_on=("b",)))
        with pytest.raises(UsageError) as twice, store.write() as tx:
            tx.add_task(Task("a", team.id, "again"))
        codes = [refusal.value.code for refusal in (unknown, itself, cycle, twice)]
        assert codes == ["unknown-task", "cycle", "cycle", "task-exists"]

    def test_E6_only_the_owner_hands_a_task_in(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice", "bob")
            tx.add_task(Task("t", team.id, "t"))
            tx.claim_task(team.id, "alice#1", "t")
        with pytest.raises(NotAllowed) as refusal, store.write() as tx:
            tx.hand_in_task(team.id, "bob#1", "t")
        assert refusal.value.code == "not-owner"
        with store.write() as tx:
            assert tx.hand_in_task(team.id, "bob#1") is None
            assert tx.hand_in_task(team.id, "alice#1") == "t"
            assert tx.hand_in_task(team.id, "alice#1", "t") == "t"
            assert [t.status for t in tx.tasks(team.id)] == ["in_review"]

    def test_a_task_is_not_complete_before_what_it_depends_on(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx)
            tx.add_task(Task("a", team.id, "a"))
            tx.add_task(Task("b", team.id, "b", depends_on=("a",)))
        with pytest.raises(Declined, match="has to wait"), store.write() as tx:
            tx.complete_task(team.id, "b", "lead")
        with store.write() as tx:
            tx.complete_task(team.id, "a", "lead")
            assert tx.complete_task(team.id, "b", "lead").status == "complete"
            assert tx.complete_task(team.id, "b", "lead").status == "complete"

    def test_E5_a_blocked_task_says_why(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx)
            task = tx.add_task(Task("a", team.id, "a"))
        with pytest.raises(UsageError, match="needs a reason"), store.write() as tx:
            tx.save_task(replace(task, status="blocked"))
        with store.write() as tx:
            tx.save_task(replace(task, status="blocked", reason="no key"))
            assert tx.tasks(team.id, status="blocked")[0].reason == "no key"

    def test_D8_a_dead_owners_task_can_be_claimed_again(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice", "bob")
            for task_id in ("a", "b", "c"):
                tx.add_task(Task(task_id, team.id, task_id))
                tx.claim_task(team.id, "alice#1", task_id)
            tx.hand_in_task(team.id, "alice#1", "b")
            assert tx.give_back_tasks(team.id, "alice#1") == ["a", "c"]
            assert tx.give_back_tasks(team.id, "alice#1") == []
            again = tx.claim_task(team.id, "bob#1")
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
    def test_E4_E7_a_task_that_does_not_fit_is_refused(
        self, store: Store, changes: dict[str, Any], code: str
    ) -> None:
        with store.write() as tx:
            team = make_team(tx)
        with pytest.raises(UsageError) as refusal, store.write() as tx:
            tx.add_task(replace(Task("", team.id, "s"), **changes))
        assert refusal.value.code == code


class IdentityClaims:
    def test_a_token_is_one_incarnation_until_it_is_gone(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice", "bob")
            alice, bob = Identity(team.id, "alice#1", "worker"), Identity(team.id, "bob#1", "lead")
            tx.add_token(alice, "secret-a")
            tx.add_token(bob, "secret-b")
            assert (tx.identify("secret-a"), tx.identify("secret-b")) == (alice, bob)
            assert tx.identify("secret") is None and tx.identify("") is None
            tx.seal(team.id, "alice#1")
            assert (tx.identify("secret-a"), tx.identify("secret-b")) == (None, bob)


class LeaseClaims:
    def test_B4_one_holder_at_a_time_and_the_old_one_is_fenced_out(self, store: Store) -> None:
        first = store.take_lease("engine", "one", 60)
        assert first is not None and store.take_lease("engine", "two", 60) is None
        with store.write(first) as tx:
            make_team(tx, "review")
        second = store.take_lease("engine", "two", 60, steal=True)
        assert second is not None and second.token > first.token
        with pytest.raises(FencedOut), store.write(first) as tx:
            make_team(tx, "stale")
        assert not store.renew_lease(first, 60) and store.renew_lease(second, 60)
        with store.write(second) as tx:
            assert tx.team_names() == ["review"]

    def test_a_released_lease_is_free_and_its_token_is_void(self, store: Store) -> None:
        first = store.take_lease("engine", "one", 60)
        assert first is not None
        store.release_lease(first)
        with pytest.raises(FencedOut), store.write(first):
            pass
        second = store.take_lease("engine", "two", 60)
        assert second is not None and second.token > first.token
        store.release_lease(first)
        assert store.renew_lease(second, 60)

    def test_a_lease_ends_with_its_time(self, store: Store) -> None:
        first = store.take_lease("engine", "one", -1)
        second = store.take_lease("engine", "two", 60)
        assert first is not None and second is not None and second.token > first.token
        assert store.take_lease("other", "one", 60) is not None


class WakingClaims:
    def test_a_ring_after_listening_is_not_lost(self, store: Store) -> None:
        store.listen("a/b")
        store.ring(["a/b", "c"])
        assert store.wait("a/b", 10)
        assert not store.wait("a/b", 0)

    def test_a_ring_wakes_who_sleeps(self, store: Store) -> None:
        store.listen("box")
        timer = threading.Timer(0.05, lambda: store.ring(["box"]))
        timer.start()
        assert store.wait("box", 10)
        timer.join()

    def test_threads_that_wait_for_the_same_are_all_woken(self, store: Store) -> None:
        listening, woken = threading.Barrier(4), []

        def sleep() -> None:
            store.listen("box")
            listening.wait(10)
            woken.append(store.wait("box", 10))

        threads = [threading.Thread(target=sleep) for _ in range(3)]
        for thread in threads:
            thread.start()
        listening.wait(10)
        store.ring(["box"])
        for thread in threads:
            thread.join()
        assert woken == [True] * 3

    def test_a_ring_on_another_channel_wakes_nobody(self, store: Store) -> None:
        store.listen("box")
        store.ring(["box2", "bo", "engine"])
        assert not store.wait("box", 0.01)


class StoreSuite(
    TransactionClaims, TeamClaims, JournalClaims, MailClaims, TaskClaims, IdentityClaims, LeaseClaims,
    WakingClaims,
):  # fmt: skip
    """All of it. Subclass, and give a `store` fixture."""
