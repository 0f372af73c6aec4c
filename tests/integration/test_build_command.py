"""`headcount build` and `headcount graph` on real files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as xml
from collections.abc import Iterator
from pathlib import Path

import pytest

from headcount.app.builds import detect_dialect
from headcount.cli import main, terminal_output

CORPUS = Path(__file__).parents[1] / "golden" / "corpus"
WORKFLOW = CORPUS / "27-workflow-full"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def definition(
    path: str, name: str = "x", body: str = "<p>a</p>", kind: str = "Command", more: str = ""
) -> Path:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(
        f"import {{ {kind}, Team, ShutdownSequence, defineWorker }} from 'headcount';\n{more}"
        f'export default <{kind} name="{name}" description="d">{body}</{kind}>;\n'
    )
    return file


def test_markdown_is_written_beside_the_source(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    (here / "team.tsx").write_bytes((WORKFLOW / "team.tsx").read_bytes())
    assert main(["build", "team.tsx"]) == 0
    assert (here / "team.md").read_bytes() == (WORKFLOW / "expected.md").read_bytes()
    assert capsys.readouterr().out == "Wrote team.md\n"
    assert sorted(path.name for path in here.iterdir()) == ["team.md", "team.tsx"]


def test_output_folder_is_made(here: Path) -> None:
    definition("src/a.tsx")
    definition("src/b.tsx")
    assert main(["build", "src/*.tsx", "-o", "out/deep"]) == 0
    assert sorted(path.name for path in (here / "out/deep").iterdir()) == ["a.md", "b.md"]


def test_stdout_writes_nothing_to_disk(capfd: pytest.CaptureFixture[str], here: Path) -> None:
    definition("a.tsx")
    assert main(["build", "a.tsx", "--stdout"]) == 0
    sys.stdout.flush()
    assert capfd.readouterr().out == "---\nname: x\ndescription: d\n---\n\na\n"
    assert not (here / "a.md").exists()


def test_check_says_whether_the_disk_is_up_to_date(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    definition("a.tsx")
    assert main(["build", "--check", "a.tsx"]) == 1
    assert not (here / "a.md").exists()
    assert main(["build", "a.tsx"]) == 0
    assert main(["build", "--check", "a.tsx"]) == 0
    (here / "a.md").write_text("changed by hand")
    assert main(["build", "--check", "a.tsx"]) == 1
    assert (here / "a.md").read_text() == "changed by hand"
    assert "a.md is out of date" in capsys.readouterr().out


def test_one_bad_file_does_not_stop_the_others(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    definition("a.tsx", body="<Team></Team>")
    definition("b.tsx")
    assert main(["build", "a.tsx", "b.tsx", "missing.py"]) == 3
    said = capsys.readouterr()
    assert (here / "b.md").exists()
    assert not (here / "a.md").exists()
    assert said.out == "Wrote b.md\nCompiled 1 of 3 definitions; 2 failed.\n"
    assert "a.tsx:2:50: Team requires a team prop [missing-prop]\n" in said.err
    assert "missing.py:1:1: Cannot read the definition: No such file or directory [unreadable]" in said.err


def test_a_failed_build_leaves_the_old_output(here: Path) -> None:
    definition("a.tsx")
    main(["build", "a.tsx"])
    before = (here / "a.md").read_bytes()
    definition("a.tsx", body="<Team></Team>")
    assert main(["build", "a.tsx"]) == 3
    assert (here / "a.md").read_bytes() == before


@pytest.mark.parametrize("sources", [["one/a.tsx", "two/a.tsx", "-o", "out"], ["one/a.tsx", "one/a.py"]])
def test_two_sources_for_one_file_are_an_error(
    sources: list[str], capsys: pytest.CaptureFixture[str], here: Path
) -> None:
    definition("one/a.tsx")
    definition("two/a.tsx")
    definition("two/b.tsx")
    Path("one/a.py").write_text("from headcount import Command\ndoc = Command(name='x', description='d')")
    assert main(["build", "two/b.tsx", *sources]) == 3
    assert capsys.readouterr().err.count("[same-output]") == 2
    assert not list(here.rglob("a.md"))
    assert list(here.rglob("b.md"))


def test_warnings_change_the_exit_code_only_when_strict(
    capsys: pytest.CaptureFixture[str], here: Path
) -> None:
    definition("a.tsx", body="<ShutdownSequence workers={[defineWorker('a b', 'x')]} />")
    assert main(["build", "a.tsx"]) == 0
    assert (here / "a.md").exists()
    assert "warning: No client accepts the worker name 'a b' [client-name]" in capsys.readouterr().err
    assert main(["build", "a.tsx", "--strict"]) == 3


def test_json_has_the_diagnostics_as_data(capsys: pytest.CaptureFixture[str]) -> None:
    definition("a.tsx", body="<Team></Team>")
    assert main(["build", "a.tsx", "--json"]) == 3
    said = capsys.readouterr()
    answer = json.loads(said.out)
    assert said.err == ""
    assert (answer["errors"], answer["warnings"]) == (2, 0)
    assert answer["files"][0]["status"] == "failed"
    found = answer["files"][0]["diagnostics"][0]
    assert set(found) == {"file", "line", "column", "severity", "code", "message", "hint", "text"}
    assert (found["file"], found["line"], found["column"]) == ("a.tsx", 2, 50)


def test_claude_layout_puts_each_kind_where_claude_code_looks(here: Path) -> None:
    definition("a.tsx", "review:pr")
    definition("b.tsx", "critic", kind="Agent")
    definition("c.tsx", "end-crew", kind="Skill")
    assert main(["build", "a.tsx", "b.tsx", "c.tsx", "--layout", "claude", "-o", ".claude"]) == 0
    found = sorted(str(path.relative_to(here / ".claude")) for path in (here / ".claude").rglob("*.md"))
    assert found == ["agents/critic.md", "commands/review/pr.md", "skills/end-crew/SKILL.md"]


@pytest.mark.parametrize("name", ["../up", "a/b", "..", ".hidden", "a:"])
def test_a_name_never_leaves_the_folder(name: str, capsys: pytest.CaptureFixture[str], here: Path) -> None:
    definition("a.tsx", name)
    assert main(["build", "a.tsx", "--layout", "claude", "-o", "out"]) == 3
    assert "[file-name]" in capsys.readouterr().err
    assert [path.name for path in here.rglob("*")] == ["a.tsx"]


def test_claude_layout_refuses_two_definitions_with_one_name(here: Path) -> None:
    definition("a.tsx", "same")
    definition("b.tsx", "same")
    assert main(["build", "a.tsx", "b.tsx", "--layout", "claude", "-o", "out"]) == 3
    assert not (here / "out").exists()


def test_imported_file_without_a_root_is_a_part_and_any_other_is_an_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    definition("a.tsx", more="import { Note } from './shared';\n", body="<Note />")
    Path("shared.tsx").write_text("export const Note = () => <p>shared</p>;\n")
    assert main(["build", "*.tsx"]) == 0
    assert "Skipped shared.tsx: no root of its own" in capsys.readouterr().out
    assert main(["build", "shared.tsx"]) == 3
    assert "[no-root]" in capsys.readouterr().err


def test_folder_stands_for_the_definitions_in_it(here: Path) -> None:
    definition("teams/a.tsx")
    definition("teams/_part.tsx")
    definition("teams/deep/b.tsx")
    assert main(["build", "teams"]) == 0
    assert [str(path.relative_to(here)) for path in here.rglob("*.md")] == ["teams/a.md"]


@pytest.mark.parametrize("argument", ["nothing/*.tsx", "notes.txt"])
def test_nothing_to_build_is_a_usage_error(argument: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", argument]) == 2
    assert "[no-source]" in capsys.readouterr().err


def test_output_that_cannot_be_written_is_the_world_s_fault(
    capsys: pytest.CaptureFixture[str], here: Path
) -> None:
    definition("a.tsx")
    (here / "out").write_text("a file, not a folder")
    assert main(["build", "a.tsx", "-o", "out"]) == 4
    assert "[unwritable]" in capsys.readouterr().err


def test_symbolic_link_stays_one(here: Path) -> None:
    definition("a.tsx")
    (here / "real.md").write_text("old")
    (here / "a.md").symlink_to("real.md")
    assert main(["build", "a.tsx"]) == 0
    assert (here / "a.md").is_symlink()
    assert (here / "real.md").read_text().startswith("---\nname: x")


def test_neighbours_of_a_python_definition_are_imported_both_ways(here: Path) -> None:
    for folder in ("one", "two"):
        Path(folder).mkdir()
        Path(folder, "words.py").write_text(f"WORD = '{folder}'\n")
        Path(folder, "a.py").write_text(
            "from headcount import Command, p\nimport words\nfrom .words import WORD\n"
            "doc = Command(name='x', description='d')[p[words.WORD, WORD]]\n"
        )
    assert main(["build", "one/a.py", "two/a.py"]) == 0
    assert Path("one/a.md").read_text().endswith("\noneone\n")
    assert Path("two/a.md").read_text().endswith("\ntwotwo\n")
    assert not list(here.rglob("__pycache__"))
    assert "words" not in sys.modules


def test_translation_to_python_compiles_to_the_same_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    for case in sorted(CORPUS.iterdir()):
        assert main(["build", "--to", "python", str(case / "team.tsx")]) == 0
        Path("team.py").write_text(capsys.readouterr().out)
        assert main(["build", "team.py"]) == 0
        capsys.readouterr()
        assert Path("team.md").read_text() == (case / "expected.md").read_text(), case.name


def test_translation_to_python_is_data_with_json(capsys: pytest.CaptureFixture[str]) -> None:
    definition("a.tsx")
    assert main(["build", "--to", "python", "a.tsx"]) == 0
    python = capsys.readouterr().out
    assert main(["build", "--to", "python", "a.tsx", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer == {"source": "a.tsx", "status": "printed", "diagnostics": [], "python": python}
    definition("a.tsx", body="<Team></Team>")
    assert main(["build", "--to", "python", "a.tsx", "--json"]) == 3
    answer = json.loads(capsys.readouterr().out)
    assert (answer["status"], answer["python"]) == ("failed", None)
    assert answer["diagnostics"][0]["code"] == "missing-prop"


@pytest.mark.parametrize("arguments", [["--to", "python", "a.py"], ["--watch", "--check", "a.tsx"]])
def test_options_that_do_not_fit_are_a_usage_error(arguments: list[str]) -> None:
    definition("a.tsx")
    Path("a.py").write_text("")
    assert main(["build", *arguments]) == 2


@pytest.fixture
def client(here: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = here / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    yield folder / "claude"


@pytest.mark.parametrize(
    ("said", "dialect"),
    [("2.1.325 (Claude Code)", "agent"), ("2.1.177", "team-tools"), ("1.0.0", "teammate"), ("?", "teammate")],
)
def test_auto_asks_the_client_on_path(client: Path, said: str, dialect: str) -> None:
    client.write_text(f"#!/bin/sh\necho '{said}'\n")
    client.chmod(0o755)
    assert detect_dialect().dialect.name == dialect


def test_auto_falls_back_and_says_why(client: Path, capfd: pytest.CaptureFixture[str]) -> None:
    definition("a.tsx", body="<ShutdownSequence workers={[defineWorker('a', 'x')]} />")
    assert main(["build", "a.tsx", "--dialect", "auto", "--stdout"]) == 0
    sys.stdout.flush()
    said = capfd.readouterr()
    assert said.err.startswith("Dialect teammate: no claude on PATH.\n")
    assert "Teammate({" in said.out


def test_graph_is_mermaid_or_a_self_contained_svg(capfd: pytest.CaptureFixture[str], here: Path) -> None:
    source = str(WORKFLOW / "team.py")
    assert main(["graph", source]) == 0
    sys.stdout.flush()
    mermaid = capfd.readouterr().out
    assert mermaid.startswith("flowchart TD\n")
    assert "  T1 --> T2\n" in mermaid
    assert main(["graph", source, "--svg", "-o", "w.svg"]) == 0
    assert capfd.readouterr().out == "Wrote w.svg\n"
    root = xml.parse(here / "w.svg").getroot()
    assert root.tag.endswith("svg")
    assert not [node for node in root.iter() if any("href" in name or "src" in name for name in node.attrib)]
    texts = {text.text for text in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"security", "perf", "research", "plan", "implement", "cleanup", "Workflow: Feature X"} <= texts


def test_graph_with_json_writes_the_picture_that_was_asked_for(
    capsys: pytest.CaptureFixture[str], here: Path
) -> None:
    assert main(["graph", str(WORKFLOW / "team.py"), "--svg", "-o", "w.svg", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["groups"]
    assert (here / "w.svg").read_text().startswith("<svg ")
    definition("empty.tsx")
    assert main(["graph", "empty.tsx", "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == {"title": "x", "groups": []}


def test_graph_of_a_definition_that_does_not_compile(capsys: pytest.CaptureFixture[str]) -> None:
    definition("a.tsx", body="<Team></Team>")
    assert main(["graph", "a.tsx"]) == 3
    assert "[missing-prop]" in capsys.readouterr().err


def test_output_does_not_depend_on_where_or_how_often_it_is_compiled(here: Path) -> None:
    seen = set()
    for folder in ("a", "b/c"):
        file = definition(f"{folder}/team.tsx")
        file.write_bytes((WORKFLOW / "team.tsx").read_bytes())
        for seed in ("0", "1"):
            done = subprocess.run(
                [sys.executable, "-m", "headcount", "build", "--stdout", str(file)],
                capture_output=True,
                check=True,
                env={**os.environ, "PYTHONHASHSEED": seed},
            )
            seen.add(done.stdout)
    assert seen == {(WORKFLOW / "expected.md").read_bytes()}


def test_what_a_definition_prints_goes_to_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    Path("a.py").write_text(
        "from headcount import Command\nprint('one\\ntwo')\ndoc = Command(name='x', description='d')\n"
    )
    assert main(["build", "a.py", "--stdout"]) == 0
    sys.stdout.flush()
    said = capfd.readouterr()
    assert said.err == "one\ntwo\n"
    assert said.out == "---\nname: x\ndescription: d\n---\n"


def test_progress_is_shown_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for n in range(25):
        definition(f"t{n}.tsx")
    assert main(["build", "."]) == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(terminal_output, "_QUIET_S", 0.0)
    assert main(["build", "."]) == 0
    assert "\x1b[2K" in (shown := capsys.readouterr().err) and "Compiled 25 of 25\n" in shown


def test_thousands_of_levels_are_an_error_and_no_crash(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.py").write_text(
        "from headcount import Command, b\nx = 'deep'\nfor _ in range(20000): x = b[x]\n"
        "doc = Command(name='x', description='d')[x]\n"
    )
    definition("b.tsx", body="<b>" * 5000 + "x" + "</b>" * 5000)
    assert main(["build", "a.py", "b.tsx"]) == 3
    assert capsys.readouterr().err.count("[too-deep]") == 2


TEAM = """
import {{ Command, Team, Teammate, defineTeam, defineWorker }} from 'headcount';
const w = defineWorker('w', 'Explore'{model});
const t = defineTeam('t', [w]);
export default <Command name="x" description="d"{more}><Team team={{t}}>
  <Teammate worker={{w}} description="d" prompt="p" />
</Team></Command>;
"""


def team_file(path: str, more: str = "", model: str = "") -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(TEAM.format(more=more, model=model))


def test_folder_is_a_directory_below_the_output_and_not_in_the_frontmatter(here: Path) -> None:
    team_file("src/a.tsx", ' folder="team/reviews"')
    assert main(["build", "src/a.tsx", "-o", "out"]) == 0
    written = (here / "out/team/reviews/a.md").read_text()
    assert "folder" not in written
    assert main(["build", "src/a.tsx", "--layout", "claude", "-o", "home"]) == 0
    assert (here / "home/commands/team/reviews/x.md").is_file()


@pytest.mark.parametrize("folder", ["../out", "/etc", "a//b", "."])
def test_a_folder_that_leads_elsewhere_is_an_error(here: Path, folder: str) -> None:
    team_file("a.tsx", f' folder="{folder}"')
    assert main(["build", "a.tsx", "-o", "out"]) == 3
    assert not (here / "out").exists()


def test_two_definitions_of_one_folder_and_name_write_nothing(here: Path) -> None:
    team_file("a/x.tsx", ' folder="f"')
    team_file("b/x.tsx", ' folder="f"')
    team_file("c/x.tsx", ' folder="g"')
    assert main(["build", "a/x.tsx", "b/x.tsx", "c/x.tsx", "-o", "out"]) == 3
    assert sorted(str(path.relative_to(here)) for path in (here / "out").rglob("*.md")) == ["out/g/x.md"]


def test_build_says_once_that_no_client_has_the_teammate_calls(
    capsys: pytest.CaptureFixture[str], here: Path
) -> None:
    team_file("a.tsx")
    team_file("b.tsx")
    definition("c.tsx")
    assert main(["build", "a.tsx", "b.tsx"]) == 0
    said = capsys.readouterr().err
    assert said.count("no released Claude Code has the Teammate calls") == 1
    assert "--dialect agent" in said
    for quiet in (["c.tsx"], ["a.tsx", "--dialect", "agent"], ["a.tsx", "--check", "--dialect", "agent"]):
        main(["build", *quiet])
        assert capsys.readouterr().err == ""


def test_settings_choose_the_dialect_and_check_notices_a_change(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / ".git").mkdir()
    team_file("src/a.tsx")
    (here / "headcount.toml").write_text('[build]\ndialect = "agent"\n')
    monkeypatch.chdir(here / "src")
    assert main(["build", "a.tsx"]) == 0
    assert "Agent({" in (here / "src/a.md").read_text()
    assert main(["build", "a.tsx", "--check"]) == 0
    (here / "headcount.toml").write_text('[build]\ndialect = "team-tools"\n')
    assert main(["build", "a.tsx", "--check"]) == 1
    (here / "headcount.toml").write_text('[build]\ndialect = "agent"\nlayout = "claude"\n')
    assert main(["build", "a.tsx", "--check"]) == 1
    monkeypatch.setenv("HEADCOUNT_BUILD_LAYOUT", "flat")
    assert main(["build", "a.tsx", "--check"]) == 0
    (here / "headcount.toml").write_text('[build]\ndialect = "agnt"\n')
    assert main(["build", "a.tsx", "--check"]) == 2


@pytest.mark.parametrize(("dialect", "warns"), [("teammate", False), ("team-tools", True), ("agent", True)])
def test_a_model_that_the_clients_schema_does_not_list_is_a_warning(
    capsys: pytest.CaptureFixture[str], here: Path, dialect: str, warns: bool
) -> None:
    team_file("a.tsx", model=", 'gpt-9'")
    assert main(["build", "a.tsx", "--dialect", dialect]) == 0
    assert ("[client-value]" in capsys.readouterr().err) == warns


def test_a_new_project_builds_for_todays_client(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    subprocess.run(["git", "init", "-q"], check=True)
    assert main(["init"]) == 0
    assert main(["build", "team.py"]) == 0
    assert "Agent({" in (here / "team.md").read_text()
    assert capsys.readouterr().err == ""


def test_a_tsx_build_imports_neither_the_rules_nor_the_store(here: Path) -> None:
    definition("team.tsx")
    script = (
        "import sys; from headcount.cli import main; main(['build', 'team.tsx'])\n"
        "print(*(name for name in sys.modules if name.startswith(('headcount.store', 'headcount.protocol'))))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "Wrote team.md\n\n"
