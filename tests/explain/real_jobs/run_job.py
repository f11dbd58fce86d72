# SPDX-License-Identifier: Apache-2.0
"""Runs one job of several ranks, healthy and with its faults in turn, and records each capture.

The ranks are forked from a process that has imported torch, so a start takes no second import. A plan (a dictionary) has
the kind of job, its options and its captures; run() writes DIR/NUMBER/traces/rankR.json.gz and DIR/NUMBER/truth.json."""

import copy
import glob
import gzip
import json
import multiprocessing
import os
import shutil
import statistics
import sys
import time
import traceback
import warnings

os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
warnings.filterwarnings("ignore")

import faults  # noqa: E402
import job_kind  # noqa: E402
import kinds  # noqa: E402
import layers  # noqa: E402
import torch  # noqa: E402
import torch._dynamo  # noqa: E402, F401  (what ranks would import, each for itself)
import torch.distributed as dist  # noqa: E402
import torch.distributed.checkpoint  # noqa: E402, F401
import torch.distributed.fsdp  # noqa: E402, F401
import torch.distributed.optim  # noqa: E402, F401
import torch.distributed.pipelining  # noqa: E402, F401
import torch.distributed.tensor.parallel  # noqa: E402, F401
import truth  # noqa: E402
from torch.profiler import ProfilerActivity, profile, schedule  # noqa: E402
from torch.utils.data import DataLoader, IterableDataset  # noqa: E402

UNTRACED = 4  # steps of a capture that are timed without the profiler
FORK = multiprocessing.get_context("fork")


def run_queue():
    """Nanoseconds that this process' main thread, and all its threads, have waited for a core."""
    waits = {}
    for path in glob.glob("/proc/self/task/*/schedstat"):
        try:
            with open(path, encoding="ascii") as f:
                waits[path.split("/")[4]] = int(f.read().split()[1])
        except (OSError, IndexError):
            continue  # the thread ended
    return waits.get(str(os.getpid()), 0), sum(waits.values())


class Batches(IterableDataset):
    """Batches that take a time to make: the base and what the fault adds, read from shared memory by workers."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __iter__(self):
        while True:
            time.sleep(self.seconds.value)
            yield torch.randn(job_kind.BATCH, job_kind.SEQUENCE, layers.WIDTH)


class Rank:
    """What a builder of kinds.py needs to know and to call."""

    def __init__(self, plan, number, scratch):
        self.plan, self.number, self.scratch = plan, number, scratch
        self.kind, self.options = kind_of(plan), plan["options"]
        self.injector = faults.Injector(number)
        self.forward_s = self.kind.layers * sum(
            s for k, s in plan["seconds"].items() if k.endswith("forward")
        )
        self.load_s = FORK.Value("d", plan["loader_s"])
        self.loader = None
        self.fetches = 0
        if self.options["loader"] != "function":
            workers = 1 if self.options["loader"] == "workers" else 0
            words = {"multiprocessing_context": "fork", "prefetch_factor": 2} if workers else {}
            self.loader = iter(
                DataLoader(Batches(self.load_s), batch_size=None, num_workers=workers, **words)
            )

    def load(self, times=1):
        """A batch of the step; its fault is that of a step, so only the first of a step has it."""
        first, self.fetches = self.fetches == 0, self.fetches + 1
        if self.loader is not None:
            if self.options["loader"] == "in_process":
                self.load_s.value = self.plan["loader_s"] + (
                    self.injector.at("loader") if first else 0.0
                )
            x = next(self.loader)
        else:
            time.sleep(self.plan["loader_s"])
            x = torch.randn(job_kind.BATCH, job_kind.SEQUENCE, layers.WIDTH)
            if first:
                self.injector.sleep("loader")
        return x.repeat(times, 1, 1) if times > 1 else x

    def wait(self, place):
        self.injector.sleep(place)

    def slow_optimizer(self, optimizer):
        def before(*_):
            self.injector.sleep("optimizer")
            seconds = self.injector.at("update")
            if seconds:
                torch.ops.oracle.update(torch.zeros(8), seconds)

        optimizer.register_step_pre_hook(before)

    def begin_fault(self, fault, step_s):
        """Sets sizes, and the rate of a worker process: it makes a batch every step and the fault's time."""
        fault = copy.deepcopy(fault)
        for part in faults.parts_of(fault):
            part["size_s"] = part["share"] * step_s
            if part["kind"] == "slow_stage":
                part["layers"] = self.kind.layers_of_stage(part["stage"])
        self.injector.activate(fault)
        if self.options["loader"] == "workers":
            slow = self.injector.at("loader")
            self.load_s.value = (step_s + slow) / self.kind.micro if slow else self.plan["loader_s"]
        return fault


def kind_of(plan):
    kind = copy.copy(kinds.KINDS[plan["kind"]])
    kind.numbered = plan["options"]["numbered"]
    if plan["options"]["small"]:
        kind.layers, kind.micro = min(kind.layers, 1 if kind.stages > 1 else 2), min(kind.micro, 4)
    return kind


class Session:
    """The steps of one rank, timed."""

    def __init__(self, rank):
        self.rank, self.walls, self.waits = rank, [], []
        self.step, self.evaluate = rank.kind.build(rank)

    def one(self, number=None):
        rank = self.rank
        rank.injector.step, rank.fetches = number, 0
        self.step()
        outlier = rank.injector.outlier()
        if outlier:
            work, seconds = outlier
            if work == "evaluation":
                self.evaluate(seconds)
            else:
                with torch.profiler.record_function("save_checkpoint"):
                    torch.save({"step": number}, os.devnull)
                    time.sleep(seconds)

    def timed(self, steps, recorded, after=None):
        """Wall time, and the times on the run queue, of each step. after: called within each step, at its end."""
        walls, main, every = [], [], []
        before = run_queue()
        begin = time.perf_counter()
        for n in range(steps):
            self.one(n if recorded else None)
            if after:
                after()
            end, now = time.perf_counter(), run_queue()
            walls.append(round((end - begin) * 1e9))
            main.append(now[0] - before[0])
            every.append(now[1] - before[1])
            begin, before = end, now
        return {"wall_ns": walls, "run_queue_ns": main, "run_queue_all_ns": every}

    def capture(self, steps, path):
        """Records steps, and times the same number without the profiler. Returns both, and the number of the first
        step."""
        options = self.rank.options
        settle = 5 if options["loader"] == "workers" else 2
        for _ in range(settle):
            self.one()
        dist.barrier()
        untraced = self.timed(UNTRACED, False)
        words = {"activities": [ProfilerActivity.CPU]}
        words.update({k: options[k] for k in ("record_shapes", "with_stack", "profile_memory")})
        dist.barrier()
        if options["numbered"]:
            wait = options["profiler_wait"]
            with profile(
                schedule=schedule(wait=wait, warmup=1, active=steps, repeat=1),
                on_trace_ready=lambda p: p.export_chrome_trace(path),
                **words,
            ) as p:
                for _ in range(wait + 1):
                    self.one()
                    p.step()
                state = {"n": 0}

                def step_of():
                    state["n"] += 1
                    if state["n"] < steps:  # the last one also writes the file
                        p.step()

                traced = self.timed(steps, True, step_of)
                p.step()
            first = wait + 1
        else:
            with profile(**words) as p:
                traced = self.timed(steps, True)
            p.export_chrome_trace(path)
            first = 0
        self.rank.injector.step = None
        dist.barrier()
        return traced, untraced, first


def compress(path, strip):
    """PATH.gz of a trace. strip: drops arguments that no record has unless somebody asked for them."""
    with open(path, encoding="utf-8") as f:
        trace = json.load(f)
    for event in trace["traceEvents"]:
        args = event.get("args")
        if args:
            for name in (
                (
                    "Input Strides",
                    "Fwd thread id",
                    "Sequence number",
                    "Ev Idx",
                    "Record function id",
                )
                if strip
                else ("Ev Idx",)
            ):
                args.pop(name, None)
    trace["traceName"] = os.path.basename(path)
    with gzip.GzipFile(path + ".gz", "wb", 6, mtime=0) as f:
        f.write(json.dumps(trace, separators=(",", ":")).encode())
    os.remove(path)


def go_before_others():
    """Priority over other programs, as far as the system grants it. Where sessions share the cores (sched_autogroup), a
    session's own niceness counts, so each rank is a session."""
    os.setsid()
    try:
        os.nice(-5)
        with open("/proc/self/autogroup", "w", encoding="ascii") as f:
            f.write("-5")
    except OSError:
        pass


def child(plan, number, folder, store):
    """One rank: builds the job, measures a healthy step, then records each capture of the plan."""
    go_before_others()
    log = open(os.path.join(folder, "rank%d.log" % number), "w", encoding="utf-8")  # noqa: SIM115
    os.dup2(log.fileno(), 1)
    os.dup2(log.fileno(), 2)
    code = 1
    try:
        torch.manual_seed(7)
        dist.init_process_group(
            "gloo", init_method="file://" + store, rank=number, world_size=plan["world"]
        )
        rank = Rank(plan, number, folder)
        seconds = {
            tuple([k.split(".")[0], k.endswith("backward")]): s for k, s in plan["seconds"].items()
        }
        work = layers.Work(rank.injector, seconds, plan["options"].get("real", False))
        layers.use(work)
        if work.real:
            shared = torch.tensor([work.calibrate()])
            dist.broadcast(shared, 0)
            work.product_s = float(shared)
        session = Session(rank)
        for _ in range(3):
            session.one()
        rank.injector.counting = True
        session.one()
        rank.injector.counting = False
        times = torch.tensor([statistics.median(session.timed(5, False)["wall_ns"]) / 1e9])
        dist.broadcast(times, 0)
        for n, capture in enumerate(plan["captures"]):
            where = os.path.join(folder, str(n))
            os.makedirs(os.path.join(where, "traces"), exist_ok=True)
            fault = rank.begin_fault(capture["fault"], float(times))
            name = "rank%d.json" % number
            if plan["options"]["named_by_process"]:  # as tensorboard_trace_handler names files
                name = "node_%d.%d.pt.trace.json" % (os.getpid(), time.time_ns())
            path = os.path.join(where, "traces", name)
            traced, untraced, first = session.capture(plan["steps"], path)
            rank.begin_fault(None, 0)
            compress(path, plan["options"]["strip"])
            with open(os.path.join(where, "times%d.json" % number), "w", encoding="utf-8") as f:
                json.dump(
                    {"traced": traced, "untraced": untraced, "first": first, "fault": fault}, f
                )
            dist.barrier()
        code = 0
    except BaseException:  # noqa: B036
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        log.flush()
        os._exit(code)


def run(plan, folder, limit_s=420):
    """Runs a plan. Raises RuntimeError with the first rank's error."""
    os.makedirs(folder, exist_ok=True)
    store = os.path.join(folder, "store")
    if os.path.exists(store):
        os.remove(store)
    ranks = [
        FORK.Process(target=child, args=(plan, n, folder, store)) for n in range(plan["world"])
    ]
    for p in ranks:
        p.start()
    end = time.monotonic() + limit_s
    failed = False
    try:
        while any(p.is_alive() for p in ranks) and time.monotonic() < end and not failed:
            time.sleep(0.1)
            failed = any(p.exitcode not in (None, 0) for p in ranks)
        late = time.monotonic() >= end
        if failed:
            time.sleep(1)
    finally:
        for p in ranks:
            if p.is_alive():
                p.kill()
            p.join()
    if failed or late:
        errors = []
        for n in range(plan["world"]):
            with open(os.path.join(folder, "rank%d.log" % n), encoding="utf-8") as f:
                errors.append(f.read()[-3000:])
        raise RuntimeError("no end in %d s" % limit_s if late else max(errors, key=len))
    os.remove(store)
    write_truths(plan, folder)
    for n in range(plan["world"]):
        os.remove(os.path.join(folder, "rank%d.log" % n))


def times_of(plan, where):
    ranks = []
    for n in range(plan["world"]):
        path = os.path.join(where, "times%d.json" % n)
        with open(path, encoding="utf-8") as f:
            ranks.append(json.load(f))
        os.remove(path)
    return ranks


def write_truths(plan, folder):
    kind = kind_of(plan)
    captures = [times_of(plan, os.path.join(folder, str(n))) for n in range(len(plan["captures"]))]
    faults_of = [ranks[0]["fault"] for ranks in captures]
    names = [fault["kind"] if fault else "healthy" for fault in faults_of]
    for n, fields in enumerate(truth.measured(list(zip(names, captures)))):
        ranks, fault = captures[n], faults_of[n]
        known = {
            "job": plan["kind"],
            "family": kind.family,
            "world": kind.world,
            "seed": plan["seed"],
            "draw": plan["draw"],
            "capture": n,
            "fault": names[n],
            "drawn": fault,
            "options": plan["options"],
            "first_step": ranks[0]["first"],
            "recorded_steps": plan["steps"],
            **fields,
            "ranks_times": [{"traced": r["traced"], "untraced": r["untraced"]} for r in ranks],
            "versions": {"torch": torch.__version__, "python": sys.version.split()[0]},
        }
        if fault:
            known["right"] = faults.truth_of(fault, kind, ranks[0]["first"])
            known["injected_ns"] = [round(p["size_s"] * 1e9) for p in faults.parts_of(fault)]
        with open(os.path.join(folder, str(n), "truth.json"), "w", encoding="utf-8") as f:
            json.dump(known, f, indent=1)


def move(folder, number, to):
    shutil.move(os.path.join(folder, str(number)), to)
