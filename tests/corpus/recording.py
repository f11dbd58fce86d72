# SPDX-License-Identifier: Apache-2.0
"""Small recordings as torch.profiler writes them, for tests: steps of a host that launches kernels on a stream."""

import gzip
import json

MS = 1000.0  # microseconds
GEMM = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas"
ADD = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, "
    "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)"
)
H100 = ("NVIDIA H100 80GB HBM3", 85_029_158_912, 9, 0, 132)
MI300X = ("AMD Instinct MI300X", 206_141_652_992, 9, 4, 304)


class Recording:
    """One rank's recording. Instants are microseconds; `host` and `device` are when each is free."""

    def __init__(
        self, device=H100, rank=None, world=None, groups=None, base=1_759_300_074_000_000_000
    ):
        self.events = []
        self.host = 1000.0
        self.device = 1000.0
        self.correlation = 10
        self.external = 100
        self.hip = device is not None and device[0].startswith("AMD")
        self.head = {"schemaVersion": 1, "deviceProperties": []}
        if device is not None:
            name, memory, major, minor, units = device
            self.head["deviceProperties"] = [
                {
                    "id": 0,
                    "name": name,
                    "totalGlobalMem": memory,
                    "computeMajor": major,
                    "computeMinor": minor,
                    "warpSize": 64 if self.hip else 32,
                    "numSms": units,
                }
            ]
            self.head.update(
                {"hip_runtime_version": 60342131} if self.hip else {"cuda_runtime_version": 12080}
            )
        if rank is not None:
            world = world or 1
            self.head["distributedInfo"] = {
                "backend": "nccl",
                "rank": rank,
                "world_size": world,
                "pg_count": 1,
                "pg_config": groups
                or [
                    {
                        "pg_name": "0",
                        "pg_desc": "default_pg",
                        "backend_config": "cuda:nccl",
                        "pg_size": world,
                        "ranks": list(range(world)),
                    }
                ],
            }
        self.head["baseTimeNanoseconds"] = base

    # ---- rows --------------------------------------------------------------------------------------------------------
    def add(self, cat, name, start, dur, pid=500, tid=500, **args):
        row = {
            "ph": "X",
            "name": name,
            "pid": pid,
            "tid": tid,
            "ts": round(start, 3),
            "dur": round(dur, 3),
            "args": args,
        }
        if cat is not None:
            row["cat"] = cat
        self.events.append(row)
        return row

    def op(self, name, dur, dims=None, types=None, **args):
        """An operator of the host that takes `dur` and calls nothing."""
        self.external += 1
        args["External id"] = self.external
        if dims is not None:
            args["Input Dims"] = dims
            args["Input type"] = types or ["c10::BFloat16"] * len(dims)
        row = self.add("cpu_op", name, self.host, dur, **args)
        self.host += dur
        return row

    def call(self, name, dur, **args):
        self.correlation += 1
        row = self.add("cuda_runtime", name, self.host, dur, correlation=self.correlation, **args)
        self.host += dur
        return row

    def on_device(
        self, name, dur, start=None, cat="kernel", stream=7, device=0, correlation=None, **args
    ):
        """Work on a stream, when it is free or at `start`."""
        start = max(self.device, start if start is not None else self.host)
        row = self.add(
            cat,
            name,
            start,
            dur,
            pid=device,
            tid=stream,
            device=device,
            stream=stream,
            correlation=self.correlation if correlation is None else correlation,
            **args,
        )
        self.device = start + dur
        return row

    def kernel(
        self,
        name=GEMM,
        dur=1000.0,
        op="aten::mm",
        dims=((4096, 4096), (4096, 4096)),
        types=None,
        host=10.0,
        launch=5.0,
        call=None,
        **args,
    ):
        """An operator with one launch; the kernel begins when the stream is free."""
        begin = self.host
        if op is not None:
            row = self.op(op, host, [list(d) for d in dims] if dims else None, types)
            args.setdefault("External id", row["args"]["External id"])
        self.host = begin + 2.0
        self.call(call or ("hipLaunchKernel" if self.hip else "cudaLaunchKernel"), launch)
        self.on_device(name, dur, self.host, **args)
        self.host = max(begin + host, self.host)

    def copy(
        self,
        name="Memcpy DtoH (Device -> Pageable)",
        dur=10.0,
        size=4,
        blocks=True,
        op="aten::item",
    ):
        """A copy between host and device; a blocking one returns when the device has done all before it."""
        begin = self.host
        self.correlation += 1
        start = max(self.device, self.host + 3.0)
        end = start + dur if blocks else self.host + 5.0
        if op:
            self.external += 1
            self.add("cpu_op", op, begin, end - begin + 2.0, **{"External id": self.external})
        self.add(
            "cuda_runtime",
            "hipMemcpyWithStream" if self.hip else "cudaMemcpyAsync",
            begin + 1.0,
            end - begin - 1.0,
            correlation=self.correlation,
        )
        if blocks and not self.hip:
            self.add("cuda_runtime", "cudaStreamSynchronize", end - 0.5, 1.0, correlation=0)
        self.add(
            "gpu_memcpy",
            name,
            start,
            dur,
            pid=0,
            tid=7,
            device=0,
            stream=7,
            correlation=self.correlation,
            bytes=size,
        )
        self.device = start + dur
        self.host = end + 2.0

    def collective(
        self,
        dur,
        start=None,
        name="ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
        kind="allreduce",
        elements=1 << 20,
        seq=0,
        size=2,
        rank_list="[0, 1]",
        stream=20,
    ):
        """A collective on its own stream, with NCCL's metadata."""
        meta = {
            "Collective name": kind,
            "In msg nelems": elements,
            "Out msg nelems": elements,
            "Group size": size,
            "dtype": "BFloat16",
            "Process Group Name": "0",
            "Process Group Description": "default_pg",
            "Process Group Ranks": rank_list,
            "Seq": seq,
        }
        self.external += 1
        self.add(
            "cpu_op",
            "record_param_comms",
            self.host,
            12.0,
            **{"External id": self.external},
            **meta,
        )
        self.host += 3.0
        self.call("cudaLaunchKernelExC", 5.0)
        begin = self.host if start is None else start
        self.add(
            "kernel",
            name,
            begin,
            dur,
            pid=0,
            tid=stream,
            device=0,
            stream=stream,
            correlation=self.correlation,
            **meta,
        )
        self.host += 6.0
        return begin + dur

    def step(self, number, begin, end, **args):
        self.add("user_annotation", f"ProfilerStep#{number}", begin, end - begin, **args)

    # ---- files -------------------------------------------------------------------------------------------------------
    def text(self):
        names = [
            {
                "ph": "M",
                "name": "process_name",
                "pid": 500,
                "tid": 0,
                "ts": 0,
                "args": {"name": "python"},
            }
        ]
        return json.dumps({**self.head, "traceEvents": names + self.events})

    def write(self, path):
        if str(path).endswith(".gz"):
            path.write_bytes(gzip.compress(self.text().encode(), mtime=0))
        else:
            path.write_text(self.text(), encoding="utf-8")
