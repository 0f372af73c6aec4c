"""A diff as lines: numbers on both sides, hunks, and texts that are cut where nobody could read them."""

from __future__ import annotations

from headcount.app.file_diffs import LONGEST, MOST_LINES, Line, parse_lines

PATCH = b"""diff --git a/x b/x
index 1..2 100644
--- a/x
+++ b/x
@@ -3,3 +3,4 @@ def f():
 same
-old
+new\r
+--- not a header
\\ No newline at end of file
"""


def test_lines_have_their_numbers_on_both_sides() -> None:
    assert parse_lines(PATCH) == [
        Line("@", None, None, "@@ -3,3 +3,4 @@ def f():"),
        Line(" ", 3, 3, "same"),
        Line("-", 4, None, "old"),
        Line("+", None, 4, "new␍"),
        Line("+", None, 5, "--- not a header"),
        Line("\\", None, None, " No newline at end of file"),
    ]


def test_a_line_of_a_megabyte_is_cut_and_says_how_much_is_left() -> None:
    line = parse_lines(b"@@ -0,0 +1 @@\n+" + b"x" * 1_000_000)[1]
    assert len(line.text) < LONGEST + 40
    assert line.text.endswith(f"… {1_000_000 - LONGEST:,} more bytes")


def test_more_lines_than_anybody_reads_are_left_out_and_said_so() -> None:
    lines = parse_lines(b"@@ -0,0 +1,30000 @@\n" + b"+x\n" * 30_000)
    assert len(lines) == MOST_LINES + 1
    assert lines[-1].text == "Only the first 20,000 lines are shown."
