"""The definition that is meant when none is named, and what is said of one that does not compile."""

from __future__ import annotations

from pathlib import Path

import pytest

from headcount.app.definition import find_definition, read_definition
from headcount.errors import DefinitionError, UsageError

_TSX = """\
import { Command, Team, Teammate, defineTeam, defineWorker } from 'headcount'
const x = defineWorker('x', 'general-purpose')
const t = defineTeam('crew', [x])
export default <Command name="c" description="d"><Team team={t} description="d">
<Teammate worker={x} descripton="d" prompt="p" /></Team></Command>
"""


def test_team_py_comes_first(tmp_path: Path) -> None:
    for name in ("team.tsx", "team.py", "other.py"):
        (tmp_path / name).write_text("")
    assert find_definition(str(tmp_path)) == "team.py"
    (tmp_path / "team.py").unlink()
    assert find_definition(str(tmp_path)) == "team.tsx"


def test_without_one_the_only_other_file_is_offered(tmp_path: Path) -> None:
    (tmp_path / "my crew.py").write_text("")
    with pytest.raises(UsageError) as refused:
        find_definition(str(tmp_path))
    assert refused.value.code == "no-source"
    assert refused.value.hints[0] == "Name it, such as `headcount up 'my crew.py'`"


def test_up_says_what_was_meant_as_build_does(tmp_path: Path) -> None:
    path = tmp_path / "team.tsx"
    path.write_text(_TSX)
    with pytest.raises(DefinitionError) as refused:
        read_definition(str(path))
    assert "Did you mean description?" in refused.value.why
    assert '<Teammate worker={x} descripton="d"' in refused.value.why
