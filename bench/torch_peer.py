#!/usr/bin/env python3
"""The same training step as bench/train_step by PyTorch in eager mode on one thread, in turns with it.

    python bench/torch_peer.py [--program build/release/bench/train_step] [--model A|B] [--type f32|bf16]
                               [--rounds 7] [--steps 3] [--threads 1]

A GPT-2 with scaled_dot_product_attention and torch.optim.AdamW(fused=True), PyTorch's fastest eager
forms of them; weights and tokens are random, as their values do not change the time. bf16 is
autocast over f32 weights. Prints milliseconds a step (processor time and wall) of both and the ratio
of each round: min, median, max."""

import argparse
import time

import torch
from torch import nn
from torch.nn import functional as F

from turns import Served, print_ratios

MODELS = {  # layers, heads, channels, padded vocabulary, batch, tokens
    "A": (4, 4, 256, 4096, 8, 128),
    "B": (12, 12, 768, 50304, 4, 64),
}


class Block(nn.Module):
    def __init__(self, channels, heads):
        super().__init__()
        self.heads = heads
        self.ln_1 = nn.LayerNorm(channels)
        self.c_attn = nn.Linear(channels, 3 * channels)
        self.c_proj = nn.Linear(channels, channels)
        self.ln_2 = nn.LayerNorm(channels)
        self.c_fc = nn.Linear(channels, 4 * channels)
        self.mlp_proj = nn.Linear(4 * channels, channels)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (part.view(b, t, self.heads, c // self.heads).transpose(1, 2)
                   for part in self.c_attn(self.ln_1(x)).split(c, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.c_proj(y.transpose(1, 2).reshape(b, t, c))
        return x + self.mlp_proj(F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    def __init__(self, layers, heads, channels, vocab, context):
        super().__init__()
        self.wte = nn.Embedding(vocab, channels)
        self.wpe = nn.Embedding(context, channels)
        self.blocks = nn.ModuleList(Block(channels, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(channels)
        for p in self.parameters():
            if p.dim() == 2:
                nn.init.normal_(p, std=0.02)

    def forward(self, tokens, targets):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.ln_f(x), self.wte.weight)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))


class TorchStep:
    """`sharded` turns a model into the trained one; `optimizer` gets its parameters."""

    def __init__(self, name, bf16=False, rank=0, sharded=lambda model: model, optimizer=torch.optim.AdamW):
        layers, heads, channels, vocab, batch, tokens = MODELS[name]
        torch.manual_seed(1)
        self.model = sharded(Gpt2(layers, heads, channels, vocab, tokens))
        self.optimizer = optimizer(self.model.parameters(), lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
        torch.manual_seed(2 + rank)
        self.tokens = torch.randint(vocab, (batch, tokens))
        self.targets = torch.randint(vocab, (batch, tokens))
        self.bf16 = bf16
        self.loss = None  # of the last step before its update

    def run(self, steps):
        cpu, wall = time.process_time(), time.perf_counter()
        for _ in range(steps):
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.bf16):
                self.loss = self.model(self.tokens, self.targets)
            self.loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
        return (time.process_time() - cpu) * 1e3 / steps, (time.perf_counter() - wall) * 1e3 / steps


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default="build/release/bench/train_step")
    parser.add_argument("--model", choices=MODELS, default="A")
    parser.add_argument("--type", choices=["f32", "bf16"], default="f32")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    ours = Served(args.program, "--model", args.model, "--type", args.type, "--serve")
    theirs = TorchStep(args.model, args.type == "bf16")
    ours.run(2)
    theirs.run(2)
    rows = [(ours.run(args.steps), theirs.run(args.steps)) for _ in range(args.rounds)]
    print(f"model {args.model} {args.type}, torch {torch.__version__}, {args.threads} thread(s), "
          f"{args.rounds} rounds of {args.steps} steps")
    print_ratios("PyTorch", rows)


if __name__ == "__main__":
    main()
