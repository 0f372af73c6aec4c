"""A worker in a real member's place calls every command of the operator's, and none of them obeys."""

from __future__ import annotations

from pathlib import Path

import pytest

from headcount.app.app import open_app
from headcount.app.cycle import SELF_CYCLES, count_self_cycle
from headcount.app.teams import create_team
from headcount.cli import COMMANDS
from headcount.errors import Declined
from headcount.ports import Identity
from headcount.protocol import authority
from tests.support.store_suite import add_members

from .conftest import Desk

TEAM = "crew"
WORDS = {
    "reply": ["m1", "yes"],
    "merge": ["ada"],
    "pr": ["ada"],
    "set": ["stop_grace_s=1"],
    "up": ["team.tsx"],
    "run": ["team.tsx"],
    "abort": ["--reason", "enough"],
    "spawn": ["more", "--agent", "command"],
    "pause": ["ann"],
    "resume": ["ann"],
    "cycle": ["bob"],
    "witness": ["findings", "ann"],
    "decide": ["e1", "wait"],
    "salvage": ["list"],
    "attach": ["ann"],
    "logs": ["ann"],
    "adopt": ["--yes"],
}
_TSX = """
import { Command, Team, Teammate, defineTeam, defineWorker } from 'headcount'
const x = defineWorker('x', 'general-purpose')
const t = defineTeam('other', [x])
export default <Command name="c" description="d"><Team team={t} description="d">
<Teammate worker={x} description="d" prompt="p" /></Team></Command>
"""


@pytest.fixture
def worker(desk: Desk) -> dict[str, str]:
    """The variables of a worker; nobody drives."""
    app = open_app(str(desk.repo), {})
    team = create_team(app, TEAM, environ={})
    with app.store.write() as tx:
        add_members(tx, team, "ann", "bob")
        tx.add_token(Identity(team.id, "ann#1", "worker"), "token-ann")
    app.close()
    (desk.repo / "team.tsx").write_text(_TSX)
    return {
        "HEADCOUNT_HOME": str(desk.repo / ".headcount"), "HEADCOUNT_TEAM": TEAM, "HEADCOUNT_MEMBER": "ann",
        "HEADCOUNT_GENERATION": "1", "HEADCOUNT_TOKEN": "token-ann",
    }  # fmt: skip


OPERATORS = [name for name in COMMANDS if authority.WORKER not in authority.MAY[authority.OF_COMMAND[name]]]


@pytest.mark.parametrize("name", OPERATORS)
def test_a_worker_may_not_use_a_command_whose_row_does_not_name_it(
    desk: Desk, worker: dict[str, str], name: str
) -> None:
    answer = desk.answer(name, *WORDS.get(name, []), **worker)
    assert answer["error"]["code"] == "not-allowed", answer


def test_a_worker_may_not_take_the_operators_files_back(desk: Desk, worker: dict[str, str]) -> None:
    assert desk.run("init").returncode == 0
    before = sorted(path.name for path in desk.repo.iterdir())
    assert desk.answer("init", "--undo", **worker)["error"]["code"] == "not-allowed"
    assert sorted(path.name for path in desk.repo.iterdir()) == before


@pytest.mark.parametrize("command", ["build", "graph", "up", "run"])
def test_a_definition_in_python_is_not_run_inside_of_a_member(
    desk: Desk, worker: dict[str, str], command: str, tmp_path: Path
) -> None:
    (desk.repo / "d.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    assert desk.answer(command, "d.py", **worker)["error"]["code"] == "python-in-member"
    assert not (tmp_path / "ran").exists()


def test_a_member_cycles_itself_only_so_often_within_an_hour(desk: Desk, worker: dict[str, str]) -> None:
    app = open_app(str(desk.repo), worker)
    try:
        with app.turn(TEAM) as (tx, team, _):
            for _ in range(SELF_CYCLES):
                count_self_cycle(tx, team, "ann#1")
            with pytest.raises(Declined) as refused:
                count_self_cycle(tx, team, "ann#2")
            count_self_cycle(tx, team, "bob#1")
        assert refused.value.code == "cycled-too-often"
    finally:
        app.close()
