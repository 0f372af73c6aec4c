from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.transcript import tell

TRANSCRIPTS = sorted((Path(__file__).parent / "transcripts").glob("*.txt"))


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_the_rules_still_tell_this_story(path: Path, request: pytest.FixtureRequest) -> None:
    written = path.read_text(encoding="utf-8")
    told = tell(written)
    if request.config.getoption("--rewrite-transcripts", default=False):
        path.write_text(told, encoding="utf-8")
    else:
        assert told == written


def test_there_are_transcripts() -> None:
    assert len(TRANSCRIPTS) > 30
