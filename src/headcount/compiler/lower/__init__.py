"""From the element tree to the IR: build the document, then check it as a whole, pass after pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.compiler.lower.checks import CHECKS
from headcount.compiler.lower.document import lower_document

if TYPE_CHECKING:
    from headcount.compiler.element import Element
    from headcount.compiler.ir import Document
    from headcount.compiler.report import Report


def lower(root: Element, report: Report) -> Document | None:
    """The document, or None when the report has an error; warnings do not stand in its way."""
    document = lower_document(root, report)
    if document is not None:
        for check in CHECKS:
            check(document, report)
    return None if report.failed else document
