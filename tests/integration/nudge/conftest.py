from __future__ import annotations

from engine.conftest import lab, runtime

from .desk import desk

__all__ = ["desk", "lab", "runtime"]
