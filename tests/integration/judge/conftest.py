from __future__ import annotations

from engine.conftest import lab

__all__ = ["lab"]
