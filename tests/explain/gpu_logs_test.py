#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Logs of GPUs with simulated jobs: gpu_logs_test.py STEPSCOPE.

Each case is a job whose truth is known, its traces, and logs as nvidia-smi writes them on its hosts. What analyze says
of clocks is compared with the truth: the cause where the log shows it, no cause where it does not, and a note instead
of a guess where rank, GPU or zone cannot be decided."""
import datetime
import json
import os
import random
import subprocess
import sys
import tempfile

import jobs_draw
import jobs_kineto
import jobs_training

NAME = "NVIDIA H100 80GB HBM3"
HEADER = ("timestamp, index, uuid, name, clocks.current.sm [MHz], clocks.max.sm [MHz], power.draw [W], power.limit [W], "
          "temperature.gpu, clocks_event_reasons.active, utilization.gpu [%]")
EVERY_NS = 5_000_000
THERMAL = 0x48


def expect(condition, what):
    if not condition:
        raise SystemExit("gpu_logs_test: " + what)


class Made:
    """A job of 16 ranks on node00 and node01, or of 8 on node00, with rank `slow` slow from the first step on."""

    def __init__(self, folder, ranks, kind="slow_rank", files="host_pid"):
        for number in range(200):
            r = random.Random("gpu-logs/%s/%d/%d" % (kind, ranks, number))
            job, fault, _, _ = jobs_draw.faulty_job(r, kind, ranks)
            if job.world == ranks and len(fault.ranks) == 1 and not job.late and not job.short and job.clocks == "one":
                break
        else:
            raise SystemExit("gpu_logs_test: no such job")
        job.style.update({"files": files, "base": "new", "gzip": False, "device": (NAME, 9, 0, 132, 85029158912)})
        job.record = True
        self.slow, self.job = fault.ranks[0], job
        ranks, graph, _, _ = jobs_training.simulate(job)
        self.traces = os.path.join(folder, "traces")
        jobs_kineto.write_traces(job, ranks, graph, self.traces)
        self.start, self.end = self.window()

    def window(self):
        """First and last instant of the traces, ns since the epoch."""
        begin, end = 1 << 62, 0
        for name in os.listdir(self.traces):
            with open(os.path.join(self.traces, name), encoding="utf-8") as f:
                trace = json.load(f)
            base = trace.get("baseTimeNanoseconds", 0)
            for e in trace["traceEvents"]:
                if e.get("ph") == "X" and e.get("cat") == "kernel":
                    begin = min(begin, base + int(e["ts"] * 1000))
                    end = max(end, base + int((e["ts"] + e["dur"]) * 1000))
        return begin, end


def log(made, gpus, state, zone_minutes=0, around_s=2.0):
    """A log of nvidia-smi of `gpus`; state(index) = (MHz, W, degrees, mask)."""
    lines = [HEADER]
    at = made.start - int(around_s * 1e9)
    while at < made.end + int(around_s * 1e9):
        local = datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=at // 1000, minutes=zone_minutes)
        stamp = local.strftime("%Y/%m/%d %H:%M:%S.") + "%03d" % (local.microsecond // 1000)
        busy = made.start - 10_000_000 < at < made.end + 10_000_000
        for g in gpus:
            mhz, watts, heat, mask = state(g)
            lines.append("%s, %d, GPU-%04d, %s, %d MHz, 1980 MHz, %.2f W, 700.00 W, %d, 0x%016x, %d %%"
                         % (stamp, g, g, NAME, mhz, watts, heat, mask, 100 if busy else 0))
        at += EVERY_NS if busy else 200_000_000
    return "\n".join(lines) + "\n"


def healthy(_):
    return 1980, 612.25, 61, 0


def slowed(index):
    return lambda g: (1200, 401.5, 88, THERMAL) if g == index else healthy(g)


def put(folder, name, text):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def analyzed(program, *arguments):
    out = subprocess.run([program, "analyze", *arguments, "--json", "-"], capture_output=True, text=True, check=False,
                         timeout=300)
    expect(out.returncode == 0, "analyze failed: " + out.stderr)
    return json.loads(out.stdout)


def told(tree, slow, kind="slow_rank"):
    verdict = tree["answer"]["verdict"]
    expect(verdict["kind"] == kind and verdict["ranks"] == [slow], "the verdict is %s" % verdict)
    return verdict


def throttled(program, folder, made):
    """One GPU of node00 throttles: the log shows it, in any zone."""
    state = slowed(made.slow)
    for zone, flag in ((0, ()), (330, ()), (-480, ()), (60, ("--gpu-log-zone", "+01:00"))):
        put(made.traces, "smi.csv", log(made, range(8), state, zone))
        tree = analyzed(program, made.traces, *flag)
        verdict = told(tree, made.slow)
        clock = verdict["clock"]
        expect(clock is not None, "no clock is told: %s" % tree["warnings"])
        expect(clock["verdict"] in ("lower", "part") and abs(clock["sm_clock_mhz"] - 1200) < 1
               and abs(clock["peers_sm_clock_mhz"] - 1980) < 1, "the clocks are %s" % clock)
        expect([r["reason"] for r in clock["reasons"]] == ["hw_thermal_slowdown"]
               and clock["reasons"][0]["share"] > 0.99, "the reasons are %s" % clock["reasons"])
        expect("1.20 GHz" in tree["answer"]["sentence"] and "1.98 GHz" in tree["answer"]["sentence"]
               and "hardware thermal slowdown" in tree["answer"]["sentence"], tree["answer"]["sentence"])
        finding = next(f for f in tree["findings"] if f["id"] == "slow_rank")
        expect("cooling" in finding["advice"], finding["advice"])
        expect(any("1.20 GHz" in e and "88 °C" in e for e in finding["evidence"]), finding["evidence"])
        expect(not any(f["id"] == "gpu_slowdown" for f in tree["findings"]), "the slowdown is told twice")
        row = tree["gpu_readings"]["logs"][0]
        expect(row["zone_ns"] == zone * 60_000_000_000 and row["ranks"] == list(range(8)) and not row["problem"],
               "the log is %s" % row)
    text = subprocess.run([program, "analyze", made.traces, "-v"], capture_output=True, text=True, check=True).stdout
    expect("hw thermal slowdown 100" in text and "GPUs in the steps" in text and "in use" in text, text)
    os.remove(os.path.join(made.traces, "smi.csv"))


def not_the_clock(program, folder, made):
    """The rank is slow, and its clock is that of its peers."""
    path = put(folder, "smi.csv", log(made, range(8), healthy))
    tree = analyzed(program, made.traces, path)
    clock = told(tree, made.slow)["clock"]
    expect(clock["verdict"] == "alike" and not clock["reasons"], "the clock is %s" % clock)
    expect("do not show the clock as the cause" in tree["answer"]["sentence"], tree["answer"]["sentence"])
    expect(not any(f["id"] == "gpu_slowdown" for f in tree["findings"]), "a slowdown is found")
    finding = next(f for f in tree["findings"] if f["id"] == "slow_rank")
    expect("cooling" not in finding["advice"] and "its clock is that of its peers" in finding["advice"],
           finding["advice"])


def undecided(program, folder, made):
    """What cannot be decided is not said."""
    state = slowed(made.slow)

    def silent(what, word, *arguments):
        tree = analyzed(program, made.traces, *arguments)
        expect(told(tree, made.slow)["clock"] is None, what + ": a clock is told")
        expect(not tree["gpu_readings"]["ranks"], what + ": a rank has readings")
        expect(any(word in w for w in tree["warnings"]), "%s: %s" % (what, tree["warnings"]))
        expect("GHz" not in tree["answer"]["sentence"], what + ": " + tree["answer"]["sentence"])

    path = put(folder, "long.csv", log(made, range(8), state, 0, 5000.0).replace(", 0 %", ", [N/A]"))
    silent("several zones fit", "--gpu-log-zone", path)
    path = put(folder, "zone.csv", log(made, range(8), state, 60))
    silent("a wrong zone is given", "no reading lies in the captures", path, "--gpu-log-zone", "UTC")
    path = put(folder, "other.csv", log(made, range(8), state, 20))
    silent("another time", "no zone of the world", path)
    path = put(folder, "four.csv", log(made, range(4), state))
    silent("half of the GPUs", "which host", path)
    path = put(folder, "bare.csv", log(made, range(8), state).split("\n", 1)[1])
    silent("no header", "without noheader", path)
    # A log with readings of the rank's peers alone.
    path = put(folder, "gpu_rank%d.csv" % ((made.slow + 1) % 8), log(made, [(made.slow + 1) % 8], healthy))
    tree = analyzed(program, made.traces, path)
    expect(told(tree, made.slow)["clock"] is None, "a clock without a reading is told")
    expect(len(tree["gpu_readings"]["ranks"]) == 1, "the peer's log is not read")


def by_rank(program, folder, made):
    """Logs of single GPUs, named by rank, with any index."""
    paths = [put(folder, "single/gpu_rank%d.csv" % n,
                 log(made, [7 - n], slowed(7 - made.slow) if n == made.slow else healthy)) for n in range(8)]
    tree = analyzed(program, made.traces, *paths)
    clock = told(tree, made.slow)["clock"]
    expect(clock and abs(clock["sm_clock_mhz"] - 1200) < 1, "the clock is %s" % clock)
    expect({r["matched_by"] for r in tree["gpu_readings"]["ranks"]} == {"file_name"}, "not matched by name")


def two_hosts(program, folder, made):
    """A log for each host, named after it: the slow rank's GPU has a twin of the same index on the other host."""
    here = made.slow // 8
    for throttles in (here, 1 - here):
        paths = [put(folder, "node%02d.csv" % host, log(
            made, range(8), slowed(made.slow % 8) if host == throttles else healthy, 60 * host)) for host in (0, 1)]
        tree = analyzed(program, made.traces, *paths)
        clock = told(tree, made.slow)["clock"]
        expect(clock is not None, "no clock is told: %s" % tree["warnings"])
        expect(clock["verdict"] == ("alike" if throttles != here else clock["verdict"])
               and (clock["verdict"] == "alike") == (throttles != here), "the clock is %s" % clock)
        expect(len(tree["gpu_readings"]["ranks"]) == 16, "ranks lack readings")
        slowdowns = [f["what"] for f in tree["findings"] if f["id"] == "gpu_slowdown"]
        other = (made.slow + 8) % 16
        expect(slowdowns == ([] if throttles == here else [w for w in slowdowns if "rank %d " % other in w])
               and len(slowdowns) == (throttles != here), "the slowdowns are %s" % slowdowns)
    paths = [put(folder, "a.csv", log(made, range(8), slowed(made.slow % 8))),
             put(folder, "b.csv", log(made, range(8), healthy))]
    tree = analyzed(program, made.traces, *paths)
    expect(told(tree, made.slow)["clock"] is None and not tree["gpu_readings"]["ranks"], "hosts are guessed")
    expect(any("which host" in w for w in tree["warnings"]), tree["warnings"])


def healthy_job(program, folder):
    """Nothing is wrong, and nothing is said to be."""
    made = Made.__new__(Made)
    for number in range(100):
        job, _ = jobs_draw.healthy_job(random.Random("gpu-logs/healthy/%d" % number), 8)
        if job.world == 8 and not job.late and not job.short and job.clocks == "one":
            break
    job.style.update({"files": "host_pid", "base": "new", "gzip": False, "device": (NAME, 9, 0, 132, 85029158912)})
    job.record = True
    ranks, graph, _, _ = jobs_training.simulate(job)
    made.traces = os.path.join(folder, "traces")
    jobs_kineto.write_traces(job, ranks, graph, made.traces)
    made.start, made.end = made.window()
    capped = lambda g: (1905 - 3 * g, 699.0, 65, 0x4)
    tree = analyzed(program, made.traces, put(folder, "smi.csv", log(made, range(8), capped)))
    expect(not any(f["sort"] == "fault" for f in tree["findings"]), "a fault is found")
    expect("GHz" not in tree["answer"]["sentence"], tree["answer"]["sentence"])
    row = tree["gpu_readings"]["ranks"][3]["whole"]
    expect(abs(row["sm_clock_mhz"]["mean"] - 1896) < 0.5 and abs(row["reasons"]["sw_power_cap"] - 1) < 1e-6
           and row["reasons"]["hw_thermal_slowdown"] == 0, "the readings are %s" % row)


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        one = Made(os.path.join(folder, "one"), 8)
        for case in (throttled, not_the_clock, undecided, by_rank):
            case(program, os.path.join(folder, case.__name__), one)
        two_hosts(program, os.path.join(folder, "two"), Made(os.path.join(folder, "two"), 16))
        healthy_job(program, os.path.join(folder, "healthy"))
    print("gpu_logs_test: all told as they are")


if __name__ == "__main__":
    main()
