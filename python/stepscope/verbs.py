# SPDX-License-Identifier: Apache-2.0
# Written by tools/write_python_verbs.py from the flags of the command.
"""The verbs, each a function.

A parameter that is None is not given. Parameters that are needed now and then are fields of option objects
(stepscope.options): analyze("traces/", plan=Plan(tp=8), job=Job(price=2.5)). Types are in stepscope.kinds.
Each verb reads its inputs without the GIL, can be called from several threads at once, and stops on Ctrl-C.
It raises UsageError where an argument is wrong and Error where nothing can be answered.
"""

from __future__ import annotations

import os

from stepscope import _core
from stepscope.inputs import (
    arguments_of,
    axes_of,
    files,
    flag,
    list_text,
    named,
    options_from,
    plans_of,
    settings_text,
    share_text,
    span_text,
    texts_of,
    words_of,
)
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
    Runs,
    Stacks,
    Sweep,
    WhatIf,
)

TYPE_CHECKING = False  # typing would be a sixth of the time to import
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Literal

    from stepscope.kinds import (
        Axes,
        Inputs,
        Launches,
        Named,
        Numbers,
        Settings,
        Span,
        StepTimes,
    )
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


@named
def analyze(
    inputs: Inputs,
    *,
    steps: Span | None = None,
    ranks: Numbers | None = None,
    model: Named | None = None,
    machine: Named | None = None,
    global_batch: int | None = None,
    seq: int | None = None,
    plan: Plan | Named | None = None,
    job: Job | Mapping[str, object] | None = None,
    reading: Reading | Mapping[str, object] | None = None,
) -> Analysis:
    """Accounts for every nanosecond of each step of a run: computing, communicating, waiting
    for a peer, copying or idle, and why. Also says which rank is late and what to try
    first.

    inputs: Traces of one run: files (.json, .pftrace, .sqlite; .gz, .zst), directories,
        patterns, URLs (https://, s3://). Logs of GPUs (nvidia-smi, DCGM) may be among the
        files.
    steps: Only these steps: A:B (or A-B), A:, :B or N. Give 3, (3, 5), (3, None) or range(3,
        6).
    ranks: Only these ranks: 0,2,8-15 (or 8:15).
    model: Model of the run, for its FLOPs and the expected step: a name, a file of ours or a
        Hugging Face config.json.
    machine: Device of the run: a machine of the catalogue or a file.
    global_batch: Sequences of one optimizer step.
    seq: Tokens of a sequence.
    plan: How a job divides its work: degrees of parallelism, memory, kernels, batch. Give
        Plan(...), whose fields help(Plan) lists, a plan file, or its content as a dict.
    job: What traces and model do not say of a job: its machines, FLOPs and prices. Give
        Job(peak_tflops, model_flops_per_step, peak_dtype, price, gpus_per_node), or a dict.
    reading: How traces, logs and lists of step times are read. Give Reading(filter_time,
        step_annotation, kernel_rules, gpu_log_zone, groups, threads), or a dict.
    """
    with files() as place:
        arguments = arguments_of(
            "analyze",
            "peak-tflops filter-time step-annotation kernel-rules gpu-log-zone groups tp pp "
            "dp threads model-flops-per-step peak-dtype price gpus-per-node plan "
            "tensor-layout tp-rows tp-columns tp-depth sequence-parallel sequence-degree cp "
            "context-exchange ep expert-tp expert-dispatch expert-load narrow-dispatch "
            "schedule virtual-stages stage-layers zero shard-group secondary-group recompute "
            "recompute-modules narrow-swiglu narrow-attention-output offload torch-buffers "
            "images image-patches micro-batch reduce-each-micro-batch attention "
            "vendor-attention narrow-attention fp8-rowwise narrow-head grouped-experts "
            "fused-experts fused-pointwise compiled fused-loss loss-in-place "
            "fused-gradient-sum cuda-graphs vocabulary-multiple no-overlap prefetch "
            "gather-singly bucket tp-overlap ep-overlap expert-sms lora-rank lora-targets "
            "freeze freeze-layers dtype grad-dtype accumulate-dtype moments-dtype",
            {
                "steps": flag("steps", steps, span_text),
                "ranks": flag("ranks", ranks, list_text),
                "model": flag("model", model, place.value_of),
                "machine": flag("machine", machine, place.value_of),
                "global-batch": flag("global-batch", global_batch),
                "seq": flag("seq", seq),
            },
            [
                options_from("Plan", plan, "file"),
                options_from("Job", job),
                options_from("Reading", reading),
            ],
            place,
        )
        arguments += ["--", *place.paths_of(inputs)]
        part = [name for name, value in (("steps", steps), ("ranks", ranks), ("reading", reading)) if value is not None]
        return Analysis(_core.analyze(arguments), inputs, part)

@named
def whatif(
    inputs: Inputs,
    *,
    change: str | Sequence[str] | None = None,
    machine: Named | None = None,
    steps: Span | None = None,
    ranks: Numbers | None = None,
    reading: Reading | Mapping[str, object] | None = None,
) -> WhatIf:
    """Replays the recorded steps with something changed: without a wait, with faster links,
    with other buckets. Says what a step would take then.

    inputs: Traces of one run: files (.json, .pftrace, .sqlite; .gz, .zst), directories,
        patterns, URLs (https://, s3://).
    change: Change to replay: no_waiting[@RANK], communication_free[:COLLECTIVE][@RANK],
        bandwidth[:COLLECTIVE]:FACTOR[@RANK], latency[:COLLECTIVE]:FACTOR[@RANK],
        compute[:CLASS]:FACTOR[@RANK], host_free[@RANK], host:FACTOR[@RANK], data_free[@RANK],
        allocator_free[@RANK], collector_free[@RANK], unseen_free[@RANK], profiler_free[@RANK],
        sync_free[@RANK], syncs_once[@RANK], pauses_free[@RANK], copies_free[@RANK],
        device_alone[@RANK], rank_as_peers[:PART]@RANK, group_as_siblings:GROUP[@RANK],
        step_as_others:STEP, stages_balanced[@RANK], ranks_balanced[@RANK], bucket:SIZE,
        prefetch:COUNT[@RANK]. docs/reference/changes.md explains them. Without change all
        changes that analyze asks for are replayed.
    machine: Machine whose links tell the time of message sizes that the traces do not have.
    steps: Only these steps: A:B (or A-B), A:, :B or N. Give 3, (3, 5), (3, None) or range(3,
        6).
    ranks: Only these ranks: 0,2,8-15 (or 8:15).
    reading: How traces, logs and lists of step times are read. Give Reading(step_annotation,
        filter_time, kernel_rules, groups, tp, pp, dp, threads), or a dict.
    """
    with files() as place:
        arguments = arguments_of(
            "whatif",
            "step-annotation filter-time kernel-rules groups tp pp dp threads",
            {
                "change": flag("change", change, texts_of),
                "machine": flag("machine", machine, place.value_of),
                "steps": flag("steps", steps, span_text),
                "ranks": flag("ranks", ranks, list_text),
            },
            [
                options_from("Reading", reading),
            ],
            place,
        )
        arguments += ["--", *place.paths_of(inputs)]
        return WhatIf(_core.whatif(arguments))

@named
def project(
    inputs: Inputs,
    *,
    gpus: int | None = None,
    machine: Named | None = None,
    model: Named | None = None,
    recorded: Settings | None = None,
    steps: Span | None = None,
    ranks: Numbers | None = None,
    plan: Plan | Named | None = None,
    job: Job | Mapping[str, object] | None = None,
    reading: Reading | Mapping[str, object] | None = None,
) -> Projection:
    """Predicts the step of the recorded job on other GPUs or under another plan. Kernel, host
    and launch times are the traces' own; what the plan changes comes from links and the
    model.

    inputs: Traces of one run: files (.json, .pftrace, .sqlite; .gz, .zst), directories,
        patterns, URLs (https://, s3://).
    gpus: Devices of the job asked about. Without Plan.global_batch each data-parallel rank has
        as many sequences as in the traces.
    machine: Machine of the job asked about, for its links and the model's expected times: of
        the catalogue or a file.
    model: Model of the run: a name, a file of ours or a Hugging Face config.json. Needed for
        changes of the kernels.
    recorded: What the traces do not tell of the recorded plan:
        tp=2,pp=4,global-batch=64,seq=4096,zero=1.
    steps: Only these steps: A:B (or A-B), A:, :B or N. Give 3, (3, 5), (3, None) or range(3,
        6).
    ranks: Only these ranks: 0,2,8-15 (or 8:15).
    plan: How a job divides its work: degrees of parallelism, memory, kernels, batch. Give
        Plan(...), whose fields help(Plan) lists, a plan file, or its content as a dict.
    job: What traces and model do not say of a job: its machines, FLOPs and prices. Give
        Job(nodes, gpus_per_node, recorded_machine), or a dict.
    reading: How traces, logs and lists of step times are read. Give Reading(filter_time,
        step_annotation, kernel_rules, groups, threads), or a dict.
    """
    with files() as place:
        arguments = arguments_of(
            "project",
            "tp pp zero global-batch filter-time step-annotation kernel-rules groups threads "
            "nodes gpus-per-node recorded-machine tensor-layout tp-rows tp-columns tp-depth "
            "sequence-parallel sequence-degree cp context-exchange ep expert-tp "
            "expert-dispatch expert-load narrow-dispatch schedule virtual-stages stage-layers "
            "dp shard-group secondary-group recompute recompute-modules narrow-swiglu "
            "narrow-attention-output offload torch-buffers seq images image-patches "
            "micro-batch reduce-each-micro-batch attention vendor-attention narrow-attention "
            "fp8-rowwise narrow-head grouped-experts fused-experts fused-pointwise compiled "
            "fused-loss loss-in-place fused-gradient-sum cuda-graphs vocabulary-multiple "
            "no-overlap prefetch gather-singly bucket tp-overlap ep-overlap expert-sms "
            "lora-rank lora-targets freeze freeze-layers dtype grad-dtype accumulate-dtype "
            "moments-dtype",
            {
                "gpus": flag("gpus", gpus),
                "machine": flag("machine", machine, place.value_of),
                "model": flag("model", model, place.value_of),
                "recorded": flag("recorded", recorded, settings_text),
                "steps": flag("steps", steps, span_text),
                "ranks": flag("ranks", ranks, list_text),
            },
            [
                options_from("Plan", plan, "file"),
                options_from("Job", job),
                options_from("Reading", reading),
            ],
            place,
        )
        arguments += ["--", *place.paths_of(inputs)]
        return Projection(_core.project(arguments))

@named
def check(
    inputs: Inputs | StepTimes,
    *,
    model: Named | None = None,
    machine: Named | None = None,
    global_batch: int | None = None,
    seq: int | None = None,
    gpus: int | None = None,
    recompute: Literal["none", "selective", "full"] | None = None,
    unit: Literal["ns", "us", "ms", "s"] | None = None,
    job: Job | Mapping[str, object] | None = None,
    reading: Reading | Mapping[str, object] | None = None,
) -> Check:
    """Says what a few steps, a training log or a list of step times tell already, how sure that
    is, and what to record next.

    inputs: Traces of one run, a training log, the JSON of stepscope train, or step times: a
        file, one file of each rank, numbers, a list of numbers for each rank, or a dict of
        lists by rank or phase (seconds unless `unit` is given). Logs of nvidia-smi or DCGM with
        them.
    model: Model of the run, for its FLOPs and the expected step: a name, a file of ours or a
        Hugging Face config.json.
    machine: Device of the run: a machine of the catalogue or a file.
    global_batch: Sequences of one optimizer step.
    seq: Tokens of a sequence.
    gpus: Devices of the run, for MFU, where the input does not name all of them.
    recompute: What backward computes again, for HFU, where the log does not say it.
    unit: Unit of lists of step times whose header names none. Default: ms.
    job: What traces and model do not say of a job: its machines, FLOPs and prices. Give
        Job(model_flops_per_step, peak_tflops), or a dict.
    reading: How traces, logs and lists of step times are read. Give Reading(log_pattern,
        step_annotation, kernel_rules), or a dict.
    """
    with files() as place:
        from stepscope.launches import checked_paths

        arguments = arguments_of(
            "check",
            "log-pattern step-annotation kernel-rules model-flops-per-step peak-tflops",
            {
                "model": flag("model", model, place.value_of),
                "machine": flag("machine", machine, place.value_of),
                "global-batch": flag("global-batch", global_batch),
                "seq": flag("seq", seq),
                "gpus": flag("gpus", gpus),
                "recompute": flag("recompute", recompute),
                "unit": flag("unit", unit),
            },
            [
                options_from("Job", job),
                options_from("Reading", reading),
            ],
            place,
        )
        arguments += ["--", *(checked_paths(inputs, unit, place))]
        part = [name for name, value in (("unit", unit), ("reading", reading)) if value is not None]
        return Check(_core.check(arguments), inputs, part)

@named
def digest(
    inputs: Inputs,
    *,
    out: str | os.PathLike[str],
    threads: int | None = None,
) -> Digest:
    """Writes a small file for each trace, about a hundredth of the JSON of a large one.
    analyze, whatif, compare and check read it in place of the trace, with the same answers.
    Each file can be made where its trace lies; a digest that is there is kept while its
    trace does not change.

    inputs: Traces: files, directories, patterns or URLs.
    out: Folder of the digests; it is made.
    threads: Threads to use. Default: all cores.
    """
    with files() as place:
        arguments = arguments_of(
            "digest",
            "",
            {
                "out": flag("out", out, os.fspath),
                "threads": flag("threads", threads),
            },
            [],
            place,
        )
        arguments += ["--", *place.paths_of(inputs)]
        return Digest(_core.digest(arguments))

@named
def live(
    sources: Inputs,
    *,
    silent: float | str | None = None,
    stuck: float | str | None = None,
    reading: Reading | Mapping[str, object] | None = None,
) -> Live:
    """Follows a running job by the files that it writes: step times, late ranks, waiting apart
    from transfer, silent ranks, stuck collectives.

    sources: Directories or files that the job writes to: NCCL Inspector's JSON lines, files of
        stepscope's NCCL plugin, training logs, torchtitan's structured logs, the file of
        stepscope train --metrics (FILE.prom), what ncclras -f json wrote (FILE.ras.json); or
        HOST:PORT of the RAS service of an NCCL job.
    silent: Time without a line after which a rank is silent. Give seconds, or '20ms'. Default:
        60s.
    stuck: Time after which a collective that only some ranks have left is stuck. Give seconds,
        or '20ms'. Default: 30s.
    reading: How traces, logs and lists of step times are read. Give Reading(log_pattern), or a
        dict.
    """
    with files() as place:
        arguments = arguments_of(
            "live",
            "log-pattern",
            {
                "silent": flag("silent", silent),
                "stuck": flag("stuck", stuck),
            },
            [
                options_from("Reading", reading),
            ],
            place,
        )
        arguments += ["--", *place.paths_of(sources)]
        return Live(_core.live(arguments))

@named
def hang(
    inputs: Inputs,
) -> Hang:
    """Finds why a job stands still or ended: which collective hangs, which ranks did not come,
    what they did instead, and which error came first.

    inputs: What the job left: dumps of PyTorch's flight recorder, output of ranks and
        launchers, NCCL_DEBUG lines, NCCL's RAS status, py-spy dumps, kernel messages; or
        directories.
    """
    with files() as place:
        arguments = arguments_of(
            "hang",
            "",
            {
            },
            [],
            place,
        )
        arguments += ["--", *place.paths_of(inputs)]
        return Hang(_core.hang(arguments))

@named
def memory(
    inputs: Inputs,
    *,
    top: int | None = None,
) -> Memory:
    """Shows what holds a GPU's memory: by place in the code, at the peak and over time, and how
    much lies idle in the allocator. Of an out-of-memory message it says why there was no
    room.

    inputs: Snapshots of PyTorch's allocator, of one rank or several: pickles of
        torch.cuda.memory._dump_snapshot, JSON, or pages of torch.cuda._memory_viz; logs with
        out-of-memory messages or printed totals of the allocator (memory_summary(),
        see_memory_usage(), Memory Profile); or directories.
    top: Places that the terminal lists. Default: 10.
    """
    with files() as place:
        arguments = arguments_of(
            "memory",
            "",
            {
                "top": flag("top", top),
            },
            [],
            place,
        )
        arguments += ["--", *place.paths_of(inputs)]
        return Memory(_core.memory(arguments))

@named
def stacks(
    inputs: Inputs,
    *,
    against: Named | None = None,
    trace: str | Sequence[str] | None = None,
    steps: Span | None = None,
    format: Literal["speedscope", "pprof", "perf_script", "counted_tree", "thread_dump", "collapsed"] | None = None,
    rules: Named | None = None,
    lasti: Named | Sequence[Named] | None = None,
    join: Join | Mapping[str, object] | None = None,
    trees: Trees | Mapping[str, object] | None = None,
    reading: Reading | Mapping[str, object] | None = None,
) -> Stacks:
    """Shows what the host does: how much of its time each phase of training takes, from stacks
    that a sampling profiler recorded.

    inputs: Collapsed stacks, perf script, py-spy, speedscope, pprof; compressed or not.
    against: Earlier profile to compare with.
    trace: Traces of the same run, which show the device's work in each phase of the host.
    steps: Only these steps: A:B (or A-B), A:, :B or N. Give 3, (3, 5), (3, None) or range(3,
        6).
    format: Format of the profiles, where it is not recognised.
    rules: Phases of your own, before the built-in ones.
    lasti: Table of CPython instructions, for source lines of frames like fetch [0x36a]: a file,
        or one of the program's own (deepspeed-0.16.7-cpython3.11); one table for each package.
    join: How a profile of stacks and a trace are joined. Give Join(rank, offset, gapless), or a
        dict.
    trees: Which call trees the text shows. Give Trees(top_down, bottom_up, min_share), or a
        dict.
    reading: How traces, logs and lists of step times are read. Give Reading(step_annotation,
        kernel_rules), or a dict.
    """
    with files() as place:
        arguments = arguments_of(
            "stacks",
            "top-down bottom-up min-share rank offset gapless step-annotation kernel-rules",
            {
                "against": flag("against", against, place.value_of),
                "trace": flag("trace", trace, texts_of),
                "steps": flag("steps", steps, span_text),
                "format": flag("format", format),
                "rules": flag("rules", rules, place.value_of),
                "lasti": flag("lasti", lasti, place.values_of),
            },
            [
                options_from("Join", join),
                options_from("Trees", trees),
                options_from("Reading", reading),
            ],
            place,
        )
        arguments += ["--", *place.paths_of(inputs)]
        return Stacks(_core.stacks(arguments))

@named
def compare(
    a: Launches | None = None,
    b: Launches | None = None,
    *,
    run: str | Sequence[str] | None = None,
    launches: int | None = None,
    max_regression: float | str | None = None,
    order: str | None = None,
    unit: Literal["ns", "us", "ms", "s"] | None = None,
    launching: Launching | Mapping[str, object] | None = None,
    statistics: Statistics | Mapping[str, object] | None = None,
    reading: Reading | Mapping[str, object] | None = None,
) -> Comparison:
    """Decides whether B differs from A in its step time or whether that is noise, and in which
    parts of the step. A and B are recorded runs, or commands that it launches in turn.

    a: A launch of A, or a list of launches in the order they ran. A launch is a path (a trace,
        a directory or pattern of one, a list of step times as CSV, a log), a result of
        analyze() or check(), or the times of its steps: numbers, which are seconds unless
        `unit` is given.
    b: A launch of B, or a list of launches, likewise.
    run: Command to launch, given twice: of A, then of B. It writes a trace, JSON or a list to
        {out}, or prints lines with step_time_ms=NUMBER.
    launches: Launches of each command, interleaved A B B A. Default: 3.
    max_regression: Slowdown of B above which the exit code is 3; 4 if the steps cannot tell.
        Give a share from 0 to 1, or '5%'.
    order: Order in which the recorded launches ran, as ABBA.
    unit: Unit of lists of step times whose header names none. Default: ms.
    launching: How a command is launched. Give Launching(timeout, keep), or a dict.
    statistics: Bounds of a comparison. Give Statistics(warm_up, alpha, floor), or a dict.
    reading: How traces, logs and lists of step times are read. Give Reading(log_pattern,
        step_annotation, kernel_rules), or a dict.
    """
    with files() as place:
        from stepscope.launches import label_of, launches_of

        arguments = arguments_of(
            "compare",
            "timeout keep log-pattern step-annotation kernel-rules warm-up alpha floor",
            {
                "a": flag("a", launches_of("a", a, unit, place)),
                "label-a": flag("label-a", label_of(a)),
                "b": flag("b", launches_of("b", b, unit, place)),
                "label-b": flag("label-b", label_of(b)),
                "run": flag("run", run, texts_of),
                "launches": flag("launches", launches),
                "max-regression": flag("max-regression", max_regression, share_text),
                "order": flag("order", order),
                "unit": flag("unit", unit),
            },
            [
                options_from("Launching", launching),
                options_from("Statistics", statistics),
                options_from("Reading", reading),
            ],
            place,
        )
        return Comparison(_core.compare(arguments))

@named
def sweep(
    command: str | Sequence[str],
    *,
    vary: Axes,
    launches: int | None = None,
    unit: Literal["ns", "us", "ms", "s"] | None = None,
    launching: Launching | Mapping[str, object] | None = None,
    statistics: Statistics | Mapping[str, object] | None = None,
    reading: Reading | Mapping[str, object] | None = None,
) -> Sweep:
    """Runs a command at several values of a setting and says which value is the fastest, or
    which cannot be told apart from the smallest median.

    command: Program and its arguments. It writes its step times to {out}, or prints lines with
        step_time_ms=NUMBER.
    vary: Setting and its values. {NAME} in the command becomes each value.
    launches: Launches of each value, in turn. Default: 2.
    unit: Unit of lists of step times whose header names none. Default: ms.
    launching: How a command is launched. Give Launching(timeout, keep), or a dict.
    statistics: Bounds of a comparison. Give Statistics(warm_up, alpha, floor), or a dict.
    reading: How traces, logs and lists of step times are read. Give Reading(log_pattern,
        step_annotation, kernel_rules), or a dict.
    """
    with files() as place:
        arguments = arguments_of(
            "sweep",
            "timeout keep log-pattern step-annotation kernel-rules warm-up alpha floor",
            {
                "vary": flag("vary", vary, axes_of),
                "launches": flag("launches", launches),
                "unit": flag("unit", unit),
            },
            [
                options_from("Launching", launching),
                options_from("Statistics", statistics),
                options_from("Reading", reading),
            ],
            place,
        )
        arguments += ["--", *words_of(command)]
        return Sweep(_core.sweep(arguments))

@named
def runs(
    folder: str | os.PathLike[str],
    *,
    history: Named | None = None,
    commit: str | None = None,
    tag: str | None = None,
    baseline: str | None = None,
    max_regression: float | str | None = None,
    unit: Literal["ns", "us", "ms", "s"] | None = None,
    job: Job | Mapping[str, object] | None = None,
    statistics: Statistics | Mapping[str, object] | None = None,
    reading: Reading | Mapping[str, object] | None = None,
) -> Runs:
    """Keeps the step times, findings and digests of a job's runs in one SQLite file, and says
    from which run on the steps changed, and in what. New runs are read; the others are
    known.

    folder: Folder of runs. Each folder in it is one: the traces of its ranks. So is each trace,
        log, JSON of stepscope train, or list of step times in it.
    history: The file. Default: stepscope-runs.sqlite in DIR.
    commit: Commit of the program, for the runs that are new.
    tag: Name for the runs that are new, such as nightly.
    baseline: Tag, commit or name of the runs that all others are compared with. Default: each
        run is compared with the one before.
    max_regression: Slowdown of the newest run above which the exit code is 3; 4 if the steps
        cannot tell. Give a share from 0 to 1, or '5%'.
    unit: Unit of lists of step times whose header names none. Default: ms.
    job: What traces and model do not say of a job: its machines, FLOPs and prices. Give
        Job(model, global_batch, seq, model_flops_per_step, machine, peak_tflops), or a dict.
    statistics: Bounds of a comparison. Give Statistics(warm_up, alpha, floor), or a dict.
    reading: How traces, logs and lists of step times are read. Give Reading(log_pattern,
        step_annotation, kernel_rules, threads), or a dict.
    """
    with files() as place:
        arguments = arguments_of(
            "runs",
            "log-pattern step-annotation kernel-rules threads model global-batch seq "
            "model-flops-per-step machine peak-tflops warm-up alpha floor",
            {
                "history": flag("history", history, place.value_of),
                "commit": flag("commit", commit),
                "tag": flag("tag", tag),
                "baseline": flag("baseline", baseline),
                "max-regression": flag("max-regression", max_regression, share_text),
                "unit": flag("unit", unit),
            },
            [
                options_from("Job", job),
                options_from("Statistics", statistics),
                options_from("Reading", reading),
            ],
            place,
        )
        arguments += ["--", *[place.value_of(folder)]]
        return Runs(_core.runs(arguments))

@named
def predict(
    model: Named | None = None,
    *,
    machine: Named | None = None,
    gpus: int | None = None,
    global_batch: int | None = None,
    seq: int | None = None,
    vary: Axes | None = None,
    plan: Plan | Named | None = None,
    job: Job | Mapping[str, object] | None = None,
    details: Details | Mapping[str, object] | None = None,
    collective: Collective | str | Mapping[str, object] | None = None,
) -> Prediction:
    """Predicts what a step of a model should take on a machine, in how much memory, term by
    term. With collective it predicts a single collective.

    model: Model of the catalogue, a model file of ours or a Hugging Face config.json.
    machine: Machine of the catalogue (h100_sxm_80gb, "NVIDIA H100 80GB HBM3") or a file.
    gpus: Devices in all.
    global_batch: Sequences of one optimizer step.
    seq: Tokens of a sequence.
    vary: Plans side by side: zero=0,1,2,3. Several make every combination.
    plan: How a job divides its work: degrees of parallelism, memory, kernels, batch. Give
        Plan(...), whose fields help(Plan) lists, a plan file, or its content as a dict.
    job: What traces and model do not say of a job: its machines, FLOPs and prices. Give
        Job(nodes, gpus_per_node, price), or a dict.
    details: What a prediction shows in addition. Give Details(explain, layers, conventions), or
        a dict.
    collective: A collective to predict. Give Collective(name, bytes, group), its name, or a
        dict.
    """
    with files() as place:
        arguments = arguments_of(
            "predict",
            "tp pp zero nodes gpus-per-node price plan ds-config tensor-layout tp-rows "
            "tp-columns tp-depth sequence-parallel sequence-degree cp context-exchange ep "
            "expert-tp expert-dispatch expert-load narrow-dispatch schedule virtual-stages "
            "stage-layers dp shard-group secondary-group recompute recompute-modules "
            "narrow-swiglu narrow-attention-output offload torch-buffers images image-patches "
            "micro-batch reduce-each-micro-batch attention vendor-attention narrow-attention "
            "fp8-rowwise narrow-head grouped-experts fused-experts fused-pointwise compiled "
            "fused-loss loss-in-place fused-gradient-sum cuda-graphs vocabulary-multiple "
            "no-overlap prefetch gather-singly bucket tp-overlap ep-overlap expert-sms "
            "lora-rank lora-targets freeze freeze-layers dtype grad-dtype accumulate-dtype "
            "moments-dtype explain layers conventions collective bytes group",
            {
                "machine": flag("machine", machine, place.value_of),
                "gpus": flag("gpus", gpus),
                "global-batch": flag("global-batch", global_batch),
                "seq": flag("seq", seq),
                "vary": flag("vary", vary, axes_of),
            },
            [
                options_from("Plan", plan, "file"),
                options_from("Job", job),
                options_from("Details", details),
                options_from("Collective", collective, "name"),
            ],
            place,
        )
        arguments += ["--", *([] if model is None else [place.value_of(model)])]
        return Prediction(_core.predict(arguments))

@named
def plan(
    model: Named,
    *,
    machine: Named | None = None,
    gpus: Span | None = None,
    global_batch: int | None = None,
    seq: int | None = None,
    fix: Settings | None = None,
    against: Settings | Sequence[Settings] | None = None,
    plan: Plan | Named | None = None,
    job: Job | Mapping[str, object] | None = None,
    search: Search | Mapping[str, object] | None = None,
) -> PlanSearch:
    """Searches the fastest way to run a model on a number of GPUs among all ways to divide its
    work. Says why it wins, what else was near, and how far a plan of yours is from it.

    model: Model of the catalogue, a model file of ours or a Hugging Face config.json.
    machine: Machine of the catalogue (h100_sxm_80gb, "NVIDIA H100 80GB HBM3") or a file.
    gpus: Devices in all, or a range that is doubled through.
    global_batch: Sequences of one optimizer step.
    seq: Tokens of a sequence.
    fix: Only plans with these values: tp=8,zero=1.
    against: Plan of yours to compare with the best: tp=8,pp=16,zero=1 or a plan file.
    plan: How a job divides its work: degrees of parallelism, memory, kernels, batch. Give
        Plan(...), whose fields help(Plan) lists, a plan file, or its content as a dict.
    job: What traces and model do not say of a job: its machines, FLOPs and prices. Give
        Job(gpus_per_node), or a dict.
    search: Bounds and outputs of a search of plans. Give Search(max, top, memory_headroom,
        search_offload, threads, flags), or a dict.
    """
    with files() as place:
        arguments = arguments_of(
            "plan",
            "max top gpus-per-node sequence-degree expert-tp expert-dispatch expert-load "
            "narrow-dispatch images image-patches recompute-modules narrow-swiglu "
            "narrow-attention-output torch-buffers attention vendor-attention "
            "narrow-attention fp8-rowwise narrow-head grouped-experts fused-experts "
            "fused-pointwise compiled fused-loss loss-in-place fused-gradient-sum cuda-graphs "
            "vocabulary-multiple no-overlap prefetch bucket tp-overlap ep-overlap expert-sms "
            "lora-rank lora-targets freeze freeze-layers dtype grad-dtype accumulate-dtype "
            "moments-dtype memory-headroom search-offload threads flags",
            {
                "machine": flag("machine", machine, place.value_of),
                "gpus": flag("gpus", gpus, span_text),
                "global-batch": flag("global-batch", global_batch),
                "seq": flag("seq", seq),
                "fix": flag("fix", fix, settings_text),
                "against": flag("against", against, plans_of),
            },
            [
                options_from("Plan", plan, "file"),
                options_from("Job", job),
                options_from("Search", search),
            ],
            place,
        )
        arguments += ["--", *[place.value_of(model)]]
        return PlanSearch(_core.plan(arguments))
