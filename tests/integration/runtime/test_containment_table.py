"""The table of shapes and containments in the docs is what the bench prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench.containment import KINDS, SHAPES, play
from headcount.runtime.containment import can_make_cgroup, can_make_namespace, cgroup_of

PAGE = Path(__file__).parents[3] / "docs/explanation/what-is-believed.md"
CAN = {"subreaper": True, "cgroup": can_make_cgroup(cgroup_of()), "namespace": can_make_namespace()}
# Where the kinds differ, and where /proc misleads; `python bench/containment.py` plays all.
PLAYED = (
    "zombie leader, keeper killed",
    "keeper and subreaper killed",
    "left its cgroup, keeper and subreaper killed",
)


def read_table() -> dict[str, dict[str, str]]:
    text = PAGE.read_text().partition("### What each shape")[2]
    head, *rows = (line.split(" | ") for line in re.findall(r"^\| (.+) \|$", text, re.MULTILINE))
    return {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rows}


def test_the_page_has_every_shape_of_the_bench_under_every_containment() -> None:
    assert {shape: tuple(cells) for shape, cells in read_table().items()} == dict.fromkeys(SHAPES, KINDS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", PLAYED)
def test_F19_a_shape_ends_as_the_page_says(shape: str, kind: str) -> None:
    if not CAN[kind]:
        pytest.skip(f"this machine gives this user no {kind}")
    assert play(shape, kind) == read_table()[shape][kind]
