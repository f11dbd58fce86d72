# SPDX-License-Identifier: Apache-2.0
"""A linear layer whose three products run in fp8, each tensor scaled by its largest value."""
import torch
from torch import nn


def narrow(x, dtype):
    """x in dtype, and what a value of it is worth."""
    scale = x.abs().amax().float().clamp(min=1e-12) / torch.finfo(dtype).max
    return (x / scale).to(dtype), scale


def product(a, b, dtype_a=torch.float8_e4m3fn, dtype_b=torch.float8_e4m3fn):
    """a b in bf16. cuBLAS wants a by rows and b by columns."""
    a, scale_a = narrow(a.contiguous(), dtype_a)
    b, scale_b = narrow(b.t().contiguous(), dtype_b)
    return torch._scaled_mm(a, b.t(), scale_a, scale_b, out_dtype=torch.bfloat16,
                            use_fast_accum=True)


class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return product(x, weight.t())

    @staticmethod
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        wide = torch.float8_e5m2
        return product(gradient, weight, wide), product(gradient.t(), x, wide)


class Fp8Linear(nn.Linear):
    def forward(self, x):
        y = Product.apply(x.flatten(0, -2), self.weight).unflatten(0, x.shape[:-1])
        return y if self.bias is None else y + self.bias
