# SPDX-License-Identifier: Apache-2.0
"""Recordings of one kind each, for traces.table."""

import gzip
import json

import other_profilers
import trace_files  # noqa: F401  it registers its inputs
from recording import ADD, GEMM, H100, MI300X, MS, Recording
from trace_inputs import INPUTS, products, recording, steps

INPUTS.update(other_profilers.INPUTS)


# ---- what binds ------------------------------------------------------------------------------------------------------
@recording("compute_bound.json")
def compute_bound():
    return steps(Recording(), products())


@recording("compute_bound_mi300x.json")
def compute_bound_mi300x():
    return steps(
        Recording(MI300X),
        products(name="Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_MT256x256x64_MI16x16x1_SN"),
    )


@recording("memory_bound.json")
def memory_bound():
    return steps(Recording(), products(name=ADD, op="aten::add", dims=((8192, 8192), (8192, 8192))))


@recording("host_bound.json")
def host_bound():
    def body(r, _):
        for _ in range(40):
            r.kernel(dur=20.0, host=240.0, dims=((256, 256), (256, 256)))

    return steps(Recording(), body)


@recording("host_bound_training.json")
def host_bound_training():
    def body(r, _):
        for _ in range(20):
            r.kernel(dur=20.0, host=200.0, dims=((256, 256), (256, 256)))
        begin = r.host
        for _ in range(20):
            r.kernel(name=ADD, dur=20.0, host=200.0, op="aten::add_", dims=((256, 256),))
        r.add("user_annotation", "Optimizer.step#AdamW.step", begin, r.host - begin)

    return steps(Recording(), body)


@recording("host_bound_triton.json")
def host_bound_triton():
    def body(r, _):
        for n in range(40):
            r.kernel(
                name=f"triton_poi_fused_add_mul_{n % 4}",
                dur=20.0,
                host=240.0,
                op=f"triton_poi_fused_add_mul_{n % 4}",
                dims=None,
                call="cuLaunchKernel",
            )

    return steps(Recording(), body)


@recording("host_bound_graphs.json")
def host_bound_graphs():
    def body(r, _):
        for _ in range(12):
            r.call("cudaGraphLaunch", 60.0)
            for _ in range(4):
                r.on_device(GEMM, 20.0)
            r.op("aten::sort", 300.0, [[64]])

    return steps(Recording(), body)


@recording("host_bound_rocm.json")
def host_bound_rocm():
    def body(r, _):
        for _ in range(40):
            r.kernel(
                name="Cijk_Alik_Bljk_BBS_BH_MT64x64x64_MI16x16x1_SN",
                dur=20.0,
                host=240.0,
                dims=((256, 256), (256, 256)),
            )

    return steps(Recording(MI300X), body)


@recording("one_launch_a_step.json")
def one_launch_a_step():
    def body(r, _):
        for _ in range(20):
            r.op("aten::to", 0.2 * MS, [[64]])
        r.kernel(dur=2 * MS)
        r.copy()

    return steps(Recording(), body)


@recording("cpu_random_numbers.json")
def cpu_random_numbers():
    def body(r, _):
        r.op("aten::normal_", 6 * MS, [[4096, 4096], [], [], []], ["float", "Scalar", "Scalar", ""])
        r.kernel(dur=2 * MS)
        r.copy()

    return steps(Recording(), body)


@recording("device_operator_slow_on_host.json")
def device_operator_slow_on_host():
    def body(r, _):
        for _ in range(12):
            r.kernel(dur=50.0, host=800.0, op="aten::addmm", dims=((64,), (64, 64), (64, 64)))

    return steps(Recording(), body)


@recording("blocking_copies.json")
def blocking_copies():
    def body(r, _):
        for _ in range(3):
            r.kernel(dur=3 * MS)
        r.copy()

    return steps(Recording(), body)


@recording("exposed_copies.json")
def exposed_copies():
    def body(r, _):
        r.copy("Memcpy HtoD (Pageable -> Device)", 4 * MS, 48 << 20, op="aten::copy_")
        for _ in range(5):
            r.kernel(dur=1 * MS)

    return steps(Recording(), body)


@recording("data_loader.json")
def data_loader():
    def body(r, _):
        r.add(
            "user_annotation",
            "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
            r.host,
            6 * MS,
        )
        r.add(
            "cpu_op",
            "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
            r.host,
            6 * MS,
        )
        r.host += 6 * MS
        for _ in range(4):
            r.kernel(dur=1 * MS)
        r.copy()

    return steps(Recording(), body)


@recording("allocations.json")
def allocations():
    def body(r, _):
        for _ in range(4):
            r.call("cudaMalloc", 1.5 * MS)
            r.kernel(dur=0.5 * MS, dims=((1024, 1024), (1024, 1024)))

    return steps(Recording(), body)


@recording("outlier_step.json")
def outlier_step():
    def body(r, n):
        for _ in range(25 if n == 5 else 9):
            r.kernel(dur=1 * MS)
        r.copy()

    return steps(Recording(), body, count=10)


@recording("synchronizations.json")
def synchronizations():
    def body(r, _):
        for _ in range(8):
            r.kernel(dur=0.5 * MS, dims=((1024, 1024), (1024, 1024)))
            r.call("cudaDeviceSynchronize", max(5.0, r.device - r.host))
            r.op("aten::to", 300.0, [[64]])

    return steps(Recording(), body)


@recording("forward_only.json")
def forward_only():
    def body(r, _):
        for _ in range(30):
            r.kernel(dur=20.0, host=300.0, dims=((32, 256), (256, 256)))

    return steps(Recording(), body)


@recording("garbage_collections.json")
def garbage_collections():
    def body(r, n):
        for _ in range(6):
            r.kernel(dur=1 * MS)
        if n in (3, 9):
            r.host = r.device = max(r.device, r.host)
            r.add("python_function", "<built-in method collect of module object>", r.host, 9 * MS)
            r.host += 9 * MS
            r.kernel(name=ADD, dur=0.1 * MS, op="aten::add", dims=((64, 64),))
        r.copy()

    return steps(Recording(), body, count=12)


@recording("pauses.json")
def pauses():
    def body(r, n):
        for k in range(6):
            if k == 3 and n in (3, 9):
                r.host = max(r.host, r.device) + 9 * MS
            r.kernel(dur=1 * MS)
        r.copy()

    return steps(Recording(), body, count=12)


@recording("short_kernels.json")
def short_kernels():
    return steps(Recording(), products(100, 4.0, host=12.0, dims=((64, 64), (64, 64))))


@recording("gap_in_each_of_four_steps.json")
def gap_in_each_of_four_steps():
    def body(r, _):
        r.host += 5 * MS
        r.kernel(dur=2 * MS)

    return steps(Recording(), body, count=4, length=10 * MS)


# ---- how steps are marked --------------------------------------------------------------------------------------------
@recording("named_iterations.json")
def named_iterations():
    r = steps(Recording(), products())
    for e in r.events:
        e["name"] = e["name"].replace("ProfilerStep#", "iteration ")
    return r


@recording("updates.json")
def updates():
    r = Recording()
    for _ in range(5):
        for _ in range(6):
            r.kernel(dur=1 * MS)
        begin = r.host
        r.kernel(name=ADD, dur=0.3 * MS, op="aten::_foreach_add_", dims=((64, 64),))
        r.copy()
        r.add("user_annotation", "Optimizer.step#AdamW.step", begin, r.host - begin)
    return r


@recording("one_step.json")
def one_step():
    return steps(Recording(), products(), count=1)


@recording("two_windows.json")
def two_windows():
    r = steps(Recording(), products(), count=3)
    r.host = r.device = r.host + 5000 * MS
    return steps(r, products(), count=3, first=30)


# ---- start-up --------------------------------------------------------------------------------------------------------
@recording("library_handle.json")
def library_handle(r=None):
    r = r or Recording()
    r.kernel(name=ADD, dur=30.0, op="aten::fill_", dims=((64, 64),))
    begin = r.host
    r.external += 1
    r.add(
        "cpu_op",
        "aten::mm",
        begin,
        17.1 * MS,
        **{"External id": r.external, "Input Dims": [[64, 64], [64, 64]]},
    )
    for _ in range(5):
        r.call("cudaDeviceGetAttribute", 10.0)
    r.call("cudaMalloc", 15 * MS)
    r.call("cudaFree", 2 * MS)
    r.call("cudaLaunchKernel", 6.0)
    r.on_device(GEMM, 30.0)
    r.host = begin + 17.1 * MS
    for _ in range(6):
        r.kernel(dur=30.0, host=20.0, dims=((256, 256), (256, 256)))
    return r


@recording("start_up_before_the_device.json")
def start_up_before_the_device():
    r = Recording()
    r.call("cudaDeviceGetStreamPriorityRange", 900 * MS)
    return library_handle(r)


@recording("lazy_loading.json")
def lazy_loading():
    r = Recording()
    for n in range(7):
        r.kernel(
            name=f"void kernel_{n}<float>(float*)",
            dur=30.0,
            host=80 * MS,
            launch=75 * MS,
            op="aten::relu",
            dims=((64, 64),),
        )
    for n in range(20):
        r.kernel(
            name=f"void kernel_{n % 7}<float>(float*)", dur=30.0, op="aten::relu", dims=((64, 64),)
        )
    return r


@recording("start_up_in_the_first_step.json")
def start_up_in_the_first_step():
    def body(r, n):
        if n == 0:
            r.kernel(name="void first<float>(float*)", dur=30.0, host=900 * MS, launch=890 * MS)
        for _ in range(8):
            r.kernel(dur=1 * MS)
        r.copy()

    return steps(Recording(), body)


@recording("module_load.json")
def module_load():
    r = Recording()
    r.kernel(name=ADD, dur=50.0, op="aten::add", dims=((64, 64),))
    r.call("cuModuleLoadData", 300 * MS)
    for _ in range(10):
        r.kernel(name=ADD, dur=50.0, op="aten::add", dims=((64, 64),))
    return r


def capture(hip):
    r = Recording(MI300X if hip else H100)
    api = "hip" if hip else "cuda"
    r.kernel(name=ADD, dur=5.0, op="aten::fill_")
    r.host = r.device + 20.0
    r.call(f"{api}StreamBeginCapture", 5.0)
    for _ in range(100):
        r.op("aten::mm", 450.0, [[64, 64], [64, 64]])
        r.call(f"{api}LaunchKernel", 5.0)
    r.call(f"{api}StreamEndCapture", 900.0)
    r.call(f"{api}GraphInstantiateWithFlags", 700.0)
    r.kernel(name=ADD, dur=5.0, op="aten::fill_")
    return r


@recording("capture_of_a_graph.json")
def capture_of_a_graph():
    return capture(False)


@recording("capture_of_a_graph_rocm.json")
def capture_of_a_graph_rocm():
    return capture(True)


@recording("first_call.json")
def first_call():
    r = Recording()
    r.kernel(name=ADD, dur=50.0, op="aten::add", dims=((64, 64),))
    r.call("cuCtxCreate", 500 * MS)
    for _ in range(10):
        r.kernel(name=ADD, dur=50.0, op="aten::add", dims=((64, 64),))
    return r


# ---- the recording lacks something -----------------------------------------------------------------------------------
@recording("lost_kernels.json")
def lost_kernels():
    r = steps(Recording(), products(4, 2 * MS))
    lost = {
        e["args"]["correlation"]
        for e in r.events
        if e["name"] == "cudaLaunchKernel" and e["ts"] < 12_000.0
    }
    r.events = [
        e for e in r.events if e.get("cat") != "kernel" or e["args"]["correlation"] not in lost
    ]
    return r


@recording("device_not_recorded.json")
def device_not_recorded():
    r = steps(Recording(), products(4, 2 * MS))
    r.events = [e for e in r.events if e.get("cat") not in ("kernel", "gpu_memcpy")]
    return r


@recording("calls_without_work.json")
def calls_without_work():
    r = Recording()
    r.events = []
    for name, dur in (
        ("cudaGetDeviceProperties", 900.0),
        ("cuInit", 20 * MS),
        ("cudaStreamCreate", 300.0),
    ):
        r.call(name, dur)
    return r


@recording("no_host_rows.json")
def no_host_rows():
    r = steps(Recording(), products(4, 2 * MS))
    r.events = [e for e in r.events if e.get("cat") in ("kernel", "gpu_memcpy")]
    return r


@recording("waits_for_work_before.json")
def waits_for_work_before():
    r = Recording()
    r.call("cudaStreamWaitEvent", 3.0)
    begin = r.host
    r.op("aten::mm", 100.0, [[64, 64], [64, 64]])
    r.host = begin + 10.0
    r.call("cudaLaunchKernel", 5.0)
    r.on_device(GEMM, 2 * MS, r.host + 400 * MS)
    for _ in range(10):
        r.kernel(dur=2 * MS)
    return r


@recording("gaps_in_a_graph.json")
def gaps_in_a_graph():
    def body(r, _):
        r.call("hipGraphLaunch", 60.0)
        at = r.host + 10.0
        for _ in range(6):
            r.on_device("Cijk_gemm", 1 * MS, at)
            at = r.device + 0.6 * MS

    return steps(Recording(MI300X), body)


@recording("products_in_a_graph.json")
def products_in_a_graph():
    def body(r, _):
        r.kernel(dur=1 * MS)
        r.call("cudaGraphLaunch", 20.0)
        for _ in range(9):
            r.on_device(GEMM, 1 * MS)
        r.copy()

    return steps(Recording(), body)


@recording("kernel_beyond_the_end.json")
def kernel_beyond_the_end():
    r = steps(Recording(), products(4, 2 * MS))
    kernels = [e for e in r.events if e.get("cat") == "kernel"]
    kernels[5]["dur"] = 900 * MS
    return r


@recording("no_categories.json")
def no_categories():
    r = steps(Recording(), products(4, 2 * MS))
    for e in r.events:
        e.pop("cat", None)
    return r


@recording("unknown_categories.json")
def unknown_categories():
    r = steps(Recording(), products(4, 2 * MS))
    for e in r.events:
        if e["ph"] == "X":
            e["cat"] = "mine"
    return r


@recording("window_without_steps.json")
def window_without_steps():
    return steps(Recording(), products(4, 2 * MS), mark=False)


@recording("cut.json")
def cut():
    text = steps(Recording(), products(4, 2 * MS)).text()
    return text[: len(text) * 3 // 4]


@recording("cut.json.gz")
def cut_gz():
    text = steps(Recording(), products(4, 2 * MS)).text().encode()
    return gzip.compress(text, mtime=0)[:-300]


@recording("only_collectives.json")
def only_collectives():
    r = Recording(rank=0, world=2)
    for n in range(20):
        r.host += 2 * MS
        r.collective(1 * MS, seq=n)
    r.events = [e for e in r.events if e["cat"] == "kernel"]
    return r


# Only the device was recorded, and step() was called right after the recording began.
@recording("mark_before_the_work.json")
def mark_before_the_work():
    r = steps(Recording(), products(4, 2 * MS), count=3, mark=False)
    r.events = [e for e in r.events if e["cat"] == "kernel"]
    r.step(0, 990.0, 1020.0)
    return r


# As an example plugin of NCCL writes its calls.
@recording("asynchronous_rows.json")
def asynchronous_rows():
    rows = [
        {"name": "AllReduce", "cat": "COLL", "ph": ph, "id": 0, "pid": 7, "tid": 1, "ts": ts}
        for ph, ts in (("b", 10.0), ("e", 90.0))
    ]
    return json.dumps(rows)


@recording("no_correlation.json")
def no_correlation():
    r = steps(Recording(), products())
    for e in r.events:
        if e["cat"] == "kernel":
            e["args"].pop("correlation")
    return r


@recording("kernels_before_their_launch.json")
def kernels_before_their_launch():
    r = steps(Recording(), products())
    for e in r.events:
        if e["cat"] == "kernel":
            e["ts"] -= 30
    return r
