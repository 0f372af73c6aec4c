"""The table at the end of a campaign: what was tried, and what was found."""

from __future__ import annotations

from collections import Counter

from .trial import Result


def table(results: list[Result], seconds: float) -> str:
    verdicts = Counter(result.verdict for result in results)
    counted: Counter[str] = sum((result.counted for result in results), Counter())
    kills: Counter[str] = sum((result.kills for result in results), Counter())
    lines = [
        "",
        f"{len(results)} trials in {seconds:.0f} s: {verdicts['kept']} kept both promises, "
        f"{verdicts['admitted']} ended with an honest exit code 1, {verdicts['broken']} broke a promise, "
        f"{verdicts['unplayed']} could not be played.",
        f"Looked for {counted['pieces']} pieces of work and {counted['ledger entries']} ledger entries; "
        f"restored {counted['restored']} salvages; called `down` {counted['down calls']} times.",
        f"{sum(kills.values())} kills: {_list(kills)}.",
        "",
        "| shape | trials | kept | exit 1, said so | broken |",
        "|---|---|---|---|---|",
        *_rows(results),
    ]
    failures = [result for result in results if result.broken]
    if failures:
        lines += ["", "Broken:"]
    for result in failures:
        lines += [f"- {result.plan.replay}  # {result.place}", *(f"    {line}" for line in result.broken[:5])]
    return "\n".join(lines)


def _rows(results: list[Result]) -> list[str]:
    by_shape: dict[str, Counter[str]] = {}
    for result in results:
        for shape in result.plan.shapes():
            by_shape.setdefault(shape, Counter())[result.verdict] += 1
    return [
        f"| {shape} | {sum(seen.values())} | {seen['kept']} | {seen['admitted']} | {seen['broken']} |"
        for shape, seen in sorted(by_shape.items())
    ]


def _list(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.most_common()) or "none"
