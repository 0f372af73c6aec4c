"""What `headcount down` tells a person to type next is about those whom they asked for, and nobody else."""

from __future__ import annotations

from typing import Any

import pytest

from headcount.app.standing_down import hint_for
from headcount.cli.down import _call, _summary


def _answer(status: str) -> dict[str, Any]:
    return {"status": status, "members": [], "seconds": None, "warnings": [], "archive": None}


@pytest.mark.parametrize("status", ["stuck", "rejected", "pending_shutdown", "stopping"])
def test_a_hint_after_single_members_never_names_the_whole_team(status: str) -> None:
    assert "`headcount down crew --member cy" in hint_for(_answer(status), _call("crew", ["cy"]))
    assert "--member" not in hint_for(_answer(status), _call("crew", None))


def test_the_summary_is_headed_by_those_who_were_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    _summary("crew", ["ada", "ben"], _answer("shutdown"))
    _summary("crew", None, _answer("shutdown"))
    heads = [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()]
    assert heads == ["ada, ben", "crew"]
