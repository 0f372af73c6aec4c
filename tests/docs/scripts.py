"""The scripts that write pages, loaded from beside the package."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

from .pages import ROOT


def load_script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(name).stem, ROOT / "scripts" / name)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
