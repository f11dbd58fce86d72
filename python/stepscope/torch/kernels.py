# SPDX-License-Identifier: Apache-2.0
"""Times kernels of PyTorch on one GPU, for `stepscope calibrate FILE --from OUT.jsonl`.

    python -m stepscope.torch.kernels OUT.jsonl [--device N] [--quick]

OUT.jsonl has one JSON object a line; docs/dev/file-formats.md#times-of-kernels names the fields. A
time is the median of calls that begin with a cold L2 and whose launch the host has made in advance.
A kernel that fails is a line with `error`. The whole takes about a minute and 12 GB of the GPU's
memory, --quick a third of both.

A device gives `name`, `units`, `place`, synchronize() and seconds_of(work). Gpu is one; tests have
another."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import dataclass

import torch
import torch.nn.functional as F

_FORMATS = {
    "bf16": torch.bfloat16,
    "fp8": getattr(torch, "float8_e4m3fn", None),
    "fp32": torch.float32,
}


@dataclass(frozen=True)
class Sizes:
    """What is measured. A product is rows x depth times depth x columns."""

    rows: tuple = (256, 1024, 4096, 16384)
    widths: tuple = (  # depth, columns
        (768, 2304),
        (768, 3072),
        (3072, 768),
        (1024, 4096),
        (2048, 3072),
        (2048, 16384),
        (8192, 2048),
        (4096, 6144),
        (4096, 28672),
        (14336, 4096),
        (8192, 8192),
        (2048, 128256),
        (768, 50257),
        (768, 50304),
        (5120, 1536),
        (7168, 2048),
    )
    # rows, depth, columns: the products of a backward pass whose vocabulary is no multiple of 8
    uneven: tuple = ((4096, 50257, 768), (768, 4096, 50257), (4096, 4096, 50257))
    grouped: tuple = ((16384, 2048, 768, 64), (4096, 2048, 1536, 64), (65536, 4096, 2048, 64))
    attention: tuple = (  # batch, heads, length, size
        (16, 12, 1024, 64),
        (2, 32, 2048, 64),
        (1, 32, 4096, 128),
        (1, 32, 8192, 128),
        (4, 24, 2048, 128),
    )
    pointwise: tuple = (1 << 20, 1 << 23, 1 << 26)  # elements
    parameters: tuple = ((64, 1 << 20), (16, 1 << 24))  # weights, elements of one
    copies: tuple = (1, 4, 16, 64, 256, 1024, 4096)  # MiB
    host_copies: int = 1024  # MiB, at most
    largest_fp32: int = 1 << 37  # multiply-adds
    launches: int = 1000


FULL = Sizes()
QUICK = Sizes(
    rows=(256, 2048),
    widths=((768, 3072), (2048, 3072), (8192, 2048), (4096, 14336)),
    uneven=((2048, 768, 50257), (2048, 50257, 768)),
    grouped=((8192, 2048, 1536, 64),),
    attention=((4, 16, 1024, 64), (1, 32, 2048, 128), (1, 32, 4096, 128)),
    pointwise=(1 << 20, 1 << 25),
    parameters=((64, 1 << 20), (8, 1 << 24)),
    copies=(1, 16, 256),
    host_copies=256,
    largest_fp32=1 << 33,
    launches=300,
)


class Gpu:
    def __init__(self, index: int):
        self.place = torch.device("cuda", index)
        torch.cuda.set_device(self.place)
        properties = torch.cuda.get_device_properties(self.place)
        self.name = properties.name
        self.units = properties.multi_processor_count
        self._flush = torch.empty(256 << 20, dtype=torch.uint8, device=self.place)

    def synchronize(self):
        torch.cuda.synchronize(self.place)

    def seconds_of(self, work, least=0.05):
        for _ in range(3):
            work()
        self.synchronize()
        times = []
        while len(times) < 5 or (sum(times) < least and len(times) < 50):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            self._flush.zero_()
            torch.cuda._sleep(200_000)  # the host gets ahead
            begin.record()
            work()
            end.record()
            end.synchronize()
            times.append(1e-3 * begin.elapsed_time(end))
        return sorted(times)[len(times) // 2]


def _random(device, *shape, dtype=torch.bfloat16, gradient=False):
    return torch.randn(shape, device=device.place).to(dtype).requires_grad_(gradient)


def _product(device, dtype, m, k, n):
    a, b = _random(device, m, k, dtype=dtype), _random(device, n, k, dtype=dtype)
    if dtype == _FORMATS["fp8"]:
        one = torch.ones((), device=device.place)
        return lambda: torch._scaled_mm(
            a, b.t(), one, one, out_dtype=torch.bfloat16, use_fast_accum=True
        )
    return lambda: a @ b.t()


def _products(device, sizes):
    shapes = [(m, k, n) for k, n in sizes.widths for m in sizes.rows]
    for name, dtype in _FORMATS.items():
        if dtype is None:
            continue
        for m, k, n in shapes + (list(sizes.uneven) if name == "bf16" else []):
            if (name == "fp8" and n % 16) or (name == "fp32" and m * k * n > sizes.largest_fp32):
                continue
            yield (
                f"{name}-{m}x{k}x{n}",
                "product",
                lambda name=name, dtype=dtype, m=m, k=k, n=n: dict(
                    format=name,
                    m=m,
                    k=k,
                    n=n,
                    s=device.seconds_of(_product(device, dtype, m, k, n)),
                ),
            )


def _grouped(device, sizes):
    for m, k, n, experts in sizes.grouped:

        def work(m=m, k=k, n=n, experts=experts):
            x, w = _random(device, m, k), _random(device, experts, k, n)
            ends = torch.arange(1, experts + 1, device=device.place, dtype=torch.int32)
            ends *= m // experts
            seconds = device.seconds_of(lambda: torch._grouped_mm(x, w, offs=ends))
            return dict(m=m, k=k, n=n, experts=experts, s=seconds)

        yield f"grouped-{m}x{k}x{n}", "grouped", work


def _attention(device, sizes):
    for batch, heads, length, size in sizes.attention:

        def work(batch=batch, heads=heads, length=length, size=size):
            q, k, v = (_random(device, batch, heads, length, size, gradient=True) for _ in range(3))

            def forward():
                return F.scaled_dot_product_attention(q, k, v, is_causal=True)

            y = forward()
            gradient = torch.randn_like(y)

            def backward():
                return torch.autograd.grad(y, (q, k, v), gradient, retain_graph=True)

            return dict(
                batch=batch,
                heads=heads,
                length=length,
                size=size,
                s=device.seconds_of(forward),
                backward_s=device.seconds_of(backward),
            )

        yield f"attention-{batch}x{heads}x{length}x{size}", "attention", work


def _pointwise(device, sizes):
    def add(count):
        x, y = _random(device, count), _random(device, count)
        return 6 * count, lambda: x + y

    def cast_add(count):  # a 16-bit gradient to its sum in 32 bits
        x, y = _random(device, count), torch.zeros(count, device=device.place)
        return 10 * count, lambda: y.add_(x)

    def half_of_rows(count):  # the gate of a joint product: every other part of memory
        x = _random(device, count // 1024, 2048).chunk(2, dim=-1)[0]
        return 4 * count, lambda: F.silu(x)

    for make in (add, cast_add, half_of_rows):
        for count in sizes.pointwise:

            def work(make=make, count=count):
                traffic, call = make(count)
                return dict(work=make.__name__, bytes=traffic, s=device.seconds_of(call))

            yield f"{make.__name__}-{count}", "pointwise", work


def _optimizer(device, sizes):
    """AdamW on 32-bit copies of 16-bit weights: update, copy to the weights, zero the gradients."""
    for weights, elements in sizes.parameters:

        def work(weights=weights, elements=elements):
            masters = [torch.zeros(elements, device=device.place) for _ in range(weights)]
            for master in masters:
                master.grad = torch.zeros_like(master)
            narrow = [master.bfloat16() for master in masters]
            adamw = torch.optim.AdamW(masters, lr=1e-4, fused=True)

            def step():
                adamw.step()
                torch._foreach_copy_(narrow, masters)
                torch._foreach_zero_([master.grad for master in masters])

            return dict(parameters=weights * elements, s=device.seconds_of(step))

        yield f"adamw-{weights}x{elements}", "optimizer", work


def _copies(device, sizes):
    pins = device.place.type == "cuda"
    for megabytes in sizes.copies:

        def work(count=megabytes << 20, host=megabytes <= sizes.host_copies):
            x = torch.empty(count, dtype=torch.uint8, device=device.place)
            y = torch.empty_like(x)
            figures = dict(bytes=count, device_s=device.seconds_of(lambda: y.copy_(x)))
            for name, pinned in (("pinned", True), ("pageable", False)) if host and pins else ():
                h = torch.empty(count, dtype=torch.uint8, pin_memory=pinned)
                figures[f"from_{name}_s"] = device.seconds_of(lambda h=h: x.copy_(h, True))
                figures[f"to_{name}_s"] = device.seconds_of(lambda h=h: h.copy_(x, True))
            return figures

        yield f"copy-{megabytes}MB", "copy", work


def _launches(device, sizes, clock):
    """Seconds of the host and of both together for one of many small calls in a row."""

    def work():
        x = torch.zeros(8, device=device.place)
        y = torch.zeros(64, 64, device=device.place, dtype=torch.bfloat16, requires_grad=True)
        figures = {}
        for name, call in (
            ("add", lambda: x.add_(1)),
            ("product_with_grad", lambda: y @ y),
            ("item", lambda: x.sum().item()),
        ):
            call()
            device.synchronize()
            begin = clock()
            for _ in range(sizes.launches):
                call()
            figures[f"{name}_host_s"] = (clock() - begin) / sizes.launches
            device.synchronize()
            figures[f"{name}_s"] = (clock() - begin) / sizes.launches
        return figures

    yield "launches", "launch", work


def lines(device, sizes=FULL, clock=time.perf_counter):
    """Yields one dictionary for each line, as soon as its kernel is measured."""
    about = dict(device=device.name, units=device.units, torch=torch.__version__)
    jobs = [
        *_products(device, sizes),
        *_grouped(device, sizes),
        *_attention(device, sizes),
        *_pointwise(device, sizes),
        *_optimizer(device, sizes),
        *_copies(device, sizes),
        *_launches(device, sizes, clock),
    ]
    for name, kind, work in jobs:
        begin = clock()
        try:
            figures = work()
        except Exception as error:  # a format or a kernel that this device or PyTorch lacks
            figures = dict(error=f"{type(error).__name__}: {error}"[:400])
        if device.place.type == "cuda":
            torch.cuda.empty_cache()
        yield dict(name=name, kind=kind, **about, **figures, took_s=round(clock() - begin, 2))


def write(path, device, sizes=FULL, clock=time.perf_counter):
    """Writes OUT.jsonl, under another name until it is whole. Returns (lines, lines that failed)."""
    count = failed = 0
    partial = f"{path}.part"
    with open(partial, "w", encoding="utf-8") as out:
        for line in lines(device, sizes, clock):
            out.write(json.dumps(line) + "\n")
            count += 1
            failed += "error" in line
    os.replace(partial, path)
    return count, failed


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="python -m stepscope.torch.kernels",
        description="Times kernels of PyTorch on one GPU, for stepscope calibrate --from.",
    )
    parser.add_argument("out", metavar="OUT.jsonl")
    parser.add_argument("--device", type=int, default=0, metavar="N", help="GPU (default 0)")
    parser.add_argument("--quick", action="store_true", help="fewer sizes, seconds only")
    options = parser.parse_args(arguments)
    if not torch.cuda.is_available():
        parser.exit(2, "stepscope.torch.kernels: PyTorch finds no GPU; run it where one is\n")
    if not 0 <= options.device < torch.cuda.device_count():
        parser.exit(
            2,
            f"stepscope.torch.kernels: --device {options.device}: PyTorch finds "
            f"{torch.cuda.device_count()} GPUs, from 0\n",
        )
    count, failed = write(options.out, Gpu(options.device), QUICK if options.quick else FULL)
    print(
        f"{options.out}: {count} kernels, {failed} of them failed; next: "
        f"stepscope calibrate MACHINE.json --from {options.out}",
        file=sys.stderr,
    )


if __name__ == "__main__":
    main()
