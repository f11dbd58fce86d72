#!/bin/bash
# zero3_statistics_test.sh PROGRAM SOURCE: the example of docs/reference/zero3-statistics.md is the compiled program, and its
# figures agree with each other.
set -euo pipefail
program=$1 source=$2
diff <(sed -n 's/^    //p' "$source/docs/reference/zero3-statistics.md" | sed -n '/^int main/,/^}/p') \
     <(sed -n '/^int main/,/^}/p' "$source/tests/library/zero3_statistics.cc") ||
  { echo "the page shows another program than the compiled one"; exit 1; }
"$program" 7 | python3 -c '
import json, sys
s = json.load(sys.stdin)
assert s["forward_passes"] == s["backward_passes"] == s["optimizer_steps"] == 7, s
for name, total in (("forward", "total_forward_ns"), ("backward", "total_backward_ns"), ("optimizer", "total_optimizer_ns")):
    p = s["passes"][name]
    assert p["count"] == 7 and p["total_ns"] == s[total], p
    assert p["min_ns"] <= p["mean_ns"] <= p["max_ns"] and p["min_ns"] * 0.99 <= p["p50_ns"] <= p["p90_ns"] <= p["p99_ns"], p
assert sum(s["activities_ns"].values()) == s["rank_wall_ns"]
rate = s["throughput"]["tokens"] / (s["throughput"]["wall_ns"] * 1e-9)
assert abs(s["throughput"]["tokens_per_second"] / rate - 1) < 1e-9
mfu = 7 * 2 * 2**20 / (50e9 * s["throughput"]["wall_ns"] * 1e-9)
assert abs(s["efficiency"]["mfu"] / mfu - 1) < 1e-6, (s["efficiency"]["mfu"], mfu)
assert s["communication"]["efficiency"] is None
'
