"""Workflows, templates and versions agree with the project. The workflows are only read here, not run."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
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
            assert "${{" not in step.get("run", ""), "a value from outside would become part of the script"
    # By commit: whoever takes an action over can move its tag.
    for used in re.findall(r"uses: (.*)", path.read_text()):
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", used), used


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


def test_a_release_says_what_is_in_it_and_where_it_was_built() -> None:
    """And what is built has no rights: they belong to a job that runs nothing of the release."""
    jobs = read(ROOT / ".github/workflows/release.yml")["jobs"]
    assert "permissions" not in jobs["build"]
    assert any(step.get("run") == ".ci/build" for step in jobs["build"]["steps"])
    assert jobs["attest"]["needs"] == "build" and jobs["attest"]["permissions"]["id-token"] == "write"
    steps = jobs["attest"]["steps"]
    assert {step["uses"].partition("@")[0] for step in steps if "uses" in step} == {
        "actions/download-artifact", "actions/attest-build-provenance", "actions/attest-sbom",
    }  # fmt: skip
    assert [step["run"].split()[:3] for step in steps if "run" in step] == [["gh", "release", "create"]]


def test_a_bill_of_materials_names_what_is_installed_and_the_files(tmp_path: Path) -> None:
    file = tmp_path / "headcount.whl"
    file.write_bytes(b"content")
    done = subprocess.run(
        [sys.executable, ROOT / ".ci/sbom", file], capture_output=True, text=True, check=True
    )
    bill = json.loads(done.stdout)
    assert (bill["bomFormat"], bill["metadata"]["component"]["name"]) == ("CycloneDX", "headcount")
    purls = {part["purl"].partition("@")[0] for part in bill["components"] if "purl" in part}
    assert purls >= {f"pkg:pypi/{re.split('[<>=]', name)[0]}" for name in PROJECT["dependencies"]}
    assert bill["components"][-1]["hashes"][0]["content"] == hashlib.sha256(b"content").hexdigest()


@pytest.mark.parametrize("name", ["requirements-dev.lock", ".ci/build.lock", ".ci/default.lock"])
def test_python_packages_are_locked_by_hash_and_from_no_address(name: str) -> None:
    text = (ROOT / name).read_text()
    assert "://" not in text and "--index" not in text
    for entry in re.split(r"\n(?=\S)", text.strip()):
        assert re.match(r"[\w.\[\]-]+==\S+", entry) and "--hash=sha256:" in entry, entry
    users = {"requirements-dev.lock": "check"}
    assert f"--require-hashes -r {name}" in (ROOT / users.get(name, ".ci/build")).read_text()


@pytest.mark.parametrize("kind", ["clients", "tools"])
def test_npm_packages_are_locked_by_hash_and_from_no_registry(kind: str) -> None:
    wanted = json.loads((ROOT / f".ci/npm/{kind}/package.json").read_text())["dependencies"]
    lock = json.loads((ROOT / f".ci/npm/{kind}/package-lock.json").read_text())["packages"]
    assert lock.pop("")["dependencies"] == wanted
    for path, package in lock.items():
        assert package["integrity"].startswith("sha512-") and "resolved" not in package, path
    assert f".ci/npm/install {kind} " in (ROOT / f".ci/{kind}").read_text()


def test_scripts_of_npm_packages_run_only_where_a_client_needs_them() -> None:
    calls = [
        line.strip()
        for path in (ROOT / ".ci").rglob("*")
        if path.is_file() and path.suffix != ".json"
        for line in path.read_text().splitlines()
        if re.match(r"\s*(\(cd .*)?npm ", line)
    ]
    with_scripts = [line for line in calls if "--ignore-scripts" not in line]
    assert [line.rpartition("--loglevel error ")[2] for line in with_scripts] == [
        "@anthropic-ai/claude-code opencode-ai"
    ], calls


# The first versions without a known hole: GHSA-vqfr-h8mv-ghfj (h11), GHSA-7f5h-v6xp-fcq8 (starlette).
FLOORS = {"h11": (0, 16), "starlette": (0, 49, 1)}


@pytest.mark.parametrize("name", FLOORS)
def test_the_oldest_version_of_a_dependency_is_above_known_bad_ones(name: str) -> None:
    (wanted,) = [one for one in PROJECT["optional-dependencies"]["serve"] if one.startswith(name)]
    floor = re.fullmatch(rf"{name}>=([\d.]+)(,.*)?", wanted)
    assert floor is not None and tuple(map(int, floor[1].split("."))) >= FLOORS[name], wanted


def test_security_rules_of_the_linter_are_on_and_each_exception_has_a_reason() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    assert "S" in tomllib.loads(text)["tool"]["ruff"]["lint"]["select"]
    lines = text[text.index("[tool.ruff.lint]") : text.index("[tool.mypy]")].splitlines()
    off = [line for line in lines if re.search(r'"S\d*"', line) and not line.startswith("select")]
    assert [line for line in off if "#" not in line] == []


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
