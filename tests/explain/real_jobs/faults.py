# SPDX-License-Identifier: Apache-2.0
"""Delays of recorded jobs: which are drawn, and where each rank sleeps.

A fault is a plain dictionary. `ranks` are the ranks that it delays, `size_s` what it adds to a step of each of them,
`truth_ranks`, `truth_stage` and `truth_steps` what a right answer may name. A two-fold fault has `parts`."""

import time

# Every kind of fault, and the parts of a job that it needs. A place is a point of a job's step where its host can wait.
KINDS = (
    "loader_one",
    "loader_all",
    "late_before",
    "late_between",
    "late_optimizer",
    "forward",
    "backward",
    "one_operator",
    "optimizer",
    "throttling",
    "pauses",
    "outlier_step",
    "slow_stage",
    "two_faults",
)
PLACES = {"late_before": "before", "late_between": "between", "late_optimizer": "optimizer_host"}
OPERATORS = ("forward", "backward", "one_operator", "throttling", "slow_stage")
LEAST, MOST = 0.05, 0.60  # share of a healthy step


def size_of(r):
    """Share of a healthy step, from 5 to 60 %; half of the draws lie above 27 %."""
    return round(r.uniform(LEAST, MOST) if r.random() < 0.7 else r.uniform(LEAST, 0.25), 3)


def possible(kind, job):
    """Whether a job of a kind (kinds.KINDS) can have the fault."""
    if kind == "slow_stage":
        return job.stages > 1
    if kind == "late_between":
        return "between" in job.places
    if kind == "outlier_step":
        return job.numbered
    return True


def drawn(r, kind, job, steps):
    """A fault of a job, its size as a share of a healthy step. steps: recorded in a capture."""
    fault = {"kind": kind, "share": size_of(r), "ranks": [r.randrange(job.world)]}
    if kind == "loader_all":
        fault["ranks"] = list(range(job.world))
    elif kind == "one_operator":
        fault["layer"] = r.choice(job.layers_of(fault["ranks"][0]))
        fault["operator"], fault["pass"] = (
            r.choice(("attention", "mlp")),
            r.choice(("forward", "backward")),
        )
        if job.operators == 1:
            fault["operator"] = "attention"
    elif kind == "throttling":
        fault["from"] = r.randint(4, steps - 4)
    elif kind == "pauses":
        ranks = r.sample(range(job.world), min(job.world, r.choice((1, 2))))
        at = sorted(r.sample(range(steps), 3))
        fault["pauses"] = [[n, r.choice(ranks)] for n in at]
        fault["ranks"] = sorted({rank for _, rank in fault["pauses"]})
        fault["place"] = r.choice(
            [p for p in ("before", "between", "optimizer_host") if p in job.places]
        )
        fault["share"] = round(r.uniform(0.5, 1.6), 3)  # of one pause
    elif kind == "outlier_step":
        fault.update(
            ranks=list(range(job.world)),
            step=r.randint(1, steps - 2),
            share=round(r.uniform(0.8, 3), 3),
        )
        fault["work"] = r.choice(("evaluation", "checkpoint") if job.evaluates else ("checkpoint",))
    elif kind == "slow_stage":
        fault["stage"] = r.randrange(job.stages)
        fault["ranks"] = job.ranks_of_stage(fault["stage"])
    elif kind == "two_faults":
        names = [
            k
            for k in (
                "loader_one",
                "late_before",
                "late_between",
                "forward",
                "backward",
                "optimizer",
            )
            if possible(k, job)
        ]
        ranks = r.sample(range(job.world), 2)
        large = {
            "kind": r.choice(names),
            "share": round(r.uniform(0.3, MOST), 3),
            "ranks": ranks[:1],
        }
        small = {
            "kind": r.choice(names),
            "share": round(large["share"] * r.uniform(0.2, 0.5), 3),
            "ranks": ranks[1:],
        }
        return {
            "kind": kind,
            "share": large["share"],
            "ranks": large["ranks"],
            "parts": [large, small],
        }
    if kind == "optimizer":
        fault["as_operator"] = r.random() < 0.5
    return fault


def parts_of(fault):
    return fault.get("parts", [fault]) if fault else []


def truth_of(fault, job, first_step):
    """What a right answer may name. first_step: number of the first recorded step."""
    truth = {
        "kind": fault["kind"],
        "ranks": fault["ranks"],
        "stages": [],
        "steps": [],
        "all_ranks": False,
    }
    truth["all_ranks"] = len(fault["ranks"]) == job.world
    if fault["kind"] == "pauses":
        truth["steps"] = [first_step + n for n, _ in fault["pauses"]]
        count = {rank: sum(p[1] == rank for p in fault["pauses"]) for rank in fault["ranks"]}
        truth["main_ranks"] = [
            rank for rank in fault["ranks"] if count[rank] == max(count.values())
        ]
    elif fault["kind"] == "throttling":
        truth["steps"] = [first_step + fault["from"]]
    elif fault["kind"] == "outlier_step":
        truth["steps"] = [first_step + fault["step"]]
    # A stage of one rank and its rank are the same culprit; of several ranks only a fault of all is the stage's.
    if job.stages > 1:
        for stage in range(job.stages):
            if job.ranks_of_stage(stage) == fault["ranks"]:
                truth["stages"].append(stage)
    return truth


class Injector:
    """Sleeps of one rank. `step` is the number of the recorded step, None outside the recorded window."""

    def __init__(self, rank):
        self.rank, self.fault, self.step = rank, None, None
        self.calls, self.counting = {}, False
        self.extra = {}

    def activate(self, fault):
        """Sizes in seconds (`size_s`) are spread over the calls of a step that `calls` has counted."""
        self.fault, self.extra = fault, {}
        for part in parts_of(fault):
            if self.rank in part["ranks"] and part["kind"] in OPERATORS:
                keys = [k for k in self.calls if self.delays(part, k)]
                total = sum(self.calls[k] for k in keys)
                for k in keys:
                    self.extra[k] = self.extra.get(k, 0.0) + part["size_s"] / total

    def delays(self, part, key):
        operator, layer, backward = key
        kind = part["kind"]
        if kind == "one_operator":
            return (operator, layer, backward) == (
                part["operator"],
                part["layer"],
                part["pass"] == "backward",
            )
        if kind == "slow_stage":
            return layer in part["layers"]
        return kind == "throttling" or backward == (kind == "backward")

    def operator(self, operator, layer, backward):
        """Seconds that this call of an operator takes longer."""
        key = (operator, layer, backward)
        if self.counting:
            self.calls[key] = self.calls.get(key, 0) + 1
        if (
            not self.extra
            or self.fault["kind"] == "throttling"
            and (self.step is None or self.step < self.fault["from"])
        ):
            return 0.0
        return self.extra.get(key, 0.0)

    def at(self, place):
        """Seconds that the rank sleeps at a place of its step."""
        total = 0.0
        for part in parts_of(self.fault):
            kind = part["kind"]
            if kind == "pauses":
                if place == part["place"] and [self.step, self.rank] in part["pauses"]:
                    total += part["size_s"]
            elif self.rank in part["ranks"]:
                if (
                    PLACES.get(kind) == place
                    or kind in ("loader_one", "loader_all")
                    and place == "loader"
                ):
                    total += part["size_s"]
                elif kind == "optimizer" and place == (
                    "update" if part.get("as_operator") else "optimizer"
                ):
                    total += part["size_s"]
        return total

    def sleep(self, place):
        seconds = self.at(place)
        if seconds > 0:
            time.sleep(seconds)

    def outlier(self):
        """The work of this step that others do not have, and its seconds; or None."""
        f = self.fault
        if f and f["kind"] == "outlier_step" and self.step == f["step"]:
            return f["work"], f["size_s"]
        return None
