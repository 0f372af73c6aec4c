from __future__ import annotations

from pathlib import Path

import pytest

from headcount.engine.complexity import measure

GATES = {"max_file_lines": 400, "max_function_lines": 50, "max_total_lines": 0}


def test_E3_a_file_that_cannot_be_measured_has_not_passed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "deep.js").write_text("function f(){" * 3000)
    (tmp_path / "plain.js").write_text("function f() {\n  return 1;\n}\n")
    found = measure(str(tmp_path), {"deep.js": 1, "plain.js": 3}, GATES)
    assert found.problems == ("deep.js could not be measured: it is nested too deeply",)
    assert (found.total, found.longest) == (4, 3)
    assert capfd.readouterr().err == ""
