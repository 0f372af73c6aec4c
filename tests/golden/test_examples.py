from __future__ import annotations

from pathlib import Path

from headcount.app.definition_files import compile_file

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_examples_in_both_languages_are_the_same_document() -> None:
    python = compile_file(str(EXAMPLES / "python" / "review_pr.py"))
    tsx = compile_file(str(EXAMPLES / "tsx" / "review-pr.tsx"))
    assert python.diagnostics == tsx.diagnostics == ()
    assert python.markdown == tsx.markdown
    assert python.markdown is not None
