"""Methods of strings, numbers and arrays, and the few functions of `Object`, `String` and `Number`.

They are what people use in prompts. Each gives what JavaScript gives for constants; a method that is not
listed, or an argument of another type, is reported. Regular expressions are not evaluated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.compiler.diagnostics import did_you_mean
from headcount.compiler.element import UNKNOWN
from headcount.compiler.tsx.children import join, to_text
from headcount.compiler.tsx.evaluate import too_many
from headcount.compiler.tsx.grammar import MAX_CHARACTERS, MAX_ITEMS
from headcount.compiler.tsx.operators import is_number, items_of, strict_equal
from headcount.compiler.tsx.values import (
    UNDEFINED,
    Function,
    JsObject,
    Native,
    PlaceholderText,
    describe,
    is_nullish,
    truthy,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from headcount.compiler.tsx.factories import Call
    from headcount.compiler.tsx.values import Evaluated

    Items = tuple[Evaluated, ...]

# What JavaScript's trim() takes for white space.
_BLANKS = " \t\n\v\f\r\u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff"
_BLANKS += "".join(map(chr, range(0x2000, 0x200B)))


class _Refused(Exception):
    """An argument was reported; the call has no value."""


def call_method(call: Call, value: Evaluated, name: str) -> Evaluated:
    """What `value.name(…)` gives, or UNKNOWN after a report."""
    items = items_of(value)
    table: dict[str, Callable[..., Evaluated]] = ARRAY_METHODS if items is not None else STRING_METHODS
    method = table.get(name)
    if method is None:
        kind = "an array" if items is not None else "a string"
        message = f".{name}() of {kind} is not understood"
        return call.refuse(len(call.arguments), message, did_you_mean(name, table))
    if any(argument is UNKNOWN for argument in call.arguments):
        return UNKNOWN
    try:
        if items is not None and len(items) > MAX_ITEMS:
            raise too_many(call.reader, call.node, call.scope, "items", MAX_ITEMS)
        if type(value) is PlaceholderText and name not in ("concat", "toString"):
            place, scope, node = value.unbound[0]
            hint = f"Declare {place}, or import it: its text must be known to call .{name}()."
            return call.reader.report.add(
                scope.module.source, node, "unbound-name", f"{place} is not defined", hint
            )
        if items is None and name in _BY_POSITION and not (value.isascii() or max(value) <= "\uffff"):
            message = f".{name}() counts some of these characters twice in JavaScript"
            return call.refuse(len(call.arguments), message, "Write the result as a string.")
        found = method(call, items if items is not None else value)
    except _Refused:
        return UNKNOWN
    if isinstance(found, str) and len(found) > MAX_CHARACTERS:
        raise too_many(call.reader, call.node, call.scope, "characters", MAX_CHARACTERS)
    return found


# Arguments


def _text(call: Call, index: int, default: str | None = None) -> str:
    value = call.argument(index)
    if value is UNDEFINED and default is not None:
        return default
    if type(value) is str:
        return value
    call.refuse(index, f"This argument must be a string, not {describe(value)}", "Write a string.")
    raise _Refused


def _integer(call: Call, index: int, default: int) -> int:
    value = call.argument(index)
    if value is UNDEFINED:
        return default
    if is_number(value) and value == value and abs(value) < 2**53:
        return int(value)
    call.refuse(index, f"This argument must be a whole number, not {describe(value)}", "Write a number.")
    raise _Refused


def _callback(call: Call, name: str) -> Callable[..., Evaluated]:
    from headcount.compiler.tsx.functions import call_function

    given = call.argument(0)
    if isinstance(given, Native) and given.name in ("Boolean", "String"):
        return lambda *arguments: given.call(call.with_arguments(list(arguments[:1])))
    if not isinstance(given, Function):
        call.refuse(0, f".{name}() needs a function", f"Write `.{name}(item => …)`.")
        raise _Refused
    return lambda *arguments: call_function(call.reader, given, list(arguments), call.node, call.scope)


def _as_text(call: Call, value: Evaluated) -> str:
    text = to_text(call.reader, value, call.node, call.scope)
    if not isinstance(text, str):
        raise _Refused
    return text


# Strings. JavaScript counts UTF-16 units, so a character beyond U+FFFF has two positions.

_BY_POSITION = frozenset(
    ("at", "charAt", "indexOf", "lastIndexOf", "padEnd", "padStart", "slice", "split", "substring")
)


def _substring(call: Call, text: str) -> str:
    one = min(max(_integer(call, 0, 0), 0), len(text))
    two = min(max(_integer(call, 1, len(text)), 0), len(text))
    return text[min(one, two) : max(one, two)]


def _split(call: Call, text: str) -> Items:
    if call.argument(0) is UNDEFINED:
        return (text,)
    separator = _text(call, 0)
    found = text.split(separator) if separator else list(text)
    limit = call.argument(1)
    return tuple(found if limit is UNDEFINED else found[: max(_integer(call, 1, 0), 0)])


def _replace(call: Call, text: str) -> str:
    return text.replace(_text(call, 0), _replacement(call), 1)


def _replace_all(call: Call, text: str) -> str:
    old, new = _text(call, 0), _replacement(call)
    if len(text) + text.count(old) * (len(new) - len(old)) > MAX_CHARACTERS:
        raise too_many(call.reader, call.node, call.scope, "characters", MAX_CHARACTERS)
    return text.replace(old, new)


def _replacement(call: Call) -> str:
    with_ = _text(call, 1)
    if "$" in with_:
        call.refuse(1, "`$` means something in a replacement", "Build the string with a template.")
        raise _Refused
    return with_


def _repeat(call: Call, text: str) -> str:
    times = _integer(call, 0, 0)
    if times < 0:
        call.refuse(0, "A string cannot be repeated a negative number of times", "Write a number from 0.")
        raise _Refused
    if times * len(text) > MAX_CHARACTERS:
        raise too_many(call.reader, call.node, call.scope, "characters", MAX_CHARACTERS)
    return text * times


def _pad(call: Call, text: str) -> str:
    missing = _integer(call, 0, 0) - len(text)
    if missing > MAX_CHARACTERS:
        raise too_many(call.reader, call.node, call.scope, "characters", MAX_CHARACTERS)
    filler = _text(call, 1, " ")
    return (filler * (missing // len(filler) + 1))[:missing] if missing > 0 and filler else ""


def _concat(call: Call, text: str) -> Evaluated:
    pieces = [text, *(to_text(call.reader, each, call.node, call.scope) for each in call.arguments)]
    return join(call.reader, pieces, call.node, call.scope)


def _at(call: Call, items: str | Items) -> Evaluated:
    index = _integer(call, 0, 0)
    index = len(items) + index if index < 0 else index
    return items[index] if 0 <= index < len(items) else UNDEFINED


def _slice(call: Call, items: str | Items) -> Evaluated:
    # Start and end of `.slice(start, end)`; negative numbers count from the end.
    length = len(items)
    start, end = _integer(call, 0, 0), _integer(call, 1, length)
    start = max(length + start, 0) if start < 0 else min(start, length)
    end = max(length + end, 0) if end < 0 else min(end, length)
    start, end = start, max(start, end)
    return items[start:end]


STRING_METHODS: dict[str, Callable[[Call, str], Evaluated]] = {
    "at": _at,
    "charAt": lambda call, text: text[i] if 0 <= (i := _integer(call, 0, 0)) < len(text) else "",
    "concat": _concat,
    "endsWith": lambda call, text: text.endswith(_text(call, 0)),
    "includes": lambda call, text: _text(call, 0) in text,
    "indexOf": lambda call, text: text.find(_text(call, 0)),
    "lastIndexOf": lambda call, text: text.rfind(_text(call, 0)),
    "padEnd": lambda call, text: text + _pad(call, text),
    "padStart": lambda call, text: _pad(call, text) + text,
    "repeat": _repeat,
    "replace": _replace,
    "replaceAll": _replace_all,
    "slice": _slice,
    "split": _split,
    "startsWith": lambda call, text: text.startswith(_text(call, 0)),
    "substring": _substring,
    "toLowerCase": lambda call, text: text.lower(),
    "toString": lambda call, text: text,
    "toUpperCase": lambda call, text: text.upper(),
    "trim": lambda call, text: text.strip(_BLANKS),
    "trimEnd": lambda call, text: text.rstrip(_BLANKS),
    "trimStart": lambda call, text: text.lstrip(_BLANKS),
}


# Arrays


def _map(call: Call, items: Items) -> Items:
    callback = _callback(call, "map")
    return tuple(callback(item, index, items) for index, item in enumerate(items))


def _passing(call: Call, items: Items, name: str) -> list[tuple[int, bool]]:
    """Index and outcome of the test for each item."""
    callback = _callback(call, name)
    outcomes = [callback(item, index, items) for index, item in enumerate(items)]
    if any(outcome is UNKNOWN for outcome in outcomes):
        raise _Refused
    return [(index, truthy(outcome)) for index, outcome in enumerate(outcomes)]


def _filter(call: Call, items: Items) -> Items:
    return tuple(items[index] for index, passed in _passing(call, items, "filter") if passed)


def _find(call: Call, items: Items) -> Evaluated:
    return next((items[index] for index, passed in _passing(call, items, "find") if passed), UNDEFINED)


def _find_index(call: Call, items: Items) -> int:
    return next((index for index, passed in _passing(call, items, "findIndex") if passed), -1)


def _reduce(call: Call, items: Items) -> Evaluated:
    callback = _callback(call, "reduce")
    pending = list(enumerate(items))
    if len(call.arguments) > 1:
        value = call.arguments[1]
    elif pending:
        value = pending.pop(0)[1]
    else:
        return call.refuse(1, ".reduce() of no items needs a first value", "Give it as the second argument.")
    for index, item in pending:
        value = callback(value, item, index, items)
    return value


def _join(call: Call, items: Items) -> Evaluated:
    separator = _text(call, 0, ",")
    pieces: list[Evaluated] = []
    for index, item in enumerate(items):
        pieces += [separator] if index else []
        pieces.append("" if is_nullish(item) else to_text(call.reader, item, call.node, call.scope))
    return join(call.reader, pieces, call.node, call.scope)


def _index_of(call: Call, items: Items) -> int:
    return next((i for i, item in enumerate(items) if strict_equal(item, call.argument(0))), -1)


def _concat_items(call: Call, items: Items) -> Items:
    found = list(items)
    for argument in call.arguments:
        more = items_of(argument)
        found.extend([argument] if more is None else more)
    return tuple(found)


def _flat(call: Call, items: Items) -> Items:
    found: list[Evaluated] = []
    for item in items:
        inner = items_of(item)
        found.extend([item] if inner is None else inner)
    return tuple(found)


def _sort(call: Call, items: Items) -> Items:
    if call.arguments:
        call.refuse(0, ".sort() with a function is not understood", "Write the items in their order.")
        raise _Refused
    return tuple(sorted(items, key=lambda item: _as_text(call, item).encode("utf-16-be", "surrogatepass")))


ARRAY_METHODS: dict[str, Callable[[Call, Items], Evaluated]] = {
    "at": _at,
    "concat": _concat_items,
    "every": lambda call, items: all(passed for _, passed in _passing(call, items, "every")),
    "filter": _filter,
    "find": _find,
    "findIndex": _find_index,
    "flat": _flat,
    "flatMap": lambda call, items: _flat(call, _map(call, items)),
    "includes": lambda call, items: _index_of(call, items) >= 0,
    "indexOf": _index_of,
    "join": _join,
    "map": _map,
    "reduce": _reduce,
    "reverse": lambda call, items: tuple(reversed(items)),
    "slice": _slice,
    "some": lambda call, items: any(passed for _, passed in _passing(call, items, "some")),
    "sort": _sort,
    "toReversed": lambda call, items: tuple(reversed(items)),
    "toSorted": _sort,
}


# Globals


def _object_items(call: Call) -> list[tuple[str, Evaluated]]:
    value = call.argument(0)
    if isinstance(value, JsObject):
        return list(value.items())
    call.refuse(0, f"This argument must be an object, not {describe(value)}", "Write { … }.")
    raise _Refused


def _safely(function: Callable[[Call], Evaluated]) -> Callable[[Call], Evaluated]:
    def call_it(call: Call) -> Evaluated:
        if any(argument is UNKNOWN for argument in call.arguments):
            return UNKNOWN
        try:
            return function(call)
        except _Refused:
            return UNKNOWN

    return call_it


GLOBALS: dict[str, Evaluated] = {
    "Boolean": Native("Boolean", _safely(lambda call: truthy(call.argument(0)))),
    "String": Native("String", _safely(lambda call: _as_text(call, call.argument(0)))),
    "Object": JsObject(
        {
            "keys": Native("Object.keys", _safely(lambda call: tuple(key for key, _ in _object_items(call)))),
            "values": Native(
                "Object.values", _safely(lambda call: tuple(item for _, item in _object_items(call)))
            ),
            "entries": Native("Object.entries", _safely(lambda call: tuple(_object_items(call)))),
        }
    ),
}
