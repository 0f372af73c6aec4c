"""The cases with which an outside tester broke a promise, as shell scripts that know nothing of our code.

Each exits with 1 when a promise is broken, with 0 when it held, and with 2 when it could not be played.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

CASES = sorted((Path(__file__).parents[2] / "cases").glob("[0-9]*.sh"))


@pytest.mark.timeout(240)
@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_a_case_of_the_outside_tester_holds(case: Path) -> None:
    path = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
    # A short path: there are sockets in it. An engine writes for some seconds after its team has ended.
    with tempfile.TemporaryDirectory(prefix="hc-", ignore_cleanup_errors=True) as place:
        env = {"PATH": path, "CASES_DIR": place, "TMPDIR": place, "LANG": "C.UTF-8"}
        done = subprocess.run(
            ["bash", str(case)], env=env, cwd=place, capture_output=True, text=True, timeout=230, check=False
        )
    assert done.returncode == 0, done.stdout + done.stderr
