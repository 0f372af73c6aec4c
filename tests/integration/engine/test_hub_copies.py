"""With a hub, saved means that the hub has it: nobody is killed and no workspace is removed before (I12)."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headcount.app.adapters import make_world
from headcount.app.salvages import list_saved, push_saved, restore_saved, verify_saved
from headcount.app.standing_down import decide
from headcount.app.teams import create_team
from headcount.domain.policy import Policy
from headcount.domain.settings import Fleet, Settings
from headcount.engine import run_acts
from headcount.engine.job import Job
from headcount.engine.member_acts import perform
from headcount.errors import UsageError
from headcount.protocol import events as ev
from headcount.protocol.effects import Act, ActKind
from headcount.protocol.phase_events import TaskHappened
from headcount.protocol.task_events import Merged
from headcount.protocol.team import Team
from headcount.runtime.worker_pool import WorkerPool
from headcount.workspace import hub as hub_module

from .lab import LIMIT_S, POLITE, QUICK, TEAM, Lab, git

REF = "refs/headcount/salvage/crew/ada/1"
BRANCH = "refs/heads/headcount/crew/ada"
COMMIT = "echo work > notes; git add notes; git commit -qm work; touch $HEADCOUNT_HOME/committed; "
LEAVE = "echo work > notes; "


@pytest.fixture
def hub(lab: Lab, tmp_path: Path) -> Path:
    place = tmp_path / "hub.git"
    git(str(tmp_path), "init", "-q", "--bare", str(place))
    return place


def create(lab: Lab, hub: Path | str, policy: Policy = QUICK) -> None:
    lab.app.settings = Settings(policy=policy, fleet=Fleet(hub=str(hub)))
    create_team(lab.app, TEAM, environ=os.environ)


def names(hub: Path) -> dict[str, str]:
    rows = git(str(hub), "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    return {name: commit for name, _, commit in (row.partition(" ") for row in rows)}


def take_away(hub: Path) -> None:
    hub.rename(f"{hub}.away")


def give_back(hub: Path) -> None:
    Path(f"{hub}.away").rename(hub)


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def receipt(answer: dict[str, Any]) -> dict[str, Any]:
    [member] = json.loads(Path(answer["archive"], "receipt.json").read_text())["members"]
    return dict(member)


def test_a_salvage_is_at_the_hub_before_its_member_is_stopped_and_the_receipt_names_it(
    lab: Lab, hub: Path
) -> None:
    create(lab, hub)
    lab.wait_file(lab.start("ada", f"{LEAVE}{POLITE}").key, "notes")
    answer = lab.finish(lab.ask(force=True))
    assert answer["deleted"] and not answer["warnings"]
    told = receipt(answer)
    assert names(hub) == {REF: told["salvage"][0]["commit"]}
    assert told["salvage"][0]["hub"] == REF and told["salvage"][0]["only_on"] == ""
    assert told["hub"] == {"refs": names(hub), "only_on": ""}
    assert git(str(hub), "show", f"{REF}:files/notes") == "work\n"


def test_a_clean_members_branch_is_at_the_hub_before_it_is_stopped(lab: Lab, hub: Path) -> None:
    create(lab, hub)
    lab.start("ada", f"{COMMIT}{POLITE}")
    lab.wait_flag("committed")
    lab.say(ev.DoneSignalled("ada#1"))
    answer = lab.finish(lab.ask())
    assert answer["members"][0]["outcome"] == "clean" and answer["deleted"]
    tip = git(os.path.dirname(lab.app.home), "rev-parse", BRANCH).strip()
    assert names(hub) == {BRANCH: tip} == receipt(answer)["hub"]["refs"]


@pytest.mark.parametrize("script", [LEAVE, COMMIT], ids=["salvage", "commit"])
def test_H15_hub_away_nobody_is_killed_until_it_is_back(lab: Lab, hub: Path, script: str) -> None:
    create(lab, hub)
    lab.wait_file(lab.start("ada", f"{script}{POLITE}").key, "notes")
    take_away(hub)
    answer = lab.finish(lab.ask(force=True))
    assert answer["status"] == "escalated"
    [escalation] = answer["escalations"]
    assert escalation["cause"] == "salvage" and str(hub) in escalation["issues"][0]
    assert "keep-here" in escalation["decisions"]
    assert lab.marked()
    give_back(hub)
    decide(lab.app, escalation["id"], "wait", "", TEAM)
    answer = lab.finish(lab.ask())
    assert answer["deleted"] and not lab.marked()
    assert receipt(answer)["hub"]["refs"] == names(hub) != {}


def test_H15_a_person_may_keep_it_here_and_the_receipt_says_so(lab: Lab, hub: Path) -> None:
    create(lab, hub)
    lab.wait_file(lab.start("ada", f"{LEAVE}{POLITE}").key, "notes")
    take_away(hub)
    answer = lab.finish(lab.ask(force=True))
    decide(lab.app, answer["escalations"][0]["id"], "keep-here", "the hub is being repaired", TEAM)
    answer = lab.finish(lab.ask())
    here = os.uname().nodename
    assert answer["deleted"] and not lab.marked()
    assert answer["members"][0]["outcome"] == "forced"
    assert any(f"saved on {here} only" in warning for warning in answer["warnings"])
    told = receipt(answer)
    assert told["salvage"][0]["only_on"] == here and told["salvage"][0]["hub"] == ""
    assert told["hub"] == {"refs": {}, "only_on": here}
    assert git(os.path.dirname(lab.app.home), "show", f"{REF}:files/notes") == "work\n"


def test_H17_what_the_hub_lost_before_the_close_is_pushed_again(lab: Lab, hub: Path, tmp_path: Path) -> None:
    """A finalizer runs after the salvage and before the removal: there the hub is rolled back."""
    shutil.copytree(hub, tmp_path / "backup")
    create(lab, hub)
    back = ("sh", "-c", f"rm -rf {hub} && cp -r {tmp_path}/backup {hub}")
    lab.wait_file(lab.start("ada", f"{LEAVE}{POLITE}", finalizers=(back,)).key, "notes")
    answer = lab.finish(lab.ask(force=True))
    assert answer["deleted"] and REF in names(hub)


def test_H17_verify_finds_what_a_hub_from_a_backup_has_lost_and_a_push_mends_it(
    lab: Lab, hub: Path, tmp_path: Path
) -> None:
    shutil.copytree(hub, tmp_path / "backup")
    create(lab, hub)
    lab.wait_file(lab.start("ada", f"{LEAVE}{POLITE}").key, "notes")
    assert lab.finish(lab.ask(force=True))["deleted"]
    assert verify_saved(lab.app, at_hub=True)[0]["ok"]
    shutil.rmtree(hub)
    shutil.copytree(tmp_path / "backup", hub)
    assert verify_saved(lab.app)[0]["ok"]
    assert verify_saved(lab.app, at_hub=True)[0]["problems"] == ["the hub does not have it"]
    assert push_saved(lab.app) == [REF] and push_saved(lab.app) == []
    assert verify_saved(lab.app, at_hub=True)[0]["ok"]
    assert [row["ref"] for row in list_saved(lab.app, at_hub=True)] == [REF]
    lab.app.settings = Settings()
    with pytest.raises(UsageError) as refused:
        verify_saved(lab.app, at_hub=True)
    assert refused.value.code == "no-hub"


def test_restore_fetches_what_only_the_hub_has(lab: Lab, hub: Path, tmp_path: Path) -> None:
    """The ref and its pack are gone here, as on a new machine."""
    create(lab, hub)
    lab.wait_file(lab.start("ada", f"{LEAVE}{POLITE}").key, "notes")
    assert lab.finish(lab.ask(force=True))["deleted"]
    top = os.path.dirname(lab.app.home)
    git(top, "update-ref", "-d", REF)
    for pack in Path(top, ".git/objects/pack").iterdir():
        pack.unlink()
    restored = restore_saved(lab.app, "ada", str(tmp_path / "again"))
    assert (tmp_path / "again" / "notes").read_text() == "work\n"
    assert "made again" in restored["notes"][0]


def test_G6_a_merge_is_pushed_and_a_hub_that_is_away_does_not_undo_it(lab: Lab, hub: Path) -> None:
    top, branch = os.path.dirname(lab.app.home), "headcount/crew/integration"
    world = make_world(lab.app, WorkerPool(1))
    tree, head = git(top, "rev-parse", "HEAD^{tree}").strip(), git(top, "rev-parse", "HEAD").strip()
    git(top, "branch", branch)
    for n, away in enumerate((False, True, False)):
        if away:
            take_away(hub)
        commit = git(top, "commit-tree", tree, "-p", head, "-m", f"work {n}").strip()
        act = Act(ActKind.MERGE, "1", 1, {"commit": commit, "branch": branch})
        done = run_acts.merge(Job(act, Team(TEAM), QUICK, world, start={"hub": str(hub)}))
        [happened] = done.events
        assert isinstance(happened, TaskHappened) and isinstance(happened.event, Merged)
        assert [note.kind for note in done.notes] == ["warning"] * away
        if away:
            give_back(hub)
    assert names(hub) == {f"refs/heads/{branch}": git(top, "rev-parse", branch).strip()}


def test_a_workspace_stays_while_the_hub_is_away_in_the_close(lab: Lab, hub: Path) -> None:
    create(lab, hub, replace(QUICK, cleanup_retries=0))
    away = ("mv", str(hub), f"{hub}.away")
    lab.wait_file(lab.start("ada", f"{LEAVE}{POLITE}", finalizers=(away,)).key, "notes")
    answer = lab.finish(lab.ask(force=True))
    assert answer["status"] == "shutdown" and not answer["deleted"]
    assert any(str(hub) in warning for warning in answer["warnings"])
    assert Path(lab.workspace("ada#1"), "notes").exists()


def test_the_hub_of_a_team_is_that_of_its_creation(lab: Lab, hub: Path) -> None:
    """The next engine may be started by a command without the setting."""
    create(lab, hub)
    lab.app.settings = Settings(policy=QUICK)
    lab.wait_file(lab.start("ada", f"{LEAVE}{POLITE}").key, "notes")
    assert lab.finish(lab.ask(force=True))["deleted"]
    assert REF in names(hub)


def test_private_files_stay_on_their_host(lab: Lab, hub: Path) -> None:
    create(lab, hub)
    lab.wait_file(lab.start("ada", f"echo secret > .env; {LEAVE}{POLITE}").key, "notes")
    answer = lab.finish(lab.ask(force=True))
    assert receipt(answer)["salvage"][0]["private"]["entries"] == 1
    assert ".env" not in git(str(hub), "ls-tree", "-r", "--name-only", REF)


def test_checkpoints_are_at_the_hub_while_members_work_and_not_afterwards(lab: Lab, hub: Path) -> None:
    create(lab, hub, replace(QUICK, checkpoint_s=0.2))
    ref = "refs/headcount/checkpoints/crew/{}/1".format
    for name in ("ada", "ben"):
        lab.wait_file(
            lab.start(name, f"{COMMIT}echo more >> notes; touch $HEADCOUNT_HOME/{name}; {POLITE}").key,
            "notes",
        )
        lab.wait_flag(name)

    def there() -> bool:
        found = names(hub)
        return all(
            ref(name) in found and git(str(hub), "show", f"{ref(name)}:notes") == "work\nmore\n"
            for name in ("ada", "ben")
        )

    wait_until(there)
    assert BRANCH in names(hub)
    answer = lab.finish(lab.ask(force=True))
    assert answer["deleted"]
    wait_until(lambda: not any("checkpoints" in name for name in names(hub)))
    git(str(hub), "fsck", "--full", "--strict")


def test_H16_an_act_whose_result_was_lost_after_the_push_pushes_the_same_again(lab: Lab, hub: Path) -> None:
    """The salvage is at the hub, and nothing of it in the store, as after a crash in between."""
    create(lab, hub)
    lab.wait_file(lab.start("ada", f"{LEAVE}{POLITE}").key, "notes")
    with lab.app.store.read() as tx:
        start, place = (tx.fact(f"{TEAM}#1", "ada#1", name) for name in ("start", "workspace"))
    team, act = lab.team(), Act(ActKind.SALVAGE, "ada#1", 1)
    job = Job(
        act, team, QUICK, make_world(lab.app, WorkerPool(1)), team.members["ada#1"],
        start={**(start or {}), "hub": str(hub)}, workspace=place,
    )  # fmt: skip
    [saved] = perform(job).events
    assert isinstance(saved, ev.Saved)
    first = names(hub)
    assert list(first) == [REF]
    answer = lab.finish(lab.ask(force=True))
    assert answer["deleted"] and names(hub) == first
    assert receipt(answer)["salvage"][0]["commit"] == first[REF]


def test_without_a_hub_nothing_is_pushed_and_the_receipt_has_none(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_module, "RemoteHub", None)
    lab.create(QUICK)
    lab.wait_file(lab.start("ada", f"{LEAVE}{POLITE}").key, "notes")
    told = receipt(lab.finish(lab.ask(force=True)))
    assert told["hub"] is None and told["salvage"][0]["hub"] == told["salvage"][0]["only_on"] == ""
