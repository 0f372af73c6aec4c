"""Warnings: said, and the output is written all the same."""

from __future__ import annotations

from compiling import codes, messages, tsx

A = '<Teammate worker={A} description="d" prompt="p" />'
B = '<Teammate worker={B} description="d" prompt="p" />'


def test_worker_that_is_spawned_but_never_shut_down() -> None:
    compiled = tsx(
        f'<Workflow name="w" team={{C}}><Team team={{C}}>{A}{B}</Team><ShutdownSequence workers={{[A]}} />'
        "</Workflow>"
    )
    assert messages(compiled) == ["The worker 'b' is spawned but never shut down in this Workflow"]
    assert compiled.markdown is not None


def test_worker_that_is_shut_down_but_never_spawned() -> None:
    compiled = tsx(
        f'<Workflow name="w" team={{C}}><Team team={{C}}>{A}</Team><ShutdownSequence workers={{[A, B]}} />'
        "</Workflow>"
    )
    assert codes(compiled) == ["never-spawned"]
    assert compiled.diagnostics[0].severity == "warning"
    assert compiled.markdown is not None


def test_outside_a_workflow_nothing_is_compared() -> None:
    assert tsx(f"<Team team={{C}}>{A}</Team><ShutdownSequence workers={{[B]}} />").diagnostics == ()


def test_several_sequences_of_a_workflow_count_together() -> None:
    compiled = tsx(
        f'<Workflow name="w" team={{C}}><Team team={{C}}>{A}{B}</Team>'
        "<ShutdownSequence workers={[A]} cleanup={false} /><ShutdownSequence workers={[B]} /></Workflow>"
    )
    assert compiled.diagnostics == ()


def test_name_that_no_client_accepts_is_written_with_a_warning() -> None:
    compiled = tsx("<ShutdownSequence workers={[W]} />", "const W = defineWorker('two words', 'x');")
    assert messages(compiled) == ["No client accepts the worker name 'two words'"]
    assert compiled.markdown is not None
    assert 'target_agent_id: "two words"' in compiled.markdown


def test_lifecycle_is_not_discussed_while_something_is_broken() -> None:
    compiled = tsx(f'<Workflow name="w" team={{C}}><Team team={{C}}>{A}<p/></Team></Workflow>')
    assert codes(compiled) == ["wrong-child"]
