"""Value classes that cost little to define.

`dataclasses.dataclass` compiles six functions for each frozen class, and a command imports more than a
hundred classes: that was half of the time that an engine needed to start. Here only `__init__` is compiled.
A type checker sees the original, so it reports an assignment to a field; at run time none is refused.
"""

from __future__ import annotations

import dataclasses
from operator import attrgetter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass as dataclass
    from typing import Any
else:

    def dataclass(*, frozen: bool = False, slots: bool = False, eq: bool = True) -> Callable[[type], type]:
        def define(cls: type) -> type:
            own = {*vars(cls)}
            made = dataclasses.dataclass(slots=slots, eq=False, repr=False)(cls)
            added = {"__repr__": _repr, **(_compared_by_fields(made, hashed=frozen) if eq else {})}
            for name in added.keys() - own:
                setattr(made, name, added[name])
            return made

        return define


def _compared_by_fields(cls: Any, *, hashed: bool) -> dict[str, Any]:
    names = [field.name for field in dataclasses.fields(cls) if field.compare]
    read = attrgetter(*names) if names else type

    def __eq__(self: object, other: object) -> bool:
        return read(self) == read(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: object) -> int:
        return hash(read(self))

    return {"__eq__": __eq__, "__hash__": __hash__ if hashed else None}


def _repr(self: Any) -> str:
    names = [field.name for field in dataclasses.fields(self) if field.repr]
    return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"
