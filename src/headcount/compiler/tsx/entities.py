"""HTML entities in JSX text and attribute strings.

White space that an entity spells (`&nbsp;`, `&#10;`) was written on purpose: it is never layout. So text
is cut there, and that white space becomes verbatim text of its own, which nothing folds. This is what
React does, which folds line breaks first and decodes entities after.
"""

from __future__ import annotations

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
        decoded, start = _decode_at(text, at)
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


def _decode_at(text: str, at: int) -> tuple[str, int]:
    """What stands at the `&` at `at`, and where the text goes on."""
    end = text.find(";", at + 1, at + 2 + LONGEST_NAME)
    character = _lookup(text[at + 1 : end]) if end > 0 else ""
    return (character, end + 1) if character else ("&", at + 1)


def _lookup(name: str) -> str:
    """The character that `&name;` stands for, or "" when there is none."""
    if name.startswith("#"):
        return _from_number(name[1:])
    if name in COMMON:
        return COMMON[name]
    if not name.isalnum() or not name.isascii():
        return ""
    from html.entities import name2codepoint

    # The 253 names of HTML 4, which is what JSX has; HTML 5's other two thousand stay text there, too.
    return chr(name2codepoint[name]) if name in name2codepoint else ""


def _from_number(digits: str) -> str:
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
