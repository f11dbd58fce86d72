# SPDX-License-Identifier: Apache-2.0
"""stepscope: where does each training step go, what would a change buy, and did it help?

import stepscope as ss
a = ss.analyze("traces/")          # a notebook shows the answer; print(a) the text
a.verdict, a.findings, a.budget    # records and tables
a.whatif("rank_as_peers@13")
"""

from stepscope._core import __version__
from stepscope.errors import Error, InputWarning, UsageError
from stepscope.follow import follow
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

__all__ = [
    "Analysis",
    "Check",
    "Comparison",
    "Digest",
    "Error",
    "Finding",
    "Hang",
    "InputWarning",
    "Live",
    "Memory",
    "PlanSearch",
    "Prediction",
    "Projection",
    "RankTrace",
    "Record",
    "Result",
    "Runs",
    "Scenario",
    "Stacks",
    "Sweep",
    "Table",
    "TraceSet",
    "UsageError",
    "Verdict",
    "WhatIf",
    "__version__",
    "analyze",
    "check",
    "compare",
    "digest",
    "follow",
    "hang",
    "live",
    "memory",
    "plan",
    "predict",
    "project",
    "read_trace",
    "read_traces",
    "runs",
    "stacks",
    "sweep",
    "whatif",
]
