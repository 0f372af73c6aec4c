"""The wheel, built here and installed into an environment that has nothing else but its dependencies."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest

import headcount

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=100)
    (made,) = place.glob("*.whl")
    return made


def needed_by(name: str) -> set[str]:
    """The distributions that `name` needs without extras, and those that these need."""
    found: set[str] = set()
    for line in distribution(name).requires or ():
        if "extra ==" not in line and "python_version" not in line:
            other = re.split(r"[^\w.-]", line)[0]
            found |= {other} | needed_by(other)
    return found


def link_distributions(names: set[str], site: Path) -> None:
    """There is no network, so what pip would fetch comes from this environment; nothing else of it does."""
    for name in names:
        for file in distribution(name).files or ():
            top = file.parts[0]
            if top != ".." and not (site / top).exists():
                (site / top).symlink_to(Path(str(distribution(name).locate_file(top))))


def test_an_installed_wheel_runs_the_demo(wheel: Path, tmp_path: Path) -> None:
    place = tmp_path / "fresh"
    venv.create(place, with_pip=False)
    (site,) = place.glob("lib/python*/site-packages")
    link_distributions(needed_by("headcount"), site)
    into = [f"--prefix={place}", "--no-deps", "--no-index", "--quiet", "--ignore-installed"]
    subprocess.run([sys.executable, "-m", "pip", "install", *into, str(wheel)], check=True, timeout=100)
    env = {"PATH": f"{place}/bin:{os.environ['PATH']}", "HOME": str(tmp_path)}

    def run(*words: str) -> str:
        command = [f"{place}/bin/python", "-m", "headcount", *words]
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run("--version") == f"headcount {headcount.__version__}\n"
    shown = run("demo")
    assert "No agent is left" in shown and "No work is lost" in shown


def test_the_wheel_holds_the_package_and_no_tests(wheel: Path) -> None:
    assert wheel.name == f"headcount-{headcount.__version__}-py3-none-any.whl"
    tops = {name.partition("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert tops == {"headcount", f"headcount-{headcount.__version__}.dist-info"}
