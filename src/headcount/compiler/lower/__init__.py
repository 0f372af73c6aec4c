"""From the element tree to the IR: build the document, then check it as a whole, pass after pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.compiler.lower.document import lower_document
from headcount.compiler.lower.document_checks import CHECKS

if TYPE_CHECKING:
    from headcount.compiler.diagnostics import Report
    from headcount.compiler.element import Element
    from headcount.compiler.ir import Document


def lower(root: Element, report: Report) -> Document | None:
    """The document, or None when the report has an error; warnings do not stand in its way."""
    document = lower_document(root, report)
    if document is not None:
        for check in CHECKS:
            check(document, report)
    return None if report.failed else document
