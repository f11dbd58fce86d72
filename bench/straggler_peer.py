#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""straggler_peer.py CHECKOUT TABLE.parquet META.yaml [ROUNDS]: times one replay of all steps by StragglerAnalysis
(github.com/ByteDance-Seed/StragglerAnalysis, numpy) for comparison with bench/replay: its simulate() on the columns it
has prepared, and only the step times asked for. Needs pandas < 3, pyarrow, pyyaml."""
import logging
import sys
import time

sys.path[:0] = [sys.argv[1], sys.argv[1] + "/analyzer"]
import yaml  # noqa: E402
from analyzer.metatypes import JobMeta  # noqa: E402
from analyzer.simulator import compute_op2dfidx, simulate  # noqa: E402
from analyzer.wia import parse_trace  # noqa: E402

logging.disable(logging.CRITICAL)
with open(sys.argv[3]) as text:
    meta = JobMeta(**yaml.safe_load(text))
dep_on, groups, group_of, over_dp, table = parse_trace(meta, sys.argv[2])
rows = compute_op2dfidx(table)
seconds = []
for _ in range(int(sys.argv[4]) if len(sys.argv) > 4 else 10):
    begin = time.perf_counter()
    simulate(dep_on, groups, group_of, over_dp, table, inplace=True, op2dfidx=rows, need_df=False)
    seconds.append(time.perf_counter() - begin)
seconds.sort()
print(f"one replay of {len(table)} operations: min {1e3 * seconds[0]:.2f} ms, "
      f"median {1e3 * seconds[len(seconds) // 2]:.2f} ms, max {1e3 * seconds[-1]:.2f} ms")
