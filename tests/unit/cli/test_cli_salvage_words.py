"""What `headcount salvage show` says: what was found, what is missing, and the ways to get it back."""

from __future__ import annotations

from typing import Any

from headcount.cli.report_commands import describe_saved

REF = "refs/headcount/salvage/crew/cy/1"


def shown(found: list[str], manifest: dict[str, Any], ref: str = REF) -> list[str]:
    about = {"ref": ref, "team": "crew", "member": "cy", "generation": 1}
    return describe_saved({**about, "found": found, "manifest": manifest, "private": None})


def test_what_was_found_is_said_and_not_the_manifest() -> None:
    assert shown(["1 untracked: report.py"], {"left_out": [], "modes": {"100644": 420}}) == [
        f"{REF} of crew/cy",
        "  1 untracked: report.py",
        f"Get all of it back with `headcount salvage restore {REF} DIR`.",
        f"Get a file back with `git show {REF}:files/PATH`.",
    ]


def test_what_was_left_out_is_named_with_the_reason() -> None:
    lines = shown([], {"left_out": [["data.bin", 3_000_000_000, "over the limit"]]})
    assert "  left out: data.bin: over the limit" in lines


def test_build_output_and_private_files_are_named() -> None:
    skipped = {"path": "node_modules/", "files": 1, "bytes": 2_000_000, "why": "package.json is beside it"}
    lines = shown([], {"skipped": [skipped], "private": [".env"]})
    assert (
        "  not saved, can be built again: node_modules/ (1 file, 2.0 MB): package.json is beside it" in lines
    )
    assert "  private, in an archive that is not here: .env" in lines


def test_of_a_tar_file_no_git_command_is_offered() -> None:
    lines = shown(["notes"], {"entries": [{"path": "notes"}]}, "archive:/x/cy-1.tar")
    assert not [line for line in lines if "git show" in line]


def test_control_characters_of_a_file_name_do_not_reach_the_terminal() -> None:
    assert "\x1b" not in "".join(shown(["1 untracked: \x1b[2J"], {}))
