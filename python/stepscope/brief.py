# SPDX-License-Identifier: Apache-2.0
"""Results in at most about 2,000 tokens, for assistants and programs: the answer and the figures behind it. Times are
nanoseconds, as in the JSON, whose keys they have."""

from __future__ import annotations

from typing import Any

from stepscope.results import Analysis, Comparison, Live, PlanSearch, Prediction, Result, WhatIf

_MOST_ROWS = 10


def _some(row: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: row[key] for key in keys if row.get(key) is not None}


def brief(result: Result) -> dict[str, Any]:
    """The brief form of a result of analyze, whatif, compare, predict, plan or live."""
    tree = result._tree  # in the words of Python
    if isinstance(result, Analysis):
        return result.brief()
    out: dict[str, Any] = {"schema": tree["schema"], "sentence": result.sentence}
    if isinstance(result, WhatIf):
        out |= _some(tree, "baseline_ns", "replay_error", "step_variation", "refused")
        rows = tree["scenarios"]
        out["scenarios"] = [
            _some(s, "name", "words", "step_ns", "saved_ns", "refused", "notes")
            for s in rows[:_MOST_ROWS]
        ]
        out["scenarios_count"] = len(rows)
    elif isinstance(result, Comparison):
        out |= _some(
            tree,
            "verdict",
            "ratio",
            "interval",
            "difference_ns",
            "p",
            "few_steps",
            "max_regression",
            "regression",
        )
        for arm in ("a", "b"):
            out[arm] = _some(tree[arm], "label", "steps", "median_ns", "n_eff")
        called = [part for part in tree["parts"] or [] if part["called"]]
        out["changed_parts"] = [
            _some(p, "kind", "name", "shape", "a_ns", "b_ns", "difference_ns", "q")
            for p in called[:_MOST_ROWS]
        ]
    elif isinstance(result, Prediction):
        if "step_terms" not in tree:  # a collective
            out["sizes"] = [
                _some(s, "bytes", "best", "time_ns", "busbw_gb_per_s") for s in tree["sizes"][:40]
            ]
        else:
            out |= _some(
                tree,
                "step_time_ns",
                "mfu",
                "hfu",
                "tokens_per_second",
                "plan",
                "memory_bytes",
                "cost",
            )
            out["fits"] = tree["memory"]["fits"]
            out["step_terms"] = [
                _some(t, "name", "ns", "share") for t in tree["step_terms"] if t["ns"] > 0
            ]
            out["comparison"] = [
                _some(c, "label", "step_time_ns", "mfu", "error")
                for c in tree["comparison"][:_MOST_ROWS]
            ]
    elif isinstance(result, PlanSearch):
        out |= _some(tree, "feasible", "model_error", "smallest_devices")
        out["best"] = [_some(p, "brief", "step_time_ns", "mfu", "plan") for p in tree["best"][:3]]
        out["against"] = [
            _some(p, "label", "step_time_ns", "mfu", "error") for p in tree["against"][:_MOST_ROWS]
        ]
    elif isinstance(result, Live):
        out |= tree["answer"]
        steps = tree["steps"] or {}
        out["steps"] = _some(steps, "source", "last", "recent_ns", "p50_ns", "p99_ns") or None
        out["processes"] = sum(not p["replaced"] for p in tree["processes"])
        out["late"] = [
            _some(p["late"] | p, "rank", "host", "late_ns", "step_ns", "since", "phase")
            for p in (p.to_dict() for p in result.late[:_MOST_ROWS])
        ]
        out["silent_ranks"] = [
            p["rank"] for p in tree["processes"] if p["silent"] and not p["replaced"]
        ][:64]
        out["events"] = [
            _some(e, "kind", "sentence", "age_s", "step") for e in tree["events"][-_MOST_ROWS:]
        ]
    out["warnings"] = tree.get("warnings", [])[:3]
    return out
