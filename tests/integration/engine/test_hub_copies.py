"""With a hub, saved means that the hub has it: nobody is killed and no workspace is removed before (I12)."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headcount.app.standing_down import decide
from headcount.app.teams import create_team
from headcount.domain.policy import Policy
from headcount.domain.settings import Fleet, Settings
from headcount.protocol import events as ev
from headcount.protocol.member import State
from headcount.workspace import hub as hub_module
from headcount.workspace.hub import RemoteHub

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


def test_H16_an_engine_that_died_after_the_push_pushes_the_same_again(
    lab: Lab, hub: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The salvage is at the hub, and nothing of it in the store: the next engine repeats the act."""
    pushed: list[dict[str, str]] = []
    ended = threading.Event()
    push = RemoteHub.push

    def push_and_die(self: RemoteHub, refs: Any, limit_s: float, objects: Any = ()) -> dict[str, str]:
        kept = push(self, refs, limit_s, objects)
        pushed.append(dict(refs))
        if len(pushed) == 1:
            ended.wait(LIMIT_S)
        return kept

    monkeypatch.setattr(RemoteHub, "push", push_and_die)
    create(lab, hub, replace(QUICK, checkpoint_s=0))
    lab.wait_file(lab.start("ada", f"{LEAVE}{POLITE}").key, "notes")
    answer = lab.ask(force=True)
    wait_until(lambda: len(pushed) == 1)
    assert lab.team().members["ada#1"].state is State.SALVAGING
    with suppress(KeyboardInterrupt):  # it leaves without waiting for what is under way
        lab.engine.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    lab.drive()
    assert lab.finish(answer)["deleted"]
    ended.set()
    assert pushed[1] == pushed[0] and names(hub) == pushed[0]


def test_without_a_hub_nothing_is_pushed_and_the_receipt_has_none(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_module, "RemoteHub", None)
    lab.create(QUICK)
    lab.wait_file(lab.start("ada", f"{LEAVE}{POLITE}").key, "notes")
    told = receipt(lab.finish(lab.ask(force=True)))
    assert told["hub"] is None and told["salvage"][0]["hub"] == told["salvage"][0]["only_on"] == ""
