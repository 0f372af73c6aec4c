"""Workflows, templates and versions agree with the project. The workflows are only read here, not run."""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import headcount

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def read(path: Path) -> Any:
    """YAML 1.1 reads the key `on` as true; GitHub reads it as a word."""
    return {"on" if key is True else key: value for key, value in yaml.safe_load(path.read_text()).items()}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_has_the_structure_that_its_host_expects(path: Path) -> None:
    workflow = read(path)
    assert {"name", "on", "permissions", "jobs"} <= set(workflow)
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        assert job["runs-on"] and job["timeout-minutes"], name
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step), (name, step)
            assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step.get("uses", "a/b@v1")), (name, step)


def test_every_python_that_the_package_claims_is_checked() -> None:
    claimed = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", c)]
    checked = read(ROOT / ".github/workflows/check.yml")["jobs"]["check"]["strategy"]["matrix"]["python"]
    assert checked == claimed
    assert PROJECT["requires-python"] == f">={claimed[0]}"


def test_workflows_and_scripts_run_only_commands_that_are_there() -> None:
    script = (ROOT / "check").read_text()
    for path in (*WORKFLOWS, ROOT / ".ci/run"):
        text = path.read_text()
        for name in re.findall(r"(?<![\w/])(\./check|\.ci/\w+)", text):
            assert os.access(ROOT / name, os.X_OK), (path, name)
        for option in re.findall(r"\./check (--\w+)", text):
            assert re.search(rf"^  {option}\)$", script, re.MULTILINE), (path, option)


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_an_issue_form_asks_for_something(path: Path) -> None:
    form = read(path)
    if path.name == "config.yml":
        assert form == {"blank_issues_enabled": True}
        return
    assert form["name"] and form["description"]
    ids = [part["id"] for part in form["body"] if part["type"] != "markdown"]
    assert ids and len(ids) == len(set(ids))


def test_a_commit_meets_the_tools_of_the_check() -> None:
    (local,) = read(ROOT / ".pre-commit-config.yaml")["repos"]
    called = [hook["entry"].removeprefix(".venv/bin/").split()[0] for hook in local["hooks"]]
    assert called == ["ruff", "ruff", "mypy", "lint-imports"]
    assert {hook["language"] for hook in local["hooks"]} == {"system"}


def test_the_version_is_in_one_place() -> None:
    assert PROJECT["dynamic"] == ["version"]
    plugin = json.loads((ROOT / "plugin/.claude-plugin/plugin.json").read_text())
    assert plugin["version"] == headcount.__version__
