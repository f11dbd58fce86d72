# SPDX-License-Identifier: Apache-2.0
"""Recordings of several ranks and jobs, forms of files, names of kernels and devices, for traces.table."""

import gzip
import json
import pickle

import other_profilers
from recording import ADD, H100, MI300X, MS, Recording
from trace_inputs import INPUTS, folder, products, recording, steps


# ---- ranks -----------------------------------------------------------------------------------------------------------
def rank_of(
    rank, world=2, late=0.0, slow=1.0, count=4, base=1_759_300_074_000_000_000, device=H100
):
    """A data-parallel rank: products, then an all-reduce that ends when the last rank has come."""
    r = Recording(device, rank, world, base=base)
    ranks = "[" + ", ".join(str(k) for k in range(world)) + "]"
    for n in range(count):
        begin = 1000.0 + n * 15.4 * MS
        r.host = r.device = begin
        if late:
            r.op("aten::unique", late, [[64]])
        for _ in range(8):
            r.kernel(dur=1 * MS * slow)
        r.add("cpu_op", "autograd::engine::evaluate_function: MmBackward0", r.host, 50.0)
        r.host += 50.0
        r.collective(begin + 14 * MS - r.device, r.device, seq=n, size=world, rank_list=ranks)
        r.device = begin + 14 * MS
        r.kernel(name=ADD, dur=1 * MS, op="aten::add_", dims=((8192, 8192),))
        r.add(
            "cuda_runtime",
            "cudaDeviceSynchronize",
            r.host,
            begin + 15.3 * MS - r.host,
            correlation=0,
        )
        r.step(n, begin, begin + 15.4 * MS)
    return r


@recording("one_of_two.json")
def one_of_two():
    return rank_of(0)


@recording("one_of_eight.json")
def one_of_eight():
    return rank_of(3, 8)


@folder("two_ranks")
def two_ranks(path):
    for k in range(2):
        rank_of(k).write(path / f"rank{k}.json")


@folder("with_other_files")
def with_other_files(path):
    two_ranks(path)
    (path / "nccl.log").write_text(
        "h:7:7 [0] NCCL INFO comm 0x5581 rank 0 nranks 2 cudaDev 0 busId 1000 commId 0xa1 - Init COMPLETE\n"
    )
    for n in (1, 2):
        (path / f"train{n}.log").write_text("step_time_ms=101.5\nstep_time_ms=102.5\n" * 4)


# Names, metadata and clocks do not show whether these are ranks of one job or runs of one program.
@folder("no_rank_no_clock")
def no_rank_no_clock(path):
    for k, name in enumerate("ab"):
        r = rank_of(k)
        del r.head["distributedInfo"], r.head["baseTimeNanoseconds"]
        r.write(path / f"{name}.json")


@recording("execution_trace.json")
def execution_trace():
    return """{
  "schema": "1.1.1-chakra.0.0.4", "pid": 7, "time": "2026-11-30 09:00:00", "start_ts": 12,
  "nodes": [
    {"id": 1, "name": "[pytorch|profiler|execution_trace|process]", "ctrl_deps": 1}
  ]
}"""


@recording("chakra.et")
def chakra():
    return b"\x17\x12\x10\x0a\x06schema\xea\x01\x051.0.1\x12\x03\x0a\x01p" * 4


@folder("late_host")
def late_host(path):
    for k in range(2):
        rank_of(k, late=4 * MS if k == 1 else 0.0).write(path / f"rank{k}.json")


@folder("two_late_of_eight")
def two_late_of_eight(path):
    for k in range(8):
        rank_of(k, 8, late=4 * MS if k in (0, 6) else 0.0, count=1).write(path / f"rank{k}.json")


@folder("slow_kernels")
def slow_kernels(path):
    for k in range(2):
        rank_of(k, slow=1.5 if k == 1 else 1.0).write(path / f"rank{k}.json")


@recording("ranks_in_one_file.json")
def ranks_in_one_file():
    both = []
    for k in range(2):
        r = steps(Recording(), products(4, 2 * MS), first=5)
        for e in r.events:
            if e["pid"] == 500:
                e["pid"] = e["tid"] = 500 + k
        both += r.events
    head = Recording().head
    return json.dumps({**head, "traceEvents": both})


@folder("two_jobs")
def two_jobs(path):
    for name, world in (("a", 2), ("b", 4)):
        (path / name).mkdir()
        for k in range(world):
            rank_of(k, world).write(path / name / f"rank{k}.json")


@folder("two_jobs_in_one_folder")
def two_jobs_in_one_folder(path):
    for k in range(3):
        rank_of(k, 3).write(path / f"first_rank{k}.json")
    for k in range(2):
        rank_of(k, 2, base=1_759_300_074_000_000_000 + 3600 * 10**9).write(
            path / f"second_rank{k}.json"
        )


@folder("two_unrelated")
def two_unrelated(path):
    steps(Recording(), products()).write(path / "llama.json")
    steps(Recording(MI300X), products(4, 2 * MS)).write(path / "bert.json")


@folder("one_trace_and_others")
def one_trace_and_others(path):
    steps(Recording(), products()).write(path / "trace.json")
    (path / "config.json").write_text('{"hidden_size": 64}', encoding="utf-8")
    (path / "notes.txt").write_text("a note\n", encoding="utf-8")


@folder("no_traces")
def no_traces(path):
    (path / "notes.txt").write_text("a note\n", encoding="utf-8")


@folder("only_a_log")
def only_a_log(path):
    lines = [
        f" [2026-01-01 12:00:{n:02d}] iteration {n + 1:8d}/ 100 | consumed samples: 256 | elapsed time per iteration (ms): "
        f"{500 + n}.0 | global batch size: 256 | lm loss: 2.5E+00 |"
        for n in range(12)
    ]
    (path / "train.log").write_text("\n".join(lines) + "\n", encoding="utf-8")


# ---- forms of the file -----------------------------------------------------------------------------------------------
@recording("compressed.json.gz")
def compressed():
    return steps(Recording(), products())


@recording("bare_array.json")
def bare_array():
    return json.dumps(steps(Recording(), products()).events)


@recording("unterminated_array.json")
def unterminated_array():
    return json.dumps(steps(Recording(), products()).events)[:-1]


@recording("times_as_texts.json")
def times_as_texts():
    r = steps(Recording(), products())
    for e in r.events:
        e["ts"], e["dur"] = str(e["ts"]), str(e["dur"])
    return r


@recording("quotes_in_names.json")
def quotes_in_names():
    text = steps(Recording(), products()).text()
    return text.replace('"name": "aten::mm"', '"name": "aten::mm" of "x""', 1)


@recording("infinite_numbers.json")
def infinite_numbers():
    return steps(Recording(), products(**{"blocks per SM": float("inf")}))


@recording("old_categories.json")
def old_categories():
    r = steps(Recording(), products())
    old = {
        "cpu_op": "Operator",
        "kernel": "Kernel",
        "gpu_memcpy": "Memcpy",
        "cuda_runtime": "Runtime",
    }
    for e in r.events:
        e["cat"] = old.get(e["cat"], e["cat"])
    return r


@recording("begin_and_end.json")
def begin_and_end():
    r = steps(Recording(), products())
    edges = []
    for e in r.events:
        if e["cat"] != "cpu_op":
            edges.append(e)
            continue
        edges.append({**{k: v for k, v in e.items() if k != "dur"}, "ph": "B"})
        edges.append(
            {
                "ph": "E",
                "pid": e["pid"],
                "tid": e["tid"],
                "ts": round(e["ts"] + e["dur"] - 0.001, 3),
            }
        )
    r.events = sorted(edges, key=lambda e: e["ts"])
    return r


@recording("cpu_only.json")
def cpu_only():
    def body(r, _):
        for _ in range(8):
            r.op("aten::addmm", 1.1 * MS, [[512], [512, 512], [512, 512]], ["float"] * 3)

    return steps(Recording(None), body)


# The operators are those of a GPU, whose rows and calls were not recorded.
@recording("gpu_operators_only.json")
def gpu_operators_only():
    def body(r, _):
        for _ in range(8):
            r.op("aten::cudnn_convolution", 1.1 * MS, [[512], [512, 512]], ["float"] * 2)

    return steps(Recording(None), body)


@recording("empty.json")
def empty():
    return ""


@recording("empty_object.json")
def empty_object():
    return "{}"


@recording("empty_events.json")
def empty_events():
    return '{"traceEvents": []}'


@recording("no_json.json")
def no_json():
    return "hello\n"


@recording("timeline.raw.json")
def memory_timeline():
    return json.dumps([[-1, 1, 37888, 7], [-1, 1, 512, 7], [1696966048083248105, 3, 4000, 0]])


@recording("ds_config.json")
def ds_config():
    return json.dumps({"train_batch_size": 32, "zero_optimization": {"stage": 2}})


@recording("t5_config.json")
def t5_config():
    return json.dumps({"architectures": ["T5ForConditionalGeneration"], "model_type": "t5"})


@recording("report.nsys-rep")
def report():
    return b"NSYS binary"


@recording("ascend.json")
def ascend():
    r = steps(Recording(None), products(4, 2 * MS))
    for e in r.events:
        if e["cat"] in ("kernel", "gpu_memcpy"):
            e.pop("cat")
            e["pid"] = 544
            e["args"] = {
                "Task Type": "AI_CORE",
                "Physic Stream Id": 7,
                "Task Id": 5,
                "connection_id": 77,
            }
    r.events.insert(
        0,
        {
            "ph": "M",
            "name": "process_name",
            "pid": 544,
            "tid": 0,
            "args": {"name": "Ascend Hardware"},
        },
    )
    return json.dumps(r.events)


def xla_for_a_viewer():
    r = steps(Recording(None), products(4, 2 * MS))
    for e in r.events:
        e.pop("cat")
    r.events.insert(
        0, {"ph": "M", "name": "process_name", "pid": 500, "args": {"name": "/host:CPU"}}
    )
    return json.dumps(
        {"displayTimeUnit": "ns", "metadata": {"highres-ticks": True}, "traceEvents": r.events}
    )


recording("host.trace.json")(xla_for_a_viewer)


@folder("jax_folder")
def jax_folder(path):
    other_profilers.INPUTS["jax_cuda.xplane.pb"](path / "host.xplane.pb")
    (path / "host.trace.json.gz").write_bytes(gzip.compress(xla_for_a_viewer().encode(), mtime=0))


@recording("xpu.json")
def xpu():
    r = steps(Recording(None), products())
    for e in r.events:
        if e["cat"] == "cuda_runtime":
            e["cat"] = "xpu_runtime"
            e["name"] = "urEnqueueKernelLaunch" if "Launch" in e["name"] else "urQueueFinish"
    return r


@recording("gaudi.json")
def gaudi():
    r = steps(Recording(None), products(9, 1 * MS))
    r.events = [e for e in r.events if e["cat"] not in ("gpu_memcpy",)]
    for e in r.events:
        if e["cat"] == "kernel":
            e["cat"] = "hpu_op"
    return r


# ---- names and number formats ----------------------------------------------------------------------------------------
def kernels_named(names, op="aten::mm", count=12, types=None, device=H100):
    dims = ((2048, 2048), (2048, 2048))

    def body(r, _):
        for n in range(count):
            r.kernel(name=names[n % len(names)], dur=0.7 * MS, op=op, dims=dims, types=types)
        r.copy()

    return steps(Recording(device), body)


CUTLASS = "cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_{}_tn_align8"
INPUTS_OF_NAMES = {
    "kernel2.json": [
        f"void cutlass::Kernel2<{n}>({n}::Params)"
        for n in (CUTLASS.format("32x32_128x2"), CUTLASS.format("64x64_64x6"))
    ],
    "kentry.json": [
        "void ck_tile::kentry<ck_tile::gfx950_t, 2, ck_tile::FmhaFwdKernel<ck_tile::Block<std::bfloat16_t, 128> >, "
        "ck_tile::FmhaFwdKernel<ck_tile::Block<std::bfloat16_t, 128> >::Kargs>(ck_tile::Kargs) [clone .kd]",
        "void ck_tile::kentry<ck_tile::gfx950_t, 1, ck_tile::FmhaBwdDQDKDVKernel<ck_tile::Block<float> >, int>(int) "
        "[clone .kd]",
    ],
    "enable_if.json": [
        "std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type "
        "vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, long, float, int)"
    ],
    "mangled.json": [
        "_ZN7sgl_hip10activation18act_and_mul_kernelI14__hip_bfloat16XadL_Z4siluEEEEvPT_PKS3_i"
    ],
    "mangled_functor.json": [
        "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIiEESt5arrayIPcLm1EEEEviT0_T1_"
    ],
    "device_kernel.json": [
        "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::Mainloop<2> > > >(int)"
    ],
    "tensile_alike.json": [
        "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT64x16x256_MI16x16x1_SN_LDSB1_AFC1_AG_WG16_4_4",
        "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT64x96x256_MI16x16x1_SN_LDSB1_AFC1_AG_WG16_4_4",
    ],
}
for _name, _kernels in INPUTS_OF_NAMES.items():
    recording(_name)(lambda kernels=_kernels: kernels_named(kernels))

recording("fp32_ffma.json")(
    lambda: kernels_named(
        [
            "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_alignc4_execute_kernel__5x"
        ],
        types=["float", "float"],
    )
)
recording("fp32_tf32.json")(
    lambda: kernels_named(
        [
            "sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_stage3_warpsize2x2x1_tensor16x8x8_execute_kernel__5x"
        ],
        types=["float", "float"],
    )
)
recording("fp32_simt.json")(
    lambda: kernels_named(["ampere_sgemm_128x64_tn"], types=["float", "float"])
)


@recording("fp32_under_graphs.json")
def fp32_under_graphs():
    def body(r, _):
        r.call("cudaGraphLaunch", 60.0)
        for _ in range(9):
            r.on_device("ampere_sgemm_128x64_tn", 1 * MS)
        r.copy()

    return steps(Recording(), body)


@recording("long_names.json")
def long_names():
    return kernels_named(["void f<" + "a" * 4000 + ">(int)", "void f<" + "a" * 4001 + ">(int)"])


# ---- devices: the name that a trace writes, its memory, and its capability ---------------------------------------------
DEVICES = {
    "t4": ("Tesla T4", 15_843_721_216, 7, 5, 40),
    "l4": ("NVIDIA L4", 23_686_479_872, 8, 9, 58),
    "l40s": ("NVIDIA L40S", 47_697_362_944, 8, 9, 142),
    "a10": ("NVIDIA A10", 23_827_841_024, 8, 6, 72),
    "a10g": ("NVIDIA A10G", 23_827_841_024, 8, 6, 80),
    "a40": ("NVIDIA A40", 47_850_782_720, 8, 6, 84),
    "a6000": ("NVIDIA RTX A6000", 51_033_931_776, 8, 6, 84),
    "a100_40": ("NVIDIA A100-SXM4-40GB", 42_405_855_232, 8, 0, 108),
    "a100_80": ("NVIDIA A100-SXM4-80GB", 85_198_045_184, 8, 0, 108),
    "pg509": ("NVIDIA A100-PG509-200", 42_505_273_344, 8, 0, 108),
    "v100_pcie": ("Tesla V100-PCIE-16GB", 16_945_512_448, 7, 0, 80),
    "v100_sxm": ("Tesla V100-SXM2-32GB", 34_089_730_048, 7, 0, 80),
    "rtx2080ti": ("NVIDIA GeForce RTX 2080 Ti", 11_554_717_696, 7, 5, 68),
    "rtx3090": ("NVIDIA GeForce RTX 3090", 25_438_126_080, 8, 6, 82),
    "rtx3080": ("NVIDIA GeForce RTX 3080", 10_502_144_000, 8, 6, 68),
    "rtx4090": ("NVIDIA GeForce RTX 4090", 25_393_692_672, 8, 9, 128),
    "rtx4080": ("NVIDIA GeForce RTX 4080", 16_856_842_240, 8, 9, 76),
    "rtx5090": ("NVIDIA GeForce RTX 5090", 33_668_988_928, 12, 0, 170),
    "rtx5080": ("NVIDIA GeForce RTX 5080", 16_580_411_392, 12, 0, 84),
    "h200": ("NVIDIA H200", 150_109_880_320, 9, 0, 132),
    "b200": ("NVIDIA B200", 191_507_530_000, 10, 0, 148),
    "mi210": ("AMD Instinct MI210", 68_702_699_520, 9, 0, 104),
    "mi300x": MI300X,
    "mi355x": ("AMD Instinct MI355X", 309_220_868_096, 9, 5, 256),
    "unknown": ("ACME Accelerator 1", 16_000_000_000, 1, 0, 16),
    "rtx3080_12": ("NVIDIA GeForce RTX 3080", 12_622_168_064, 8, 6, 70),
}
for _key, _device in DEVICES.items():
    half = _device[0].startswith(("Tesla", "NVIDIA GeForce RTX 2"))
    recording(f"device_{_key}.json")(
        lambda device=_device, half=half: steps(
            Recording(device),
            products(
                dims=((1024, 1024), (1024, 1024)),
                types=["c10::Half" if half else "c10::BFloat16"] * 2,
            ),
        )
    )


# ---- snapshots of memory -----------------------------------------------------------------------------------------------
MB = 1 << 20


def snapshot(name, events, failed=()):
    """`events`: of each device (action, MB of the address, file and name of the frame); each is of 1 MB. Devices that have
    `failed` end without memory."""

    def write(path):
        def entry(action, at, file, function):
            frame = {"filename": f"/w/{file}", "line": 7, "name": function}
            return {
                "action": action,
                "addr": at * MB,
                "size": MB,
                "stream": 0,
                "frames": [frame],
            }

        oom = {"action": "oom", "size": MB, "device_free": 0, "stream": 0, "frames": []}
        path.write_bytes(
            pickle.dumps(
                {
                    "segments": [
                        {
                            "device": d,
                            "address": MB,
                            "total_size": 16 * MB,
                            "stream": 0,
                            "segment_type": "large",
                            "blocks": [
                                {"size": 16 * MB, "requested_size": 0, "state": "inactive", "frames": []}
                            ],
                        }
                        for d in range(len(events))
                    ],
                    "device_traces": [
                        [entry(*e) for e in of if e[0] == "alloc" or d not in failed]
                        + ([oom] + [entry(*e) for e in of if e[0] != "alloc"] if d in failed else [])
                        for d, of in enumerate(events)
                    ],
                }
            )
        )

    INPUTS[name] = write


WHOLE_PROGRAM = [
    ("alloc", 1, "model.py", "__init__"),
    ("alloc", 2, "adam.py", "step"),
    ("alloc", 3, "adam.py", "step"),
    ("free_completed", 3, "adam.py", "step"),
    ("alloc", 3, "model.py", "forward"),
    ("free_completed", 3, "main.py", "main"),
    ("free_completed", 2, "main.py", "main"),
    ("free_completed", 1, "main.py", "main"),
]
FORWARD = [("alloc", n, "model.py", "forward") for n in (1, 2, 3, 4)] + [
    ("free_completed", n, "main.py", "main") for n in (1, 2, 3, 4)
]
snapshot("whole_program.pickle", [WHOLE_PROGRAM])
snapshot("kept_without_backward.pickle", [FORWARD])
snapshot("second_device_failed.pickle", [WHOLE_PROGRAM, FORWARD], failed={1})
