# SPDX-License-Identifier: Apache-2.0
"""Mutations of command lines. Flags and the forms of their values are those of the pages of docs/reference/flags.md,
which a test compares with the program."""
import re

from mutate_bytes import STRINGS, WORDS_OF_NUMBERS

WORDS = [s for s in STRINGS if "\0" not in s and "/" not in s]  # no folder outside the case's is searched
# Flags that name outputs or programs, or by which a sound command takes long: they keep the values of the seed.
KEPT = {"--json", "--html", "--csv", "--perfetto", "--write-machine", "--run", "--keep", "--drive", "--metrics",
        "--trace", "--checkpoint", "--export", "--offload", "--deadline", "--launches", "--timeout", "--quick"}
# For train and calibrate only these flags are mutated.
QUICK = {"--seq", "--micro-batch", "--zero", "--lr", "--data-format", "--validation", "--dropout", "--seed", "--dtype",
         "--accumulation", "--min-lr", "--lr-schedule", "--beta1", "--beta2", "--eps", "--weight-decay", "--clip",
         "--on-nan", "--bucket", "--prefetch", "--recompute", "--plan-only", "--plan-rank", "--trace-steps", "--peak-tflops", "--prompt",
         "--machine", "--nodes", "--from", "--init-from", "--transport"}
FORMS = {
    "N": ["1", "2", "3", "8", "64"], "NUMBER": ["0.5", "2"], "TFLOPS": ["100", "0.5"], "FLOPS": ["1e12", "1e15"],
    "PERCENT": ["5%", "0%", "100%", "-1%", "200%", "1e300%", "nan%", "5", "%"],
    "SIZE": ["25MB", "16MiB", "1B", "0MB", "-1MB", "1e300GB", "99999999999TB", "1 MB"],
    "TIME": ["20ms", "3s", "-1s", "1e30s", "0s", "5", "s"], "A:B": ["1:2", ":2", "2:", "3", "5:1", ":", "-1:4"],
    "LIST": ["0", "0,1", "0-1", "1-0", "0-99999999", ",", "-1", "0,,1"], "FROM:UNTIL": ["1KB:1GB", "0s:1s", "1ms:", "2s:1s"],
    "FROM:TO": ["1KB:1GB", "64MiB", "1GB:1KB", "0:1", "1B:9999999TB"], "N|A:B": ["8", "1:64", "64:8", "1:1048576"],
    "NAME=V1,V2,...": ["zero=0,1", "tp=1,2,4", "tp=", "=1", "zero=7", "dtype=bf16,fp8", "micro_batch=1,1"],
    "NAME=VALUE,...": ["tp=2", "pp=2,zero=1", "tp", "tp=x", "tp=-1", "schedule=gpipe", "tp=2,tp=4"],
    "CHANGE...": ["no_waiting", "bandwidth:0", "bandwidth:1e308", "bandwidth:nan", "compute:matmul:2@0", "host:-1",
                  "rank_as_peers@99", "bucket:0MB", "prefetch:0", "prefetch:999999999", "step_as_others:99", "x", "@", ":"],
    "N,N,...": ["1,2", "6,6", "0", "-1,5", "1,,2"], "LETTERS": ["AB", "ABBA", "A", "XY", ""],
    "WHAT=WHERE,...": ["optimizer=host", "parameters=nvme", "optimizer=moon", "=", "gradients"],
    "WHAT,...": ["gradient", "parameters", "gradient,parameters", "x", ","], "TERM": ["all", "bubble", "matmul", "x"],
    "WAIT,WARMUP,ACTIVE,REPEAT": ["1,0,1,1", "0,0,0,0", "1,1", "-1,0,1,1"]}


def flags_of(root):
    """{verb: [(flag, form of its value or "")]}"""
    verbs = {}
    for page in sorted((root / "docs" / "reference" / "flags").glob("*.md")):
        for line in page.read_text().splitlines():
            found = re.match(r"\| `(?:-\w, )?(--[\w-]+)(?: ((?:\\\||[^`|])+))?` \|", line)
            if found:
                form = found[2] or ""
                form = form if form == "CHANGE..." else form.replace("\\|", "|").removesuffix("...")
                verbs.setdefault(page.stem, []).append((found[1], form))
    return verbs


def value(r, form):
    choices = FORMS.get(form) or FORMS.get(form + "...")
    if choices is None and "|" in form and form == form.lower():
        choices = form.split("|") * 2 + [form.split("|")[0].upper(), "every:2", "every:0"]
    how = r.random()
    if choices and how < 0.7:
        return r.choice(choices)
    if how < 0.9:
        return r.choice(WORDS_OF_NUMBERS)
    return r.choice(WORDS)


def change(r, verb, arguments, flags):
    """Another value, a further flag, a word lost, doubled or moved. What stands behind a kept flag stays."""
    out = list(arguments)
    known = [f for f in flags.get(verb, []) if f[0] not in KEPT and (verb not in ("train", "calibrate") or f[0] in QUICK)]
    how = r.random()
    if how < 0.6 and known:
        name, form = r.choice(known)
        at = out.index("--") if "--" in out else len(out)
        out[at:at] = [name] if not form else [name, value(r, form)] if r.random() < 0.8 else [name + "=" + value(r, form)]
    else:
        free = [i for i, word in enumerate(out) if word not in KEPT and (i == 0 or out[i - 1] not in KEPT)]
        if verb in ("train", "calibrate", "sweep", "compare"):
            free = [i for i in free if out[i].startswith("--") and out[i] != "--" and verb not in ("train", "sweep")]
        if free:
            i = r.choice(free)
            what = r.randrange(4)
            if what == 0:
                del out[i]
            elif what == 1:
                out.insert(i, out[i])
            elif what == 2 and len(out[i]) > 1:
                at = r.randrange(len(out[i]))
                out[i] = out[i][:at] + r.choice(("", "x", "-", "é", "\t", "\x1b", out[i][at] * 2)) + out[i][at + 1:]
            else:
                out[i] = r.choice(WORDS)
    return out
