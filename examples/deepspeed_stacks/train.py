#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small transformer with DeepSpeed ZeRO-3 on the CPU (gloo). record.py starts one process per rank.

    train.py READY SECONDS     READY is written after the warm-up steps; the training ends after SECONDS

The environment has RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT.
"""
import itertools
import os
import sys
import time
from pathlib import Path

import deepspeed
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

LAYERS, WIDTH, HEADS, VOCAB, SEQUENCE, BATCH = 4, 256, 4, 1024, 128, 4
WARM_UP = 3  # DeepSpeed prefetches after it has seen a whole step
CONFIG = {
    "train_micro_batch_size_per_gpu": BATCH,
    "zero_allow_untested_optimizer": True,
    "zero_optimization": {"stage": 3},
    "steps_per_print": 1_000_000,
}


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x):
        batch, sequence, width = x.shape
        q, k, v = self.qkv(x).view(batch, sequence, 3, HEADS, width // HEADS).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, sequence, width))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.after = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        x = x + self.attention(self.before(x))
        return x + self.down(F.gelu(self.up(self.after(x))))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCAB, bias=False)

    def forward(self, tokens, targets):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=True)
        return F.cross_entropy(self.head(x).flatten(0, 1), targets.flatten())


def main(ready, seconds):
    torch.set_num_threads(1)
    deepspeed.init_distributed(dist_backend="gloo")
    torch.manual_seed(0)
    with deepspeed.zero.Init(dtype=torch.float32):
        model = Transformer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=CONFIG)
    tokens = torch.Generator().manual_seed(int(os.environ["RANK"]))
    end = None
    for step in itertools.count():
        if step == WARM_UP:
            end = time.monotonic() + seconds
            ready.write_text("trains\n")
        if end is not None and time.monotonic() > end:
            break
        batch = torch.randint(VOCAB, (BATCH, SEQUENCE + 1), generator=tokens)
        loss = engine(batch[:, :-1], batch[:, 1:])
        engine.backward(loss)
        engine.step()


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]))
