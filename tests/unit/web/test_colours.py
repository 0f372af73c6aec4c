"""Text can be read on what it stands on, in both themes: a ratio of 4.5, as WCAG AA asks for."""

from __future__ import annotations

import re

import pytest

from headcount.web.report_page import read_static

LIGHT, DARK = read_static("tokens.css").split("@media (prefers-color-scheme: dark)")
THEMES = {
    name: dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", css))
    for name, css in (("light", LIGHT), ("dark", DARK))
}
WORDS = ("ink", "quiet", "link", "good", "warn", "bad")


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", THEMES)
def test_words_can_be_read_on_the_page(theme: str) -> None:
    colours = THEMES[theme]
    for word in WORDS:
        for ground in ("paper", "raised"):
            assert contrast(colours[word], colours[ground]) >= 4.5, (word, ground)


@pytest.mark.parametrize("theme", THEMES)
def test_a_states_word_can_be_read_on_its_colour(theme: str) -> None:
    colours = THEMES[theme]
    states = [name for name in colours if name.startswith("s-")]
    assert len(states) == 13
    for state in states:
        assert contrast(colours["on-state"], colours[state]) >= 4.5, state
