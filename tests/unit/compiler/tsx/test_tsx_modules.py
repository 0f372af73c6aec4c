"""Other files: found, read once, and their mistakes reported where they are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tsx_reading import IMPORT, props, shape

from headcount.app.definition_files import DiskFiles
from headcount.compiler.element import Element, WorkerRef
from headcount.compiler.tsx import ReadResult, read_tsx


def read_files(folder: Path, **files: str) -> ReadResult:
    """Writes the files (`__` is a slash, `_` before the extension a dot) and reads `team.tsx`."""
    for name, source in files.items():
        path = folder / (name.replace("__", "/").replace("_", ".") if "_" in name else f"{name}.tsx")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    return read_tsx(str(folder / "team.tsx"), files=DiskFiles())


def team(head: str, body: str) -> str:
    return f"{IMPORT}\n{head}\nexport default <Command name='n' description='d'>{body}</Command>;"


def first_value(found: ReadResult) -> object:
    assert found.diagnostics == ()
    assert found.root is not None
    element = found.root.children[0]
    assert isinstance(element, Element)
    return props(element)["v"]


def codes(found: ReadResult) -> list[tuple[str, str, int]]:
    return [(d.code, os.path.basename(d.span.file), d.span.line) for d in found.diagnostics]


@pytest.mark.parametrize("spec", ["./refs", "./refs.tsx", "./refs.js", "./refs.jsx", "./sub/../refs"])
def test_one_file_by_any_of_its_names(tmp_path: Path, spec: str) -> None:
    refs = "import { defineWorker } from 'react-agentic'; export const A = defineWorker('a');"
    found = read_files(tmp_path, refs=refs, team=team(f"import {{ A }} from '{spec}';", "<p v={A} />"))
    assert first_value(found) == WorkerRef("a", "general-purpose", None, 1)
    assert found.files == (str(tmp_path / "team.tsx"), str(tmp_path / "refs.tsx"))


def test_a_folder_means_its_index_and_ts_files_are_read_too(tmp_path: Path) -> None:
    found = read_files(
        tmp_path,
        lib__index_tsx="export * from './words';",
        lib__words_ts="export const W: string = 'w';",
        team=team("import { W } from './lib';", "<p v={W} />"),
    )
    assert first_value(found) == "w"


def test_default_named_aliased_and_namespace_imports(tmp_path: Path) -> None:
    head = "import D, { one as uno } from './lib'; import * as lib from './lib';"
    lib = "export const one = '1'; const two = '2'; export { two, two as zwei }; export default '0';"
    found = read_files(
        tmp_path, lib=lib, team=team(head, "<p v={[D, uno, lib.zwei, lib['two'], lib.default]} />")
    )
    assert first_value(found) == ("0", "1", "2", "2", "0")


def test_reexports_by_name_by_star_and_as_a_namespace(tmp_path: Path) -> None:
    found = read_files(
        tmp_path,
        deep="export const a = 'A'; export const b = 'B'; export default 'D'; export enum E { X = 'x' }",
        mid="export { a as alpha, default as dee } from './deep'; export * from './deep';"
        "export * as ns from './deep'; export { Model as M } from 'headcount'; export * from 'headcount';",
        team=team(
            "import { alpha, b, dee, ns, E, M, AgentType as AT } from './mid';",
            "<p v={[alpha, b, dee, ns.a, E.X, M.Opus, AT.Plan]} />",
        ),
    )
    assert first_value(found) == ("A", "B", "D", "A", "x", "opus", "Plan")


def test_imported_components_expand_with_their_own_names_in_scope(tmp_path: Path) -> None:
    found = read_files(
        tmp_path,
        rules="const WORD = 'rule'; export const Rules = (p) => <ul><li>{WORD}</li>{p.children}</ul>;",
        team=team("import { Rules } from './rules'; const WORD = 'mine';", "<Rules><li>{WORD}</li></Rules>"),
    )
    assert found.diagnostics == ()
    assert found.root is not None
    assert [shape(child) for child in found.root.children] == [("ul", [("li", ["rule"]), ("li", ["mine"])])]


@pytest.mark.parametrize(
    "root", ["<Agent name='rev' description='d'/>", "() => <Agent name='rev' description='d'/>"]
)
def test_an_imported_agent_is_a_workers_type_by_its_name(tmp_path: Path, root: str) -> None:
    agent = f"import {{ Agent }} from 'react-agentic'; export default {root};"
    head = "import Reviewer from './agents/rev'; const W = defineWorker('w', Reviewer);"
    found = read_files(tmp_path, agents__rev_tsx=agent, team=team(head, "<p v={W} />"))
    assert first_value(found) == WorkerRef("w", "rev", None, 1)


def test_a_ref_reached_over_two_files_is_one_ref(tmp_path: Path) -> None:
    found = read_files(
        tmp_path,
        refs="import { defineWorker } from 'headcount'; export const A = defineWorker('a');",
        one="import { A } from './refs'; export const viaOne = A;",
        two="export { A as viaTwo } from './refs.js';",
        team=team(
            "import { viaOne } from './one'; import { viaTwo } from './two';", "<p v={[viaOne, viaTwo]} />"
        ),
    )
    first, second = first_value(found)  # type: ignore[misc]
    assert first == second


def test_a_missing_file_is_reported_at_the_import_though_its_names_are_not_used(tmp_path: Path) -> None:
    found = read_files(tmp_path, team=team("import { A } from './nowhere';", "x"))
    assert codes(found) == [("missing-import", "team.tsx", 2)]


def test_a_missing_name_is_reported_with_what_was_meant(tmp_path: Path) -> None:
    found = read_files(
        tmp_path,
        refs="export const Security = 's';",
        team=team("import { Securty } from './refs';", "<p v={Securty} />"),
    )
    assert codes(found) == [("no-such-export", "team.tsx", 2)]
    assert found.diagnostics[0].hint == "Did you mean Security?"


def test_a_mistake_in_an_imported_file_is_reported_there_once(tmp_path: Path) -> None:
    found = read_files(
        tmp_path,
        refs="\nexport const A = nope;\nexport const B = A;\nexport const unused = alsoNope;",
        team=team("import { A, B } from './refs';", "<p v={[A, B, A]} />"),
    )
    assert codes(found) == [("unbound-name", "refs.tsx", 2)]


def test_a_syntax_error_in_an_imported_file_is_reported_there_and_only_if_it_is_used(tmp_path: Path) -> None:
    files = {"bad": "export const A = ;"}
    unused = read_files(tmp_path, **files, team=team("import { A } from './bad';", "x"))
    assert unused.diagnostics == ()
    used = read_files(tmp_path, **files, team=team("import { A } from './bad';", "{A}{A}"))
    assert codes(used) == [("syntax", "bad.tsx", 1)]


def test_files_that_import_each_other_are_reported(tmp_path: Path) -> None:
    found = read_files(
        tmp_path,
        a="import { b } from './b'; export const a = `a${b}`;",
        b="import { a } from './a'; export const b = `b${a}`;",
        team=team("import { a } from './a';", "{a}"),
    )
    assert codes(found) == [("import-cycle", "b.tsx", 1)]


def test_a_file_that_imports_itself_or_stars_in_a_circle_ends(tmp_path: Path) -> None:
    itself = read_files(tmp_path, team=team("import { x } from './team'; export const y = 'y';", "{x}"))
    assert [code for code, _, _ in codes(itself)] == ["import-cycle"]
    stars = read_files(
        tmp_path,
        a="export * from './b';",
        b="export * from './a';",
        team=team("import { x } from './a';", "{x}"),
    )
    assert "import-cycle" in [code for code, _, _ in codes(stars)]


def test_symlinks_that_lead_in_a_circle_are_no_file(tmp_path: Path) -> None:
    (tmp_path / "loop.tsx").symlink_to("loop.tsx")
    found = read_files(tmp_path, team=team("import { x } from './loop';", "{x}"))
    assert codes(found) == [("missing-import", "team.tsx", 2)]
    assert [d.code for d in read_tsx(str(tmp_path / "loop.tsx"), files=DiskFiles()).diagnostics] == [
        "unreadable"
    ]


def test_a_folder_that_links_to_itself_does_not_make_new_files(tmp_path: Path) -> None:
    (tmp_path / "again").symlink_to(".")
    found = read_files(
        tmp_path,
        part="import { x } from './again/part'; export const y = x;",
        team=team("import { y } from './part';", "{y}"),
    )
    assert [code for code, _, _ in codes(found)] == ["import-cycle"]


def test_a_symlinked_file_is_one_file_with_the_one_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "link.tsx").symlink_to("refs.tsx")
    found = read_files(
        tmp_path,
        refs="import { defineWorker } from 'headcount'; export const A = defineWorker('a');",
        team=team("import { A } from './refs'; import { A as B } from './link';", "<p v={[A, B]} />"),
    )
    first, second = first_value(found)  # type: ignore[misc]
    assert first == second


@pytest.mark.parametrize("use", ["{x}", "{x.y}", "<x.Y/>", "<Z/>", "{ns.q}"])
def test_a_package_is_reported_where_it_is_used_and_not_where_it_is_only_imported(
    tmp_path: Path, use: str
) -> None:
    head = "import x, { Z } from 'lodash'; import * as ns from 'zod';"
    assert read_files(tmp_path, team=team(head, "fine")).diagnostics == ()
    found = read_files(tmp_path, team=team(head, use))
    assert codes(found) == [("foreign-import", "team.tsx", 3)]


def test_a_file_of_another_kind_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "data.json").write_text('{"a": 1}')
    found = read_files(tmp_path, team=team("import data from './data.json';", "{data}"))
    assert codes(found) == [("foreign-import", "team.tsx", 3)]


def test_a_folder_or_a_pipe_is_no_definition(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.tsx")
    for path in (tmp_path, tmp_path / "pipe.tsx", tmp_path / "missing.tsx"):
        found = read_tsx(str(path), files=DiskFiles())
        assert [d.code for d in found.diagnostics] == ["unreadable"]
        assert found.root is None


def test_an_import_leads_no_further_than_the_definitions_repository(tmp_path: Path) -> None:
    (tmp_path / "outside.tsx").write_text("export const X = 'secret';")
    repo = tmp_path / "repo"
    (repo / ".git").mkdir(parents=True)
    (repo / "linked.tsx").symlink_to(tmp_path / "outside.tsx")
    (repo / "shared.tsx").write_text("export const X = 'shared';")
    for spec, expected in (("../outside", ["import-outside"]), ("../../outside", ["import-outside"]),
                           ("../linked", ["import-outside"]), ("../shared", [])):  # fmt: skip
        found = read_files(repo / "teams", team=team(f"import {{ X }} from '{spec}';", "<p>{X}</p>"))
        if spec == "../outside":
            assert [d.code for d in found.diagnostics] == ["missing-import"]
        else:
            assert [d.code for d in found.diagnostics] == expected
            assert "secret" not in str(found.root)
