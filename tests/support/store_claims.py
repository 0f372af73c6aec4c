"""What a store must hold to: transactions, teams, the journal, identities, leases, waking."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from headcount.errors import Bug, Declined, FencedOut, UsageError
from headcount.ports import Identity, Task
from headcount.protocol import events as ev
from headcount.protocol.effects import Act, ActKind, Note
from headcount.protocol.member import State
from headcount.protocol.team import Escalation, Request, Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from headcount.ports import Store, Tx
from tests.support.store_stage import add_members, close_team, mail, make_team


class TransactionClaims:
    def test_a_transaction_that_raises_leaves_nothing_behind(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice")
            tx.post(mail(team, "alice#1", "first"))
            tx.add_input(team.id, ev.IdleReported("alice#1"))
            tx.add_task(Task("", team.id, "one"))
        with pytest.raises(ZeroDivisionError), store.write() as tx:
            tx.create_team("other", "", {})
            tx.save_task(tx.tasks(team.id)[0].changed(status="in_progress"))
            tx.save_team(team, replace(team, status=Status.STOPPING))
            tx.note(team.id, [Note("n")])
            tx.take_inputs(team.id)
            tx.add_acts(team.id, [Act(ActKind.START, "alice#1", 1)])
            tx.mark_read(team.id, [tx.post(mail(team, "alice#1", "second"))])
            tx.redirect_mail(team.id, "alice#1", "lead", ["message"])
            tx.seal(team.id, "alice#1")
            tx.put_fact(team.id, "", "f", {})
            tx.add_token(Identity(team.id, "alice#1", "worker"), "t")
            raise ZeroDivisionError
        with store.read() as tx:
            assert tx.team_names() == ["review"]
            assert tx.load_team("review") == team
            assert [e.kind for e in tx.journal(team.id)] == ["team_created"]
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

    def test_a_transaction_writes_only_the_team_that_it_names(self, store: Store) -> None:
        with store.write() as tx:
            mine, other = make_team(tx, "mine", "alice"), make_team(tx, "other", "alice")
        with store.write(team="mine") as tx:
            tx.post(mail(mine, "alice#1"))
            assert tx.load_team("other") == other
        with store.write(team=other.id) as tx:
            tx.post(mail(other, "alice#1"))
        acts: tuple[Callable[[Tx], object], ...] = (
            lambda tx: tx.post(mail(other, "alice#1")),
            lambda tx: tx.add_task(Task("", other.id, "t")),
            lambda tx: tx.note(other.id, [Note("n")]),
            lambda tx: tx.put_fact(other.id, "", "f", {}),
            lambda tx: tx.add_input(other.id, ev.IdleReported("alice#1")),
            lambda tx: tx.save_team(other, replace(other, status=Status.STOPPING)),
        )
        for act in acts:
            with pytest.raises(Bug), store.write(team="mine") as tx:
                act(tx)
        with store.read() as tx:
            assert len(tx.inbox(other.id, None)) == 1 and tx.tasks(other.id) == []

    def test_a_transaction_that_appends_adds_only_inputs_and_mail(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx, "mine", "alice")
            other = make_team(tx, "other", "alice")
        with store.append(team="mine") as tx:
            tx.post(mail(team, "alice#1"))
            tx.add_report(team.id, "IdleReported", {"key": "alice#1"})
        acts: tuple[Callable[[Tx], object], ...] = (
            lambda tx: tx.add_entry(team.id, "n", "", {}),
            lambda tx: tx.add_task(Task("", team.id, "t")),
            lambda tx: tx.post(mail(other, "alice#1")),
        )
        for act in acts:
            with pytest.raises(Bug), store.append(team="mine") as tx:
                act(tx)
        with store.write(team="mine") as tx:
            assert len(tx.inbox(team.id, None)) == 1 and tx.tasks(team.id) == []
            assert tx.take_inputs(team.id) == [ev.IdleReported("alice#1")]

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

    def test_what_a_team_notifies_of_is_read_from_its_policy(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx, policy={"notify_kinds": ["ask", "question"]})
            other = make_team(tx, "other")
            found = [tx.notifies_of(team.id, kind) for kind in ("question", "limit")]
            assert [*found, tx.notifies_of(other.id, "question")] == [True, False, False]

    def test_changed_settings_replace_the_others_and_what_is_taken_from_them(self, store: Store) -> None:
        with store.write() as tx:
            team = tx.create_team("review", "", {"policy": {"peer_mail": False}, "mode": "up"})
            tx.change_settings(team.id, {"policy": {"peer_mail": True}, "limits": {"tasks": 7}})
        with store.read() as tx:
            assert tx.team_settings(team.id) == {"policy": {"peer_mail": True}, "limits": {"tasks": 7}}
            card = tx.team_card("review")
        assert card is not None and card.peer_mail and card.max_tasks == 7
        with pytest.raises(UsageError), store.write() as tx:
            tx.change_settings("never#1", {})

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

    def test_a_report_is_an_input_by_the_name_and_fields_of_its_event(self, store: Store) -> None:
        with store.write() as tx:
            team = make_team(tx, "review", "alice")
            tx.add_report(team.id, "TaskClaimed", {"key": "alice#1", "task": "t"})
            assert tx.take_inputs(team.id) == [ev.TaskClaimed("alice#1", "t")]

    def test_cards_show_a_team_and_its_members_without_the_rules(self, store: Store) -> None:
        with store.write() as tx:
            team = add_members(tx, make_team(tx, "review", "alice", limits={"tasks": 7}), "alice", "bob")
            close_team(tx, make_team(tx, "old"))
        with store.read() as tx:
            card = tx.team_card("review")
            assert card is not None and card == tx.team_card(team.id)
            assert (card.id, card.status, card.max_tasks, card.closed) == ("review#1", "active", 7, False)
            assert (old := tx.team_card("old")) is not None and old.closed
            assert tx.team_card("never") is None and tx.member_card(team.id, "carol") is None
            assert [m.key for m in tx.member_cards(team.id)] == ["alice#1", "alice#2", "bob#1"]
            latest = tx.member_card(team.id, "alice")
            assert latest is not None and latest == tx.member_card(team.id, "alice#2")
            assert (latest.role, latest.state, latest.activity, latest.live) == (
                "worker", "running", "working", True,
            )  # fmt: skip


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
    def test_B4_one_holder_at_a_time_and_nothing_steals_a_lease(self, store: Store) -> None:
        first = store.take_lease("team/review", "one", 60)
        assert first is not None and store.take_lease("team/review", "two", 60) is None
        with store.write(first) as tx:
            make_team(tx, "review")
        second = store.take_lease("team/review", "one", 60)
        assert second is not None and second.token > first.token
        with pytest.raises(FencedOut), store.write(first) as tx:
            make_team(tx, "stale")
        assert not store.renew_lease(first, 60) and store.renew_lease(second, 60)
        with store.write(second, team="review") as tx:
            assert tx.team_names() == ["review"]

    def test_a_renewed_lease_lasts_and_leases_of_teams_are_apart(self, store: Store) -> None:
        first = store.take_lease("team/a", "one", -1)
        assert first is not None and store.renew_lease(first, 60)
        assert store.take_lease("team/a", "two", 60) is None
        assert store.take_lease("team/b", "two", 60) is not None

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
