"""The light value classes behave as those of `dataclasses` do."""

from __future__ import annotations

import dataclasses
from dataclasses import field, replace

import pytest

from headcount import value_classes


def _pair(dataclass: object) -> tuple[type, type]:
    make: object = dataclass

    @make(frozen=True, slots=True)  # type: ignore[operator, untyped-decorator]
    class Point:
        x: int
        label: str = field(default="", repr=False)
        seen: list[int] = field(default_factory=list, compare=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "x", self.x + 1)

    @make(slots=True)  # type: ignore[operator, untyped-decorator]
    class Empty:
        pass

    return Point, Empty


@pytest.fixture(params=[value_classes.dataclass, dataclasses.dataclass], ids=["ours", "original"])
def classes(request: pytest.FixtureRequest) -> tuple[type, type]:
    return _pair(request.param)


def test_values_are_compared_hashed_and_shown_by_their_fields(classes: tuple[type, type]) -> None:
    point, empty = classes
    one, other = point(1, "a", [1]), point(1, "a", [2])
    assert one == other and hash(one) == hash(other) and one != point(1, "b") and one != (2, "a")
    assert repr(one) == "_pair.<locals>.Point(x=2, seen=[1])"
    assert replace(one, label="b") != one and dataclasses.asdict(one) == {"x": 2, "label": "a", "seen": [1]}
    assert empty() == empty() and repr(empty()) == "_pair.<locals>.Empty()"
    with pytest.raises(TypeError):
        hash(empty())
    with pytest.raises((AttributeError, TypeError)):
        one.another = 1


def test_equal_fields_do_not_make_values_of_two_classes_equal(classes: tuple[type, type]) -> None:
    assert classes[1]() != _pair(value_classes.dataclass)[1]()
