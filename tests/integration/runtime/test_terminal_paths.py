"""A state directory whose name means something to tmux."""

from __future__ import annotations

from pathlib import Path

import pytest
from places import Place, wait_until

from headcount.runtime.tmux import TmuxRuntime


@pytest.mark.parametrize("name", ["100% #S", "#{pid} %H", "##", "%%", 'it\'s; "so"'])
def test_output_in_a_terminal_is_in_the_log_whatever_its_directory_is_called(
    tmp_path: Path, name: str
) -> None:
    directory = tmp_path / name
    directory.mkdir()
    place = Place(TmuxRuntime(str(directory)), directory)
    try:
        handle = place.start("sh", "-c", "echo printed; exec sleep 300", "sh", place.token)

        logs = Path(handle.directory.path)
        wait_until(lambda: any(b"printed" in log.read_bytes() for log in logs.glob("log.*")))
    finally:
        place.clean_up()
