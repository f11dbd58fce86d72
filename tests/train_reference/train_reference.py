#!/usr/bin/env python3
"""Writes losses.txt: the loss of 20 AdamW steps of a GPT-2 and a Llama by Hugging Face's models on
PyTorch, in f32 and f64 on the CPU. Weights and tokens come from the same integers as in
train_reference_test.cc. Needs torch and transformers:  python train_reference.py > losses.txt"""

import torch
import transformers

STEPS, BATCH, TOKENS, VOCAB = 20, 4, 24, 97


class Integers:
    """The linear congruential generator of Numerical Recipes; its upper 24 bits."""

    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state * 1664525 + 1013904223) & 0xFFFFFFFF
        return self.state >> 8

    def weight(self):  # exact in f32: within 1/8 of 0
        return (self.next() - 0x800000) / 2.0**26

    def token(self):
        return self.next() % VOCAB


def gpt2():
    config = transformers.GPT2Config(
        vocab_size=VOCAB, n_positions=TOKENS + 3, n_embd=48, n_layer=3, n_head=4, n_inner=160,
        resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, layer_norm_epsilon=1e-5,
        bos_token_id=0, eos_token_id=0)
    return transformers.GPT2LMHeadModel(config)


def llama():
    config = transformers.LlamaConfig(
        vocab_size=VOCAB, hidden_size=48, intermediate_size=104, num_hidden_layers=3,
        num_attention_heads=6, num_key_value_heads=2, max_position_embeddings=TOKENS + 3,
        rms_norm_eps=1e-5, tie_word_embeddings=False, bos_token_id=0, eos_token_id=0,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0}, attention_dropout=0)
    return transformers.LlamaForCausalLM(config)


def set_weights(model, order):
    """Each parameter from the integers, in our order and layout ([out, in]); norms around 1."""
    integers = Integers(1)
    named = dict(model.named_parameters())
    assert sorted(order) == sorted(named), set(order) ^ set(named)
    for name in order:
        p = named[name]
        conv1d = p.dim() == 2 and ".h." in name
        shape = list(reversed(p.shape)) if conv1d else list(p.shape)
        norm = p.dim() == 1 and name.endswith("weight")
        values = torch.tensor([integers.weight() + (1 if norm else 0) for _ in range(p.numel())],
                              dtype=torch.float64).reshape(shape)
        with torch.no_grad():
            p.copy_(values.t() if conv1d else values)


def gpt2_order(layers):
    names = ["transformer.wte.weight", "transformer.wpe.weight", "transformer.ln_f.weight",
             "transformer.ln_f.bias"]
    for i in range(layers):
        for part in ["ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj"]:
            names += [f"transformer.h.{i}.{part}.weight", f"transformer.h.{i}.{part}.bias"]
    return names


def llama_order(layers):
    names = ["model.embed_tokens.weight"]
    for i in range(layers):
        for part in ["input_layernorm", "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
                     "self_attn.o_proj", "post_attention_layernorm", "mlp.gate_proj", "mlp.up_proj",
                     "mlp.down_proj"]:
            names.append(f"model.layers.{i}.{part}.weight")
    return names + ["model.norm.weight", "lm_head.weight"]


def losses(make, order, dtype):
    model = make().to(dtype)
    set_weights(model, order)
    decay = [p for p in model.parameters() if p.dim() == 2]
    plain = [p for p in model.parameters() if p.dim() != 2]
    optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1},
                                   {"params": plain, "weight_decay": 0}],
                                  lr=2.0**-8, betas=(0.9, 0.95), eps=1e-8)
    found = []
    for step in range(STEPS):
        integers = Integers(2 + step % 4)
        tokens = torch.tensor([[integers.token() for _ in range(TOKENS + 1)] for _ in range(BATCH)])
        logits = model(tokens[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(logits.reshape(-1, VOCAB), tokens[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def main():
    torch.set_num_threads(1)
    print(f"# torch {torch.__version__.split('+')[0]}, transformers {transformers.__version__}: "
          "model step loss_f32 loss_f64")
    for name, make, order in [("gpt2", gpt2, gpt2_order(3)), ("llama", llama, llama_order(3))]:
        single = losses(make, order, torch.float32)
        double = losses(make, order, torch.float64)
        for step, (a, b) in enumerate(zip(single, double)):
            print(f"{name} {step} {a:.9f} {b:.12f}")


main()
