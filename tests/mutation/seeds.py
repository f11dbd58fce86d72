# SPDX-License-Identifier: Apache-2.0
"""Small valid inputs of every verb and format, from which cases are made: the seeds of the fuzz targets, the traces of
seed_traces.py, the recorded example, and what tests and documentation give as examples. The same every time."""
import gzip
import json
import os
import struct
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import seed_traces

# Forms of files, by which mutations are chosen.
JSON, TEXT, SQLITE, PICKLE, MESSAGE, BINARY = "json", "text", "sqlite", "pickle", "message", "binary"


@dataclass
class File:
    name: str
    data: bytes
    form: str
    zipped: bool = False  # the verb inflates it, so that it may be compressed


@dataclass
class Seed:
    verb: str
    kind: str            # what the table calls the inputs
    files: list
    arguments: list      # behind the verb; "*" is replaced by the names of the files, "{NAME}" stays
    weight: float = 1.0
    flags: list = field(default_factory=list)  # sound flags that may be added, each a list of words


class Makers:
    def __init__(self, root):
        self.root = Path(root)
        self.corpus = self.root / "tests" / "fuzz" / "corpus"
        self.seeds = []

    def read(self, kind, name):
        return (self.corpus / kind / name).read_bytes()

    def of(self, kind):
        return sorted(p.name for p in (self.corpus / kind).iterdir() if p.stat().st_size < 40_000)

    def add(self, verb, kind, files, arguments=("*",), weight=1.0, flags=()):
        self.seeds.append(Seed(verb, kind, list(files), list(arguments), weight, list(flags)))


def form_of(data, otherwise):
    try:
        json.loads(data)
        return JSON
    except (ValueError, RecursionError):
        return otherwise


TRACE_FLAGS = [["--steps", "2:3"], ["--steps", "1"], ["--ranks", "0"], ["--threads", "1"], ["--tp", "2"], ["--dp", "2"],
               ["--step-annotation", "ProfilerStep"]]
ANALYZE_FLAGS = TRACE_FLAGS + [["-v"], ["--brief"], ["--timeline"], ["--peak-tflops", "100"], ["--price", "2.5"],
                               ["--machine", "h100_sxm_80gb"], ["--write-machine", "written.json"],
                               ["--model", "gpt2", "--global-batch", "8", "--seq", "1024"],
                               ["--model", "llama-3-8b", "--global-batch", "8", "--seq", "1024", "--zero", "3"],
                               ["--model-flops-per-step", "1e12"], ["--gpus-per-node", "2"]]
CHANGES = ["no_waiting", "communication_free", "communication_free:all_reduce", "bandwidth:2", "latency:all_reduce:2",
           "compute:matmul:1.3", "compute:2@1", "host_free", "host:2", "data_free", "allocator_free", "sync_free",
           "syncs_once", "pauses_free", "copies_free", "rank_as_peers@1", "group_as_siblings:0", "step_as_others:3",
           "stages_balanced", "ranks_balanced", "bucket:25MB", "prefetch:2", "device_alone", "no_waiting@2"]
STEP_FLAGS = [["--unit", "s"], ["--model", "gpt2", "--global-batch", "8", "--seq", "128"],
              ["--machine", "h100_sxm_80gb"], ["--peak-tflops", "10"], ["--model-flops-per-step", "1e15"]]
PREDICT_FLAGS = [["--tp", "2"], ["--pp", "2"], ["--zero", "3"], ["--zero", "1"], ["--recompute", "full"],
                 ["--micro-batch", "2"], ["--sequence-parallel"], ["--explain", "all"], ["--layers"], ["--price", "2"],
                 ["--vary", "zero=0,1,2,3"], ["--offload", "optimizer=host"], ["--schedule", "gpipe"], ["--dtype", "fp8"]]
PLAN_FLAGS = [["--fix", "tp=2"], ["--max", "pp=2"], ["--top", "3"], ["--against", "tp=2,zero=1"], ["--threads", "1"],
              ["--flags", "megatron"], ["--flags", "deepspeed"], ["--flags", "torchtitan"], ["--search-offload"]]


def traces(m):
    """Traces of ranks of one job, for the four verbs that take them."""
    jobs = {"kineto": [File("rank%d.json" % r, seed_traces.kineto(r, 4, 2), JSON, True) for r in range(4)],
            "kineto-sharded": [File("rank%d.json" % r, seed_traces.kineto(r, 2, 1, True), JSON, True) for r in range(2)],
            "nsys": [File("rank%d.sqlite" % r, seed_traces.nsys(r, 2), SQLITE, True) for r in range(2)]}
    example = m.root / "examples" / "train_tiny" / "traces"
    jobs["example"] = [File(p.name, p.read_bytes(), BINARY) for p in sorted((example / "ddp").glob("*.gz"))]
    for name in m.of("kineto"):
        data = m.read("kineto", name)
        jobs["corpus-kineto-" + name] = [File("trace.json", data, form_of(data, TEXT), True)]
    for name in m.of("rocprof"):
        data = m.read("rocprof", name)
        jobs["rocprof-" + name] = [File("results.json", data, form_of(data, TEXT), True)]
    for name in m.of("perfetto"):
        jobs["perfetto-" + name] = [File("rank0.pftrace", m.read("perfetto", name), MESSAGE, True)]
    for name in m.of("xplane"):
        jobs["xplane-" + name] = [File("host.xplane.pb", m.read("xplane", name), MESSAGE, True)]
    for name in ("whole", "kernels", "host", "chains", "view"):
        jobs["nsys-" + name] = [File("a.sqlite", m.read("nsys", name), SQLITE, True)]
    for kind, files in jobs.items():
        made = not kind.startswith("corpus") and "-" not in kind.replace("kineto-sharded", "sharded")
        weight = {"example": 1, "kineto": 16, "kineto-sharded": 12, "nsys": 12}.get(kind, 1.2 if made else 0.5)
        name = kind.removeprefix("corpus-").split("-")[0]
        m.add("analyze", name, files, weight=weight, flags=ANALYZE_FLAGS)
        m.add("whatif", name, files, weight=weight / 4, flags=TRACE_FLAGS + [["--change", c] for c in CHANGES])
        m.add("check", name, files, weight=weight / 8)
        m.add("digest", name, files, ["*", "--out", "digests"], weight / 8, [["--threads", "1"]])
        if len(files) > 1:
            m.add("compare", name, files, ["--a", files[0].name, "--b", files[1].name], weight / 8)


def prepared(m, program, folder):
    """Traces as the program itself writes them."""
    folder = Path(folder)
    for r in range(2):
        (folder / ("rank%d.json" % r)).write_bytes(seed_traces.kineto(r, 2, 1, True))
    outputs = ["merged.pftrace", "merged.json"]
    for out in outputs:
        subprocess.run([program, "analyze", folder / "rank0.json", folder / "rank1.json", "--perfetto", folder / out],
                       check=True, stdout=subprocess.DEVNULL)
    native = File("merged.pftrace", (folder / "merged.pftrace").read_bytes(), MESSAGE, True)
    merged = File("merged.json", (folder / "merged.json").read_bytes(), JSON, True)
    for file, name in ((native, "perfetto"), (merged, "merged")):
        m.add("analyze", name, [file], weight=6, flags=ANALYZE_FLAGS)
        m.add("whatif", name, [file], weight=2, flags=TRACE_FLAGS + [["--change", c] for c in CHANGES])
    ranks = ["rank0.json", "rank1.json"]
    for name in ranks:
        os.utime(folder / name, (1, 1))  # a digest holds the time, and a case is the same twice
    subprocess.run([os.path.abspath(program), "digest", *ranks, "--out", "digests"], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)
    ranked = [File(n + ".digest", (folder / "digests" / (n + ".digest")).read_bytes(), BINARY, True) for n in ranks]
    m.add("analyze", "digest", ranked, weight=6, flags=ANALYZE_FLAGS)
    m.add("whatif", "digest", ranked, weight=2, flags=TRACE_FLAGS + [["--change", c] for c in CHANGES])


def logs(m):
    rows = [("log", "job_log", n) for n in m.of("job_log")] + [("step times", "step_times", n) for n in m.of("step_times")]
    steps = b"step_time_ms\n" + b"".join(b"%d.%d\n" % (10 + n * 7919 % 3, n * 104729 % 10) for n in range(60))
    files = [(kind, m.read(folder, name)) for kind, folder, name in rows] + [("step times", steps)] * 3
    summary = (Path(__file__).parent / "train_run" / "train.json.gz").read_bytes()
    files += [("train", gzip.decompress(summary))] * 2
    for kind, data in files:
        form = form_of(data, TEXT)
        m.add("check", kind, [File("a.log", data, form, True)], weight=1, flags=STEP_FLAGS)
        m.add("compare", kind, [File("a.log", data, form, True), File("b.log", steps, TEXT, True)], weight=0.6, flags=[
            ["--max-regression", "5%"], ["--warm-up", "2"], ["--alpha", "1%"], ["--floor", "2%"], ["--unit", "us"]])
    few = File("f1.log", steps, TEXT), File("f2.log", steps[:200], TEXT)
    m.add("sweep", "step times", few, ["--vary", "f=1,2", "--launches", "1", "--", "cat", "f{f}.log"], 1)
    m.add("runs", "step times", few, ["."], 1)
    m.add("compare", "commands", few, ["--run", "cat f1.log", "--run", "cat f2.log", "--launches", "1"], 1)


def recorded_training(m):
    """What `stepscope train --trace` wrote once: kept as files, as its times differ each time."""
    folder = Path(__file__).parent / "train_run"
    files = [File("rank_%d.json" % r, gzip.decompress((folder / ("rank_%d.json.gz" % r)).read_bytes()), JSON, True)
             for r in range(2)]
    m.add("analyze", "stepscope", files, weight=4, flags=ANALYZE_FLAGS)
    m.add("whatif", "stepscope", files, weight=2, flags=TRACE_FLAGS + [["--change", c] for c in CHANGES])
    m.add("compare", "stepscope", files, ["--a", files[0].name, "--b", files[1].name], 1)
    m.add("check", "stepscope", files, weight=1)


def memory(m):
    for name in m.of("memory_snapshot"):
        data = m.read("memory_snapshot", name)
        if name == "hostile.pickle":
            form = BINARY
        else:
            form = {"pickle": PICKLE, "html": TEXT}.get(name.rsplit(".")[-1]) or form_of(data, TEXT)
        m.add("memory", form, [File("snapshot." + name.rsplit(".")[-1], data, form, True)], weight=1, flags=[["--top", "3"]])
    pair = [File("rank%d.pickle" % r, m.read("memory_snapshot", n), PICKLE) for r, n in enumerate(("whole4.pickle", "middle4.pickle"))]
    m.add("memory", PICKLE, pair, weight=3)


def stacks(m):
    flags = [["--top-down"], ["--bottom-up"], ["--min-share", "0%"]]
    other = File("earlier.txt", m.read("collapsed", "py_spy"), TEXT)
    trace = File("rank0.json", seed_traces.kineto(0, 1), JSON)
    for kind, form in (("collapsed", TEXT), ("perf_script", TEXT), ("counted_tree", TEXT), ("thread_dump", TEXT),
                       ("pprof", MESSAGE), ("speedscope", TEXT)):
        for name in m.of(kind):
            data = m.read(kind, name)
            if data[:2] == b"\x1f\x8b":
                form = BINARY
            file = File("profile." + kind, data, form_of(data, form), True)
            m.add("stacks", kind, [file], weight=0.7, flags=flags + [["--format", kind]])
            m.add("stacks", kind, [file, other], [file.name, "--against", other.name], 0.15, flags)
            m.add("stacks", kind, [file, trace], [file.name, "--trace", trace.name, "--offset", "0s"], 0.15, flags)
    m.add("stacks", "nsys", [File("a.sqlite", seed_traces.nsys(0, 1), SQLITE, True)], weight=3, flags=flags)
    m.add("stacks", "nsys", [File("a.sqlite", m.read("nsys", "chains"), SQLITE, True)], weight=1, flags=flags)


def hangs(m):
    forms = {"dump": PICKLE, "json": JSON, "pairs": JSON}
    for name in m.of("comm_records"):
        data = m.read("comm_records", name)
        form = forms.get(name, TEXT)
        m.add("hang", name, [File("rank0" + (".json" if form == JSON else ""), data, form, True)], weight=2)
    dumps = m.root / "tests" / "hang" / "dumps"
    for folder in sorted(dumps.iterdir()):
        form = JSON if "json" in folder.name else PICKLE
        files = [File(p.name, p.read_bytes(), form, True) for p in sorted(folder.iterdir())]
        m.add("hang", "dumps", files, weight=5)
        m.add("hang", "mixed", files + [File("nccl.log", m.read("comm_records", "log"), TEXT, True),
                                        File("watchdog.log", m.read("comm_records", "watchdog"), TEXT, True)], weight=2)


def followed(m):
    """Files of a running job for live, which reads them once here."""
    files = []
    for name in m.of("live_lines"):
        data = m.read("live_lines", name)
        file = File(name + (".prom" if name == "engine" else ".log"), data, TEXT, True)
        files.append(file)
        if name != "engine":
            m.add("live", name, [file], ["*", "--once"], 1.5)
    m.add("live", "all", files, ["*", "--once"], 3)


def models(m):
    """Files of models, machines, plans and DeepSpeed for predict and plan."""
    sizes = ["--machine", "h100_sxm_80gb", "--gpus", "8", "--global-batch", "64", "--seq", "512"]
    on_gpt2 = ["gpt2", "--gpus", "8", "--global-batch", "64"]
    for name in m.of("cost_json"):
        data = m.read("cost_json", name)
        file = File(name + ".json", data, form_of(data, TEXT))
        what = name.split("_")[0]
        if what in ("hf", "model", "odd"):
            m.add("predict", "model", [file], ["*"] + sizes, 1, PREDICT_FLAGS)
            m.add("plan", "model", [file], ["*"] + sizes, 0.4, PLAN_FLAGS)
        if what in ("machine", "odd"):
            m.add("predict", "machine", [file], on_gpt2 + ["--machine", file.name], 2, PREDICT_FLAGS)
            m.add("plan", "machine", [file], on_gpt2 + ["--machine", file.name], 1, PLAN_FLAGS)
            m.add("predict", "collective", [file], ["--collective", "all_reduce", "--group", "8", "--machine", file.name], 1)
        if what in ("plan", "odd"):
            m.add("predict", "plan", [file], ["gpt2", "--machine", "h100_sxm_80gb", "--plan", file.name], 2, PREDICT_FLAGS)
            m.add("plan", "plan", [file], on_gpt2 + ["--machine", "h100_sxm_80gb", "--against", file.name], 1)
        if what in ("deepspeed", "odd"):
            m.add("predict", "deepspeed", [file], on_gpt2 + ["--machine", "h100_sxm_80gb", "--ds-config", file.name], 2)
    for machine in sorted((m.root / "data" / "machines").glob("*.json"))[::3]:
        m.add("predict", "machine", [File(machine.name, machine.read_bytes(), JSON)], on_gpt2 + ["--machine", machine.name],
              0.5, PREDICT_FLAGS)


def benchmarks(m):
    title = "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
    ranks = "".join("#  Rank  %d Group  0 Pid 1%d on host%d device  0 [0x07] NVIDIA H100 80GB HBM3\n" % (n, n, n % 2) for n in range(8))

    def row(size):
        t = 20 + size / 200e3
        return "%d %d float sum -1 %.2f %.2f %.2f 0 %.2f %.2f %.2f N/A\n" % (
            size, size // 4, t, size / t / 1e3, size / t / 1e3 * 1.75, t, size / t / 1e3, size / t / 1e3 * 1.75)
    whole = "# Collective test starting: all_reduce_perf\n" + ranks + title + "".join(row(1 << k) for k in range(14, 29))
    osu = "# OSU MPI-CUDA Allreduce Latency Test v7.4\n# Size       Avg Latency(us)\n" + "".join(
        "%d %d\n" % (1 << k, 20 + (1 << k) // 20000) for k in range(3, 21))
    m.add("calibrate", "nccl-tests", [File("all_reduce.txt", whole.encode(), TEXT)], ["out.json", "--from", "*"], 5)
    m.add("calibrate", "osu", [File("osu.txt", osu.encode(), TEXT)], [
        "out.json", "--from", "*", "--machine", "h100_sxm_80gb", "--ranks", "4", "--nodes", "2"], 4)
    for name in m.of("comm_benchmark"):
        data = m.read("comm_benchmark", name)
        m.add("calibrate", name, [File(name + ".txt", data, form_of(data, TEXT))], [
            "out.json", "--from", "*", "--machine", "h100_sxm_80gb", "--ranks", "8"], 1)


def training(m):
    text = (m.root / "README.md").read_bytes()[:4000]
    quick = ["--ranks", "1", "--transport", "threads", "--steps", "1", "--seq", "8", "--micro-batch", "1", "--quiet",
             "--peak-tflops", "0.1"]
    m.add("train", "text", [File("data.txt", text, TEXT)], ["--data", "*"] + quick, 0.8)
    tokens = struct.pack("<256i", 20240520, 1, 1000, *[0] * 253) + struct.pack("<1000H", *[n * 7919 % 50257 for n in range(1000)])
    m.add("train", "tokens", [File("data.bin", tokens, BINARY)], ["--data", "*"] + quick, 0.8)
    for name in m.of("weights"):
        suffix = ".bin" if name.startswith("llmc") else ".safetensors"
        m.add("train", "weights", [File("w" + suffix, m.read("weights", name), BINARY), File("data.txt", text, TEXT)],
              ["--data", "data.txt", "--init-from", "w" + suffix] + quick, 0.3)
    m.add("train", "checkpoint", [File("kept/step-00000007/manifest.json", m.read("weights", "manifest"), JSON),
                                  File("kept/step-00000007/rank-00000.state", m.read("weights", "rank_file"), BINARY),
                                  File("data.txt", text, TEXT)],
          ["--data", "data.txt", "--checkpoint", "kept", "--resume"] + quick, 0.3)


def pages(m):
    for words in (["help"], ["help", "analyze"], ["help", "busbw"], ["help", "terms"], ["analyze", "--help"], ["--version"],
                  ["completion", "bash"], ["completion", "zsh"], ["completion", "fish"], ["whatif", "--list"], ["man"],
                  ["man", "--markdown"]):
        m.add(words[0], "words", [], words[1:], 0.3)
    m.add("predict", "words", [], ["gpt2", "--machine", "h100_sxm_80gb", "--gpus", "8", "--global-batch", "64"], 6, PREDICT_FLAGS)
    m.add("plan", "words", [], ["gpt2", "--machine", "h100_sxm_80gb", "--gpus", "8", "--global-batch", "64"], 3, PLAN_FLAGS)
    m.add("predict", "words", [], ["--collective", "all_reduce", "--bytes", "1KB:1GB", "--group", "8", "--machine", "h100_sxm_80gb"], 2)


# Files that some flags take, for every verb that has the flag.
def side_files(m):
    return {
        "--kernel-rules": File("rules.txt", b"attention  head  my_attention  ours\nwait start wait_for_flag x\n"
                                            b"matmul argument device_kernel$<mylib::gemm x\n", TEXT),
        "--groups": File("groups.txt", b"0 dp\n", TEXT),
        "--machine": File("machine.json", m.read("cost_json", "machine_h100_sxm_80gb"), JSON),
        "--model": File("model.json", m.read("cost_json", "model_gpt2"), JSON),
        "--plan": File("plan.json", m.read("cost_json", "plan_full"), JSON),
        "--rules": File("phases.json", m.read("phase_rules", "rules"), JSON),
        "--lasti": File("table.tsv", m.read("phase_rules", "table"), TEXT)}


def all_seeds(root, program, folder):
    m = Makers(root)
    for make in (traces, logs, recorded_training, memory, stacks, hangs, followed, models, benchmarks, training, pages):
        make(m)
    prepared(m, program, folder)
    return m.seeds, side_files(m)
