# SPDX-License-Identifier: Apache-2.0
"""An analysis as a notebook shows it: the answer, where the step goes, what to try."""

from __future__ import annotations

from html import escape

from stepscope.loop import words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from stepscope.results import Analysis

# The colours of the page (stepscope/face/page/page.css), for light paper.
_COLOURS = {
    "compute": "#1f5fa8",
    "comm_overlapped": "#8fc6e6",
    "comm_exposed_wait": "#c22f3d",
    "comm_exposed_transfer": "#ef8a35",
    "comm_exposed_unsplit": "#f7c99c",
    "copy_exposed": "#56267f",
    "idle_data": "#2a9d74",
    "idle_host": "#4b5560",
    "idle_sync": "#87939d",
    "idle_launch": "#e3cd22",
    "idle_dependency": "#d457b4",
    "idle_unexplained": "#dfe4e8",
    "not_recorded": "#eef1f3",
}


def _budget(analysis: Analysis) -> str:
    budget = {name: ns for name, ns in analysis.budget_ns.items() if ns > 0}
    whole = sum(budget.values())
    if not whole:
        return ""
    labels = {name: term["label"] for name, term in analysis.to_dict()["terms"]["budget"].items()}
    rows = sorted(budget.items(), key=lambda item: -item[1])
    bar = "".join(
        f'<div title="{escape(labels[name])}: {words.span(ns)}" style="width:{100 * ns / whole:.3f}%;'
        f'background:{_COLOURS[name]}"></div>'
        for name, ns in rows
    )
    lines = "".join(
        f'<tr><td style="text-align:left"><span style="display:inline-block;width:.8em;height:.8em;margin-right:.5em;'
        f'background:{_COLOURS[name]}"></span>{escape(labels[name])}</td>'
        f'<td style="text-align:right">{words.span(ns)}</td><td style="text-align:right">{100 * ns / whole:.1f} %</td></tr>'
        for name, ns in rows
    )
    return (
        f'<div style="margin:.6em 0 .2em"><b>Where a step of {words.span(whole)} goes</b> (mean over ranks and steps)</div>'
        f'<div style="display:flex;height:1.2em;max-width:48em;border-radius:3px;overflow:hidden">{bar}</div>'
        f'<table style="margin:.4em 0"><tbody>{lines}</tbody></table>'
    )


def _findings(analysis: Analysis) -> str:
    shown = [finding for finding in analysis.findings if finding.under is None][:5]
    if not shown:
        return ""
    rows = "".join(
        f'<tr><td style="text-align:right;white-space:nowrap">'
        f"{'' if finding.gain_ns is None else words.span(finding.gain_ns)}</td>"
        f'<td style="text-align:left">{escape(finding.what)}</td>'
        f'<td style="text-align:left">{escape(finding.advice)}</td></tr>'
        for finding in shown
    )
    return (
        '<div style="margin:.6em 0 .2em"><b>What to try</b></div><table><thead><tr><th style="text-align:right">a step '
        'saves</th><th style="text-align:left">what</th><th style="text-align:left">advice</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )


def analysis_html(analysis: Analysis) -> str:
    """HTML without scripts. Every text of the traces is escaped."""
    warnings = "".join(f"<li>{escape(text)}</li>" for text in analysis.warnings[:3])
    return (
        f'<div class="stepscope"><div style="font-size:1.1em;max-width:60em">{escape(analysis.sentence)}</div>'
        + _budget(analysis)
        + _findings(analysis)
        + (f'<ul style="opacity:.75;max-width:60em">{warnings}</ul>' if warnings else "")
        + "</div>"
    )
