# SPDX-License-Identifier: Apache-2.0
"""Three language models, small enough for one GPU: a GPT-2, a Llama, and a Llama whose feed-forward
parts are mixtures of experts. Shapes are those of Hugging Face configs, which `stepscope predict`
reads too (see `config`)."""
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


@dataclass(frozen=True)
class Shape:
    """Sizes of a model. kv_heads below heads shares keys; experts above 0 makes a mixture."""

    kind: str = "llama"
    layers: int = 12
    width: int = 768
    heads: int = 12
    kv_heads: int = 12
    inner: int = 3072
    vocab: int = 50304
    experts: int = 0
    chosen: int = 0
    dropout: float = 0.0


SHAPES = {
    "gpt2": Shape("gpt2", 12, 768, 12, 12, 3072, 50257, dropout=0.1),
    "gpt2-medium": Shape("gpt2", 24, 1024, 16, 16, 4096, 50257, dropout=0.1),
    "llama-1b": Shape("llama", 16, 2048, 32, 8, 8192, 128256),
    "llama-8b-4-layers": Shape("llama", 4, 4096, 32, 8, 14336, 128256),
    "llama-wide": Shape("llama", 8, 3072, 24, 24, 8192, 32000),
    "llama-narrow": Shape("llama", 24, 1024, 16, 16, 2816, 32000),
    "mixture": Shape("qwen3_moe", 4, 2048, 32, 4, 768, 151936, experts=64, chosen=8),
    "tiny": Shape("llama", 2, 128, 4, 2, 256, 512),
    "tiny-gpt2": Shape("gpt2", 2, 128, 4, 4, 512, 512, dropout=0.1),
    "tiny-mixture": Shape("qwen3_moe", 2, 128, 4, 2, 64, 512, experts=8, chosen=2),
}


def config(shape, sequence):
    """The Hugging Face config.json of a shape."""
    if shape.kind == "gpt2":
        return dict(model_type="gpt2", n_layer=shape.layers, n_embd=shape.width,
                    n_head=shape.heads, n_inner=shape.inner, vocab_size=shape.vocab,
                    n_positions=sequence, activation_function="gelu_new",
                    attn_pdrop=0.0, resid_pdrop=shape.dropout, embd_pdrop=shape.dropout,
                    tie_word_embeddings=True)
    sizes = dict(model_type=shape.kind, num_hidden_layers=shape.layers, hidden_size=shape.width,
                 num_attention_heads=shape.heads, num_key_value_heads=shape.kv_heads,
                 head_dim=shape.width // shape.heads, intermediate_size=shape.inner,
                 vocab_size=shape.vocab, max_position_embeddings=sequence, hidden_act="silu",
                 rms_norm_eps=1e-5, tie_word_embeddings=False)
    if shape.experts:
        sizes.update(num_experts=shape.experts, num_experts_per_tok=shape.chosen,
                     moe_intermediate_size=shape.inner, decoder_sparse_step=1,
                     mlp_only_layers=[], norm_topk_prob=True, router_aux_loss_coef=0.0)
    return sizes


class Rotary(nn.Module):
    """cos and sin of positions, for `rotate`."""

    def __init__(self, size, base=500000.0):
        super().__init__()
        self.size, self.base = size, base

    def forward(self, sequence, device, dtype):
        powers = torch.arange(0, self.size, 2, device=device).float() / self.size
        angles = torch.outer(torch.arange(sequence, device=device).float(), self.base**-powers)
        angles = torch.cat([angles, angles], dim=-1)
        return angles.cos().to(dtype), angles.sin().to(dtype)


def rotate(x, cos, sin):
    low, high = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-high, low], dim=-1) * sin


class Attention(nn.Module):
    def __init__(self, shape, linear):
        super().__init__()
        self.heads, self.kv_heads = shape.heads, shape.kv_heads
        self.size = shape.width // shape.heads
        bias = shape.kind == "gpt2"
        self.qkv = linear(shape.width, (shape.heads + 2 * shape.kv_heads) * self.size, bias=bias)
        self.out = linear(shape.width, shape.width, bias=bias)

    def forward(self, x, turn, probe):
        batch, sequence, _ = x.shape
        parts = [self.heads * self.size] + 2 * [self.kv_heads * self.size]
        q, k, v = (part.view(batch, sequence, -1, self.size).transpose(1, 2)
                   for part in self.qkv(x).split(parts, dim=-1))
        if turn is not None:
            q, k = rotate(q, *turn), rotate(k, *turn)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True,
                                           enable_gqa=self.kv_heads != self.heads)
        if probe:                                      # a value that the host waits for
            y.abs().max().item()
        return self.out(y.transpose(1, 2).reshape(batch, sequence, -1))


class GatedLinear(nn.Module):
    def __init__(self, shape, linear):
        super().__init__()
        self.up_gate = linear(shape.width, 2 * shape.inner, bias=False)
        self.down = linear(shape.inner, shape.width, bias=False)

    def forward(self, x):
        gate, up = self.up_gate(x).chunk(2, dim=-1)
        return self.down(F.silu(gate) * up)


class Gelu(nn.Module):
    def __init__(self, shape, linear):
        super().__init__()
        self.up = linear(shape.width, shape.inner)
        self.down = linear(shape.inner, shape.width)

    def forward(self, x):
        return self.down(F.gelu(self.up(x), approximate="tanh"))


class Mixture(nn.Module):
    """Each token goes to its best `chosen` experts; no token is dropped. Tokens are sorted by expert,
    and one grouped product serves all experts; `loop` multiplies expert by expert instead."""

    def __init__(self, shape, linear, loop):
        super().__init__()
        self.experts, self.chosen, self.loop = shape.experts, shape.chosen, loop
        self.router = nn.Linear(shape.width, shape.experts, bias=False)
        self.up_gate = nn.Parameter(torch.empty(shape.experts, shape.width, 2 * shape.inner))
        self.down = nn.Parameter(torch.empty(shape.experts, shape.inner, shape.width))
        nn.init.normal_(self.up_gate, std=0.02)
        nn.init.normal_(self.down, std=0.02)

    def products(self, x, weights, ends):
        if not self.loop:
            return torch._grouped_mm(x, weights, offs=ends)
        starts = [0, *ends.tolist()]
        return torch.cat([x[a:b] @ w for a, b, w in zip(starts, starts[1:], weights, strict=False)])

    def forward(self, x):
        tokens = x.reshape(-1, x.shape[-1])
        scores, picks = self.router(tokens).float().softmax(-1).topk(self.chosen, dim=-1)
        scores = (scores / scores.sum(-1, keepdim=True)).to(x.dtype)
        order = picks.flatten().argsort()
        counts = torch.bincount(picks.flatten(), minlength=self.experts)
        ends = counts.cumsum(0).to(torch.int32)
        rows = tokens.index_select(0, order // self.chosen)
        gate, up = self.products(rows, self.up_gate, ends).chunk(2, dim=-1)
        rows = self.products(F.silu(gate) * up, self.down, ends)
        rows = rows * scores.flatten().index_select(0, order).unsqueeze(-1)
        return torch.zeros_like(tokens).index_add(0, order // self.chosen, rows).view_as(x)


class Block(nn.Module):
    def __init__(self, shape, linear, loop):
        super().__init__()
        norm = nn.LayerNorm if shape.kind == "gpt2" else nn.RMSNorm
        self.norm1, self.norm2 = norm(shape.width), norm(shape.width)
        self.attention = Attention(shape, linear)
        if shape.experts:
            self.feed_forward = Mixture(shape, linear, loop)
        else:
            self.feed_forward = (Gelu if shape.kind == "gpt2" else GatedLinear)(shape, linear)
        self.dropout = nn.Dropout(shape.dropout) if shape.dropout else nn.Identity()

    def forward(self, x, turn, probe):
        x = x + self.dropout(self.attention(self.norm1(x), turn, probe))
        return x + self.dropout(self.feed_forward(self.norm2(x)))


class Model(nn.Module):
    """Returns the loss of (tokens, targets). `probe` makes each layer wait for the device."""

    def __init__(self, shape, sequence, linear=nn.Linear, recompute=False, loop=False, probe=False):
        super().__init__()
        self.shape, self.recompute, self.probe = shape, recompute, probe
        self.token = nn.Embedding(shape.vocab, shape.width)
        learned = shape.kind == "gpt2"
        self.position = nn.Embedding(sequence, shape.width) if learned else None
        self.rotary = None if learned else Rotary(shape.width // shape.heads)
        self.dropout = nn.Dropout(shape.dropout) if shape.dropout else nn.Identity()
        self.blocks = nn.ModuleList(Block(shape, linear, loop) for _ in range(shape.layers))
        self.norm = (nn.LayerNorm if learned else nn.RMSNorm)(shape.width)
        self.head = nn.Linear(shape.width, shape.vocab, bias=False)
        if learned:
            self.head.weight = self.token.weight
        nn.init.normal_(self.token.weight, std=0.02)

    def forward(self, tokens, targets):
        x = self.token(tokens)
        turn = None
        if self.position is not None:
            x = x + self.position.weight[: tokens.shape[1]]
        else:
            turn = self.rotary(tokens.shape[1], tokens.device, x.dtype)
        x = self.dropout(x)
        for block in self.blocks:
            if self.recompute:
                x = checkpoint(block, x, turn, self.probe, use_reentrant=False)
            else:
                x = block(x, turn, self.probe)
        scores = self.head(self.norm(x))
        return F.cross_entropy(scores.flatten(0, 1).float(), targets.flatten())
