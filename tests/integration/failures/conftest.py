from __future__ import annotations

from engine.conftest import lab, runtime

__all__ = ["lab", "runtime"]
