"""Literals and HTML entities: from source text to the value that JavaScript gives them."""

from __future__ import annotations

SIMPLE_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
LINE_ENDS = ("\n", "\r", "\u2028", "\u2029")
# Above this an integer is no longer exact in JavaScript.
MAX_SAFE_INTEGER = 2**53 - 1


class BadLiteral(Exception):
    """The literal has no value; the message says why."""


def cook_template(raw: str) -> str:
    """A stretch of a template literal; line ends are LF in it, whatever the file has."""
    if "\r" in raw:
        raw = raw.replace("\r\n", "\n").replace("\r", "\n")
    return unescape(raw)


def unescape(raw: str) -> str:
    """The text of a string literal between its quotes."""
    if "\\" not in raw:
        return raw
    parts: list[str] = []
    start = 0
    while (at := raw.find("\\", start)) >= 0:
        parts.append(raw[start:at])
        piece, start = _escape_at(raw, at + 1)
        parts.append(piece)
    parts.append(raw[start:])
    # `\ud83d\ude00` is one character; half of such a pair cannot be written to a file.
    text = "".join(parts)
    try:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        raise BadLiteral("it has half of a surrogate pair") from None


def _escape_at(raw: str, at: int) -> tuple[str, int]:
    """What the escape whose letter is at `at` stands for, and where the text goes on."""
    letter = raw[at : at + 1]
    if letter == "x":
        return chr(_hexadecimal(raw, at + 1, at + 3, 2)), at + 3
    if letter == "u":
        return _unicode_escape(raw, at + 1)
    if letter in LINE_ENDS:
        return "", at + (2 if raw.startswith("\r\n", at) else 1)
    if letter.isdigit() and (letter != "0" or raw[at + 1 : at + 2].isdigit()):
        raise BadLiteral(f"\\{letter} is an octal escape, which modules do not allow")
    return SIMPLE_ESCAPES.get(letter, letter), at + 1


def _unicode_escape(raw: str, at: int) -> tuple[str, int]:
    if not raw.startswith("{", at):
        return chr(_hexadecimal(raw, at, at + 4, 4)), at + 4
    end = raw.find("}", at)
    number = _hexadecimal(raw, at + 1, end, end - at - 1) if end > at + 1 else 0x110000
    if number > 0x10FFFF:
        raise BadLiteral("\\u{…} needs a code point up to 10FFFF")
    return chr(number), end + 1


def _hexadecimal(raw: str, start: int, end: int, length: int) -> int:
    digits = raw[start:end]
    try:
        if len(digits) == length and digits.isalnum():
            return int(digits, 16)
    except ValueError:
        pass
    raise BadLiteral(f"\\{raw[start - 1 : end]} is no complete escape")


def parse_number(raw: str) -> int | float:
    """An integer where JavaScript's double holds it exactly, else a float."""
    text = raw.replace("_", "").lower()
    if text.endswith("n"):
        raise BadLiteral("BigInt numbers are not understood")
    if text[:2] in ("0x", "0o", "0b"):
        number: int | float = int(text, 0)
    elif text.isdigit():
        if len(text) > 1 and text[0] == "0":
            raise BadLiteral("octal numbers are not allowed in modules")
        number = int(text) if len(text) < 400 else float("inf")
    else:
        number = float(text)
    return narrow(number)


def narrow(number: int | float) -> int | float:
    if isinstance(number, float):
        exact = number.is_integer() and abs(number) <= MAX_SAFE_INTEGER
        return int(number) if exact else number
    if abs(number) <= MAX_SAFE_INTEGER:
        return number
    return float(number) if number.bit_length() <= 1023 else float("inf")


def add_numbers(left: int | float, right: int | float) -> int | float:
    return narrow(left + right)


# --- entities --------------------------------------------------------------------------------------------
#
# HTML entities in JSX text and attribute strings.
#
# White space that an entity spells (`&nbsp;`, `&#10;`) was written on purpose: it is never layout. So text
# is cut there, and that white space becomes verbatim text of its own, which nothing folds. This is what
# React does, which folds line breaks first and decodes entities after.


# The names that definitions use; `html.entities` knows the rest, and takes ten times as long to import
# as this package needs for a file.
COMMON = {
    "amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'", "nbsp": "\u00a0", "copy": "©", "reg": "®",
    "trade": "™", "hellip": "…", "mdash": "—", "ndash": "–", "lsquo": "‘", "rsquo": "’", "ldquo": "“",
    "rdquo": "”", "bull": "•", "middot": "·", "times": "×", "rarr": "→", "larr": "←", "deg": "°",
}  # fmt: skip

LONGEST_NAME = 31


def decode_entities(text: str) -> str:
    """`text` with its entities decoded; an `&` that begins none stays as it is."""
    return "".join(part for part, _ in split_entities(text))


def split_entities(text: str) -> list[tuple[str, bool]]:
    """Pieces of `text`, decoded; True marks white space that an entity spelled."""
    pieces: list[tuple[str, bool]] = []
    plain = ""
    start = 0
    while (at := text.find("&", start)) >= 0:
        plain += text[start:at]
        # What stands at the `&` at `at`, and where the text goes on.
        end = text.find(";", at + 1, at + 2 + LONGEST_NAME)
        character = _lookup(text[at + 1 : end]) if end > 0 else ""
        decoded, start = (character, end + 1) if character else ("&", at + 1)
        if decoded.isspace():
            if plain:
                pieces.append((plain, False))
            pieces.append((decoded, True))
            plain = ""
        else:
            plain += decoded
    plain += text[start:]
    if plain:
        pieces.append((plain, False))
    return pieces


def _lookup(name: str) -> str:
    """The character that `&name;` stands for, or "" when there is none."""
    if name.startswith("#"):
        digits = name[1:]
        hexadecimal = digits[:1] in ("x", "X")
        body = digits[1:] if hexadecimal else digits
        if not body.isascii() or not body.isalnum():
            return ""
        try:
            number = int(body, 16 if hexadecimal else 10)
            character = chr(number)
        except (ValueError, OverflowError):
            return ""
        return "" if 0xD800 <= number <= 0xDFFF else character
    if name in COMMON:
        return COMMON[name]
    if not name.isalnum() or not name.isascii():
        return ""
    from html.entities import name2codepoint

    # The 253 names of HTML 4, which is what JSX has; HTML 5's other two thousand stay text there, too.
    return chr(name2codepoint[name]) if name in name2codepoint else ""
