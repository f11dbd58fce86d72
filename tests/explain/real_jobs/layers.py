# SPDX-License-Identifier: Apache-2.0
"""Layers whose operators take a given time, by sleeping or by products of matrices, and appear in a trace as operators
do: a custom operator of torch.library, or a torch.autograd.Function."""

import time

import torch
from torch import Tensor, nn

WIDTH, SIDE = 32, 224


class Work:
    """How long operators take on this rank. `seconds` is by (operator, backward)."""

    def __init__(self, injector, seconds, real=False):
        self.injector, self.seconds, self.real = injector, seconds, real
        self.matrix, self.product_s = torch.randn(SIDE, SIDE) / SIDE, 1e-3

    def calibrate(self):
        torch.mm(self.matrix, self.matrix)
        times = []
        for _ in range(15):
            begin = time.perf_counter()
            torch.mm(self.matrix, self.matrix)
            times.append(time.perf_counter() - begin)
        return sorted(times)[5]

    def do(self, operator, layer, backward):
        seconds = self.seconds[operator, backward] + self.injector.operator(
            operator, layer, backward
        )
        if not self.real:
            time.sleep(seconds)
            return
        for _ in range(max(1, round(seconds / self.product_s))):
            torch.mm(self.matrix, self.matrix)


WORK = None  # of this process


def use(work):
    global WORK
    WORK = work


def operator_of(name):
    """oracle::NAME, whose backward is oracle::NAME_backward."""

    @torch.library.custom_op("oracle::" + name, mutates_args=())
    def forward(x: Tensor, layer: int) -> Tensor:
        WORK.do(name, layer, False)
        return x.clone()

    @torch.library.custom_op("oracle::" + name + "_backward", mutates_args=())
    def backward(gradient: Tensor, layer: int) -> Tensor:
        WORK.do(name, layer, True)
        return gradient.clone()

    forward.register_fake(lambda x, layer: torch.empty_like(x))
    backward.register_fake(lambda gradient, layer: torch.empty_like(gradient))

    def setup(ctx, inputs, output):
        ctx.layer = inputs[1]

    forward.register_autograd(
        lambda ctx, gradient: (backward(gradient, ctx.layer), None), setup_context=setup
    )
    return forward


class Attention(torch.autograd.Function):
    NAME = "attention"

    @classmethod
    def forward(cls, ctx, x, layer):
        ctx.layer = layer
        WORK.do(cls.NAME, layer, False)
        return x.clone()

    @classmethod
    def backward(cls, ctx, gradient):
        WORK.do(cls.NAME, ctx.layer, True)
        return gradient, None


class Mlp(Attention):
    NAME = "mlp"


@torch.library.custom_op("oracle::update", mutates_args=())
def update(x: Tensor, seconds: float) -> Tensor:
    time.sleep(seconds)
    return x.clone()


OPERATORS = {
    "custom": {n: operator_of(n) for n in ("attention", "mlp")},
    "function": {"attention": Attention.apply, "mlp": Mlp.apply},
}


class Block(nn.Module):
    """Norm, up, down and a residual, with two timed operators. `style` is a key of OPERATORS."""

    def __init__(self, layer, width=WIDTH, style="custom"):
        super().__init__()
        self.layer = layer
        self.attention, self.mlp = OPERATORS[style]["attention"], OPERATORS[style]["mlp"]
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        h = self.attention(self.norm(x), self.layer)
        h = self.mlp(torch.relu(self.up(h)), self.layer)
        return x + self.down(h)


class Stack(nn.Module):
    """Some blocks; `checkpointing` computes them again in backward."""

    def __init__(self, layers, width=WIDTH, style="custom", checkpointing=False):
        super().__init__()
        self.blocks = nn.ModuleList(Block(n, width, style) for n in layers)
        self.checkpointing = checkpointing

    def forward(self, x):
        for block in self.blocks:
            if self.checkpointing and self.training and torch.is_grad_enabled():
                x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)
            else:
                x = block(x)
        return x
