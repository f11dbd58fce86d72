#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hta_peer.py TRACE: HolisticTraceAnalysis on one file: parse, temporal breakdown, overlap of
communication and computation. Prints seconds of each and the peak memory of the process and of its
largest child as one Markdown row. HTA must be importable (PYTHONPATH or installed); exit status 3
says that it is not.
"""
import resource
import sys
import time


def main(path: str) -> int:
    started = time.monotonic()
    try:
        from hta.trace_analysis import TraceAnalysis
    except ImportError as missing:
        print(f"hta_peer: HolisticTraceAnalysis cannot be imported: {missing}", file=sys.stderr)
        return 3
    marks = [("import", time.monotonic() - started)]

    def timed(what, call):
        begin = time.monotonic()
        result = call()
        marks.append((what, time.monotonic() - begin))
        return result

    analysis = timed("parse", lambda: TraceAnalysis(trace_files={0: path}))
    timed("breakdown", lambda: analysis.get_temporal_breakdown(visualize=False))
    timed("overlap", lambda: analysis.get_comm_comp_overlap(visualize=False))
    total = sum(seconds for what, seconds in marks if what != "import")
    peak = max(resource.getrusage(who).ru_maxrss
               for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024
    cells = " | ".join(f"{what} {seconds:.1f} s" for what, seconds in marks)
    print(f"| HTA | {cells} | total without import {total:.1f} s | peak RSS {peak:.0f} MiB |")
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: hta_peer.py TRACE")
    sys.exit(main(sys.argv[1]))
