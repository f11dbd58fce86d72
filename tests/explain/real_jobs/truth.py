# SPDX-License-Identifier: Apache-2.0
"""What a fault has cost, by the wall times of its session's captures."""

import statistics

# A capture whose ranks wait for cores for 15 % of their time more than those of the calmest capture of its session is
# no measure: another program had the cores.
STARVED = 0.15
SHORT = (
    "pauses",
    "outlier_step",
    "throttling",
)  # faults of some steps, which do not move the median


def steps_of(ranks, which):
    """The job's steps: the mean over ranks of each step's wall time. Ranks are in step with one another."""
    return [round(statistics.mean(w)) for w in zip(*[r[which]["wall_ns"] for r in ranks])]


def queued(ranks):
    """The largest share of its time that a rank waited for a core."""
    return max(
        sum(r["traced"]["run_queue_ns"]) / max(1, sum(r["traced"]["wall_ns"])) for r in ranks
    )


def measured(captures):
    """Fields of truth.json for each capture of a session, in order. captures: (kind of fault, times of the ranks)."""
    least = min(queued(ranks) for _, ranks in captures)
    starved = [queued(ranks) > least + STARVED for _, ranks in captures]
    healthy = [n for n, (fault, _) in enumerate(captures) if fault == "healthy"]
    calm = [n for n in healthy if not starved[n]]
    base = calm if len(calm) > 1 else healthy
    medians = {
        w: [statistics.median(steps_of(captures[n][1], w)) for n in base]
        for w in ("traced", "untraced")
    }
    mean = statistics.median(statistics.mean(steps_of(captures[n][1], "traced")) for n in base)
    result = []
    for n, (fault, ranks) in enumerate(captures):
        traced, untraced = steps_of(ranks, "traced"), steps_of(ranks, "untraced")
        fields = {
            "step_ns": statistics.median(traced),
            "mean_step_ns": statistics.mean(traced),
            "untraced_step_ns": statistics.median(untraced),
            "healthy_medians_ns": medians["traced"],
            "healthy_untraced_medians_ns": medians["untraced"],
            "noise_ns": max(medians["traced"]) - min(medians["traced"]) if len(base) > 1 else None,
            "starved": starved[n],
        }
        if fault in SHORT:
            fields.update(cost_ns=fields["mean_step_ns"] - mean, untraced_cost_ns=None)
        elif fault != "healthy":
            fields["cost_ns"] = fields["step_ns"] - statistics.median(medians["traced"])
            fields["untraced_cost_ns"] = fields["untraced_step_ns"] - statistics.median(
                medians["untraced"]
            )
        result.append(fields)
    return result
