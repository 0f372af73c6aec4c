"""Set up what every test relies on."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from tests.support.postgres import Cluster

# Whoever runs the tests in the background, or with nohup, has some signals ignored, and so would all that
# they start: but several tests are about those.
signal.signal(signal.SIGINT, signal.default_int_handler)
for _number in (signal.SIGQUIT, signal.SIGHUP):
    signal.signal(_number, signal.SIG_DFL)

# The time that an example takes says something about the machine, and nothing about the code. CI has the same
# examples each time; whoever runs the tests by hand looks at new ones.
settings.register_profile(
    "headcount",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
)
settings.load_profile("headcount")

_MEMORY = "/dev/shm"
_ROOM = 4 << 30


def _has_room(directory: str) -> bool:
    """Whether the temporary directories of all tests fit, and programs in them may be executed."""
    try:
        found = os.statvfs(directory)
    except OSError:
        return False
    return found.f_bavail * found.f_frsize >= _ROOM and not found.f_flag & os.ST_NOEXEC


# git and SQLite sync to disk hundreds of times in one story. In memory that costs nothing.
if _has_room(_MEMORY):
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", _MEMORY)

# No test adds its repositories to the list of whoever runs it (`app/known_repositories.py`).
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="headcount-state-")

# But a file system in memory does not see writes through a mapping, so headcount trusts no time stamps there.
# What is about workspaces is tested where users have them.
_ON_DISK = tuple(
    Path(__file__).parent / name
    for name in ("crash", "promises", "integration/campaign", "integration/failures", "integration/workspace")
)


@pytest.fixture
def tmp_path(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    if not any(request.path.is_relative_to(folder) for folder in _ON_DISK):
        yield tmp_path
        return
    place = Path(tempfile.mkdtemp(prefix="headcount-test-"))
    yield place
    shutil.rmtree(place, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Cluster]:
    """One server for all tests of this process that need no other."""
    from tests.support.postgres import Cluster

    cluster = Cluster()
    yield cluster
    cluster.close()
