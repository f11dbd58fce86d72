#!/usr/bin/env python3
"""The training step of bench/train_step by llm.c's CPU trainer (train_gpt2.c) on one thread, in turns with it.

    python3 bench/llmc_peer.py LLM.C [--cc gcc] [--build build/release] [--rounds 7] [--steps 3]

LLM.C is a checkout of karpathy/llm.c. Its forward, zero_grad, backward and update are driven by a main of our own,
built with the flags of its Makefile. First both train a small network (4 layers of 256 channels, 256 tokens in the
vocabulary) from one checkpoint, which `stepscope train --export` writes, on the same tokens: their losses have to
agree. Then model A (4096 tokens in the vocabulary), whose weights are random, as they do not change the time.
Setting up and the first step of each are not counted. Prints milliseconds a step (processor time and wall) of both
and the ratio of each round: min, median, max."""

import argparse
import array
import json
import os
import random
import subprocess
import tempfile

from turns import Served, print_ratios

BATCH, TOKENS = 8, 128
FLAGS = ["-Ofast", "-march=native", "-fopenmp", "-DOMP", "-Wno-unused-result", "-Wno-ignored-pragmas",
         "-Wno-unknown-attributes"]
DRIVER = """
// driver CHECKPOINT TOKENS BATCH LENGTH: trains on the same BATCH * LENGTH tokens again and again. Each line "N" is
// answered, after N steps, with "<processor ms> <wall ms> <loss of the last step, before its update>".
#define TESTING  // leaves its main out
#include "train_gpt2.c"

static double now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return 1e3 * t.tv_sec + 1e-6 * t.tv_nsec;
}

int main(int count, char** words) {
    if (count != 5) return 2;
    FILE* answers = fdopen(dup(1), "w");
    dup2(2, 1);  // what it prints of itself
    int batch = atoi(words[3]), length = atoi(words[4]);
    int* tokens = mallocCheck((batch * length + 1) * sizeof(int));
    FILE* file = fopenCheck(words[2], "rb");
    freadCheck(tokens, sizeof(int), batch * length + 1, file);
    GPT2 model;
    gpt2_build_from_checkpoint(&model, words[1]);
    char line[32];
    for (int step = 0; fgets(line, sizeof line, stdin);) {
        double processor = now(CLOCK_PROCESS_CPUTIME_ID), wall = now(CLOCK_MONOTONIC);
        for (int last = step + atoi(line); step < last;) {
            gpt2_forward(&model, tokens, tokens + 1, batch, length);
            gpt2_zero_grad(&model);
            gpt2_backward(&model);
            gpt2_update(&model, 1e-4f, 0.9f, 0.999f, 1e-8f, 0.0f, ++step);
        }
        fprintf(answers, "%.6f %.6f %.6f\\n", now(CLOCK_PROCESS_CPUTIME_ID) - processor, now(CLOCK_MONOTONIC) - wall,
                model.mean_loss);
        fflush(answers);
    }
    return 0;
}
"""


def build(sources, compiler, folder):
    with open(f"{folder}/driver.c", "w", encoding="utf-8") as file:
        file.write(DRIVER)
    subprocess.run([compiler, *FLAGS, f"-I{sources}", "driver.c", "-lm", "-o", "driver"], cwd=folder, check=True)


def write_tokens(path, vocabulary):
    """One batch, each sequence's last target the next one's first input."""
    draw = random.Random(1)
    with open(path, "wb") as file:
        array.array("i", (draw.randrange(vocabulary) for _ in range(BATCH * TOKENS + 1))).tofile(file)


def write_model_a(path):
    """docs/reference/checkpoints.md, "Weights of other tools"; engine/zero/checkpoint/llmc_file.h."""
    layers, heads, c, vocabulary = 4, 4, 256, 4096
    draw = random.Random(1)
    header = [20240326, 3, TOKENS, vocabulary, layers, heads, c, vocabulary]
    norm = [(c, 1), (c, 0)]
    attention = [(3 * c * c, None), (3 * c, 0), (c * c, None), (c, 0)]
    feed_forward = [(4 * c * c, None), (4 * c, 0), (4 * c * c, None), (c, 0)]
    kinds = [(vocabulary * c, None), (TOKENS * c, None)]
    kinds += [(layers * count, value) for count, value in norm + attention + norm + feed_forward] + norm
    with open(path, "wb") as file:
        array.array("i", header + [0] * (256 - len(header))).tofile(file)
        for count, value in kinds:
            values = [value] * count if value is not None else (draw.gauss(0, 0.02) for _ in range(count))
            array.array("f", values).tofile(file)


def served(folder, checkpoint, tokens):
    return Served(f"{folder}/driver", checkpoint, tokens, str(BATCH), str(TOKENS),
                  env={**os.environ, "OMP_NUM_THREADS": "1"}, stderr=subprocess.DEVNULL)


def loss_apart(program, folder, steps=5):
    tokens, start = f"{folder}/tokens", f"{folder}/start.bin"
    write_tokens(tokens, 256)
    train = [program, "train", "--preset", "gpt2-tiny", "--ranks", "1", "--micro-batch", str(BATCH), "--seq", str(TOKENS),
             "--data", tokens, "--data-format", "u32", "--lr-schedule", "constant", "--lr-warmup", "0", "--beta2", "0.999",
             "--weight-decay", "0", "--clip", "0", "--quiet"]
    quiet = {"check": True, "stdout": subprocess.DEVNULL}
    subprocess.run([*train, "--steps", "1", "--lr", "0", "--export", start], **quiet)
    subprocess.run([*train, "--steps", str(steps), "--lr", "1e-4", "--init-from", start, "--json", f"{folder}/json"],
                   **quiet)
    with open(f"{folder}/json", encoding="utf-8") as file:
        ours = [step["loss"] for step in json.load(file)["steps"]]
    llmc = served(folder, start, tokens)
    theirs = []
    for _ in ours:
        llmc.run(1)
        theirs.append(float(llmc.answer[2]))
    apart = max(abs(a - b) for a, b in zip(ours, theirs))
    print(f"{len(ours)} steps of both from one checkpoint: loss {ours[0]:.5f} to {ours[-1]:.5f}, llm.c "
          f"{theirs[0]:.5f} to {theirs[-1]:.5f}, at most {apart:.1g} apart")
    return apart


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sources")
    parser.add_argument("--cc", default="gcc")
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        build(os.path.abspath(args.sources), args.cc, folder)
        if loss_apart(f"{args.build}/stepscope", folder) > 1e-4:
            raise SystemExit("llm.c and stepscope do not train the same")
        write_model_a(f"{folder}/a.bin")
        write_tokens(f"{folder}/tokens", 4096)
        ours = Served(f"{args.build}/bench/train_step", "--model", "A", "--type", "f32", "--serve")
        theirs = served(folder, f"{folder}/a.bin", f"{folder}/tokens")
        ours.run(2)
        theirs.run(1)
        rows = [(ours.run(args.steps), theirs.run(args.steps)) for _ in range(args.rounds)]
    print(f"model A f32, llm.c built by {args.cc} {' '.join(FLAGS[:4])}, one thread, {args.rounds} rounds of "
          f"{args.steps} step(s)")
    print_ratios("llm.c", rows)


if __name__ == "__main__":
    main()
