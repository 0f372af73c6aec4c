"""A team of Claude Code's own, as `status` and `sweep` show it."""

from __future__ import annotations

from typing import Any

from headcount.cli.terminal import plain

_LEAD = {True: "alive", False: "dead", None: "not known"}


def describe_native(team: dict[str, Any]) -> list[str]:
    lines = [f"{plain(team['team'])}: Claude Code's own, its lead is {_LEAD[team['leadAlive']]}"]
    for mate in team["members"]:
        what = plain(", ".join(mate["processes"])) or "no process"
        pane = f", pane {plain(mate['pane'])}" if mate["pane"] else ""
        lines.append(f"  {plain(mate['name'])}: {what}{pane}")
        if mate["issues"]:
            lines.append(f"    in {plain(mate['cwd'])}: {plain('; '.join(mate['issues']))}")
    if any(mate["issues"] for mate in team["members"]):
        lines.append(f"  Save it with `headcount sweep --native {plain(team['team'])}`.")
    if team["orphans"]:
        how = f"`headcount sweep --native {plain(team['team'])} --end PID`"
        lines.append(f"  {plain(', '.join(team['orphans']))}: alive without a lead. End one with {how}.")
    return lines
