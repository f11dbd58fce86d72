# SPDX-License-Identifier: Apache-2.0
"""stepscope: where does each training step go, what would a change buy, and did it help?

    import stepscope as ss

    a = ss.analyze(ss.example())       # traces of a recorded job; yours: ss.analyze("traces/")
    a                                  # a notebook shows the answer; print(a) the text
    a.verdict, a.findings              # the cause that costs most; what is worth doing
    a.budget, a.operators[:5]          # tables: rows, or polars.DataFrame(a.operators)
    a.whatif("bandwidth:2")            # the recorded steps, replayed with a change
    ss.compare("before/", "after/")    # a difference, or noise?

Functions, by the question they answer:

    analyze, whatif, project, check    recorded steps
    compare, sweep, runs               two runs, values of a setting, the history of a job
    hang, memory, stacks               why a job stands still, what fills a GPU, what the host does
    live, follow                       a running job
    predict, plan                      a model on a machine, without a trace
    read_traces, read_trace, digest    the rows of traces; small files that stand for them
    machines, models                   the catalogue
    scenarios, formats                 what whatif() replays; what is read
    example                            the path of recorded traces

A training loop of your own: Zero3PerformanceStats collects the times that it reports, and
OptimizerShard says which rank holds which optimizer states.

Results have the keys of their JSON as attributes. A time has two: gain_ns is integer nanoseconds, gain
the same in seconds. What is not known is None. dir(a) lists all of them, a.tables its tables.

Options that are needed now and then are objects: plan=ss.Plan(tp=8), job=ss.Job(price=2.5),
reading=ss.Reading(step_annotation="step"), and so on. help(ss.Plan) lists the fields.

Errors: stepscope.Error, with the attributes what, file, byte, remedy and code. UsageError is one where an
argument is wrong. InputWarning: an input could not be used, and the others were.
"""

from stepscope._core import __version__
from stepscope.errors import Error, InputWarning, UsageError
from stepscope.examples import example
from stepscope.follow import follow
from stepscope.lists import formats, machines, models, scenarios
from stepscope.records import Finding, Record, Scenario, Verdict
from stepscope.results import (
    Analysis,
    Check,
    Comparison,
    Digest,
    Hang,
    Live,
    Memory,
    PlanSearch,
    Prediction,
    Projection,
    Result,
    Runs,
    Stacks,
    Sweep,
    WhatIf,
)
from stepscope.table import Table
from stepscope.traces import RankTrace, TraceSet, read_trace, read_traces
from stepscope.verbs import (
    analyze,
    check,
    compare,
    digest,
    hang,
    live,
    memory,
    plan,
    predict,
    project,
    runs,
    stacks,
    sweep,
    whatif,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from stepscope._core import OptimizerShard, Zero3PerformanceStats
    from stepscope.options import (
        Collective,
        Details,
        Job,
        Join,
        Launching,
        Plan,
        Reading,
        Search,
        Statistics,
        Trees,
    )

__all__ = [
    "Analysis",
    "Check",
    "Collective",
    "Comparison",
    "Details",
    "Digest",
    "Error",
    "Finding",
    "Hang",
    "InputWarning",
    "Job",
    "Join",
    "Launching",
    "Live",
    "Memory",
    "OptimizerShard",
    "Plan",
    "PlanSearch",
    "Prediction",
    "Projection",
    "RankTrace",
    "Reading",
    "Record",
    "Result",
    "Runs",
    "Scenario",
    "Search",
    "Stacks",
    "Statistics",
    "Sweep",
    "Table",
    "TraceSet",
    "Trees",
    "UsageError",
    "Verdict",
    "WhatIf",
    "Zero3PerformanceStats",
    "__version__",
    "analyze",
    "check",
    "compare",
    "digest",
    "example",
    "follow",
    "formats",
    "hang",
    "live",
    "machines",
    "memory",
    "models",
    "plan",
    "predict",
    "project",
    "read_trace",
    "read_traces",
    "runs",
    "scenarios",
    "stacks",
    "sweep",
    "whatif",
]


def __getattr__(name: str) -> object:
    """Classes of options are made when they are asked for: dataclasses take long to import. A build
    without the engine lacks its classes."""
    if name in ("OptimizerShard", "Zero3PerformanceStats"):
        from stepscope import _core

        return getattr(_core, name)
    if name in __all__:
        from stepscope import options

        return getattr(options, name)
    from stepscope.inputs import likely

    raise AttributeError(
        f"module 'stepscope' has no attribute {name!r}{likely(name, __all__)}", name=name
    )


def __dir__() -> list[str]:
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
