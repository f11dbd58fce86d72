#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes python/stepscope/shapes.pyi, the types of the results' attributes, from docs/reference/json.

write_python_types.py FILE [--check]

Needs the built package `stepscope` on PYTHONPATH. The document names every key (tests/json_contract compares it with the
program). Where it gives no type, the answers about the example traces show it. With --check nothing is written, and the
exit code is 1 where FILE is not what would be written.
"""

import keyword
import pathlib
import re
import sys

import stepscope as ss

ROOT = pathlib.Path(__file__).parents[1]
# Class of a result: the parts of the document that describe it.
RESULTS = {
    "Analysis": ["stepscope analyze"],
    "WhatIf": ["stepscope whatif"],
    "Projection": ["stepscope project"],
    "Comparison": ["stepscope compare"],
    "Sweep": ["stepscope sweep"],
    "Runs": ["stepscope runs"],
    "Check": ["stepscope check"],
    "Digest": ["stepscope digest"],
    "Hang": ["stepscope hang"],
    "Live": ["stepscope live"],
    "Memory": ["stepscope memory"],
    "Stacks": ["stepscope stacks"],
    "Prediction": ["stepscope predict", "stepscope predict --collective"],
    "PlanSearch": ["stepscope plan"],
}
HEAD = '''# SPDX-License-Identifier: Apache-2.0
# Written by tools/write_python_types.py from docs/reference/json.
"""Types of the attributes of results. They exist for type checkers and editors only."""

from typing import Generic, TypeVar

from stepscope.records import Record

V = TypeVar("V")

class Map(Record, Generic[V]):
    """An object whose keys are data: map["key"] or map.key."""

    def __getitem__(self, key: str) -> V: ...  # type: ignore[override]
    def __getattr__(self, name: str) -> V: ...
'''


class Member:
    """A key: the type that the table says, whether it is a list, and the shape of its value ({key: Member}, or None)."""

    def __init__(self, said="", is_list=False, is_map=False, shape=None):
        self.said, self.is_list, self.is_map, self.shape = said, is_list, is_map, shape
        self.of = ""  # of a map, what the document calls its values


def parse_shape(text):
    """{key: Member} of "{a, b{reason: count}, c[] {d}}", and what follows it."""
    members = {}
    text = text[1:]
    while True:
        text = text.lstrip(" ,")
        if text.startswith("}"):
            return members, text[1:]
        key = re.match(r"[\w*]+", text)[0]
        text = text[len(key) :]
        member = Member()
        while text.startswith("[]"):
            member.is_list, text = True, text[2:]
        text = text.lstrip(" ") if text.lstrip(" ").startswith("{") else text
        if text.startswith("{}"):
            member.is_map, text = True, text[2:]
        elif text.startswith("{"):
            close = text.index("}")
            if ":" in text[:close] and "{" not in text[1:close]:
                member.is_map, member.of = True, text[:close].split(":")[1].strip()
                text = text[close + 1 :]
            else:
                member.shape, text = parse_shape(text)
        elif text.lstrip(" ").startswith("["):
            text = text[text.index("]") + 1 :]
        members[key] = member


def read_part(document, command):
    """The shape of one part of the document."""
    part = re.search(rf"^# JSON of `{re.escape(command)}`\n(.*?)(?=^# |\Z)", document, re.M | re.S)[
        1
    ]
    sections = []
    for section in re.split(r"^## ", part, flags=re.M)[1:]:
        head, _, body = section.partition("\n")
        name = re.search(r"`(\w+)", head)
        table, text = {}, []
        for line in body.splitlines():
            if not line.startswith("|"):
                text.append(line)
                continue
            cells = line.strip("|").replace("\\|", "/").split("|")
            if len(cells) < 3:
                continue
            shape = re.search(r"`(\{.*?)`", cells[2])
            for key in re.findall(r"`([\w*]+)`", cells[0]):
                found = parse_shape(shape[1])[0] if shape else None
                table[key] = Member(cells[1].strip(), shape=found)
        if not table:
            shape = re.search(r"`(\{.*?)`", "\n".join(text), re.S)
            table = parse_shape(shape[1].replace("\n", " "))[0] if shape else {}
        sections.append((name[1] if name else "", table))
    top = sections[0][1]
    for name, table in sections[1:]:
        if name in top and table:
            top[name].shape = table
    return top


# A job that is slow in rank 1 from step 60 on: lines of stepscope.torch, and of NCCL's log.
def write_inputs(folder):
    (folder / "job").mkdir()
    for rank in range(4):
        lines = []
        for step in range(120):
            data = 40_000_000 if rank == 1 and step >= 60 else 1_000_000
            wall = 200_000_000 + (60_000_000 if step >= 60 else 0) + step % 7 * 100_000
            lines.append(
                f'{{"stepscope":"step","rank":{rank},"world":4,"host":"host","pid":{rank},"step":{step},"wall_ns":{wall},'
                f'"wait_ns":{wall - 100_000_000 - data},"phases_ns":{{"data":{data}}}}}\n'
            )
        (folder / "job" / f"steps-rank{rank}.jsonl").write_text("".join(lines))
    (folder / "hang.log").write_text(
        "".join(
            f"[rank{rank}]:[E1130 10:00:00.000000000 ProcessGroupNCCL.cpp:629] [Rank {rank}] Watchdog caught collective operation "
            f"timeout: WorkNCCL(SeqNum={5 + rank}, OpType=ALLREDUCE, NumelIn=1024, NumelOut=1024, Timeout(ms)=600000) ran for "
            "600001 milliseconds before timing out.\n"
            for rank in range(2)
        )
    )
    (folder / "stacks.txt").write_text("python;train;forward 40\npython;train;backward 60\n")
    (folder / "runs").mkdir()
    for run, slow in (("first", 1.0), ("second", 1.0), ("third", 1.2)):
        times = "\n".join(str(slow * (0.25 + 0.001 * (i % 7))) for i in range(40))
        (folder / "runs" / f"{run}.csv").write_text("step_time_s\n" + times)
    (folder / "launch.py").write_text(
        "import sys\nfor i in range(20):\n    print(f'step_time_ms={float(sys.argv[1]) + i % 3}')\n"
    )


def answers(folder):
    """Results of every kind, whose values show the types."""
    write_inputs(folder)
    traces = ROOT / "examples/train_tiny/traces"
    gpu = ROOT / "examples/record_gpu/traces"
    job = {"machine": "h100_sxm_80gb", "gpus": 64, "global_batch": 256, "seq": 8192}
    described = {"model": "gpt2", "machine": "h100_sxm_80gb", "global_batch": 8, "seq": 128}
    steps = [0.25 + 0.001 * (i % 7) for i in range(40)]
    for name in ("ddp", "fsdp", "pp", "tp"):
        yield ss.analyze(traces / name)
    yield ss.analyze(traces / "fsdp", **described)
    yield ss.analyze(traces / "ddp", job=ss.Job(model_flops_per_step=1e9, price=2.0))
    for name in ("mesh", "gpt2_compiled", "mixture", "gpt2_graph"):
        yield ss.analyze(gpu / name)
    yield ss.whatif(traces / "ddp")
    yield ss.whatif(gpu / "mesh")
    yield ss.project(traces / "ddp", gpus=8, recorded={"global-batch": 16})
    yield ss.compare(traces / "ddp", traces / "fsdp", max_regression=0.02)
    yield ss.compare(steps, [1.1 * s for s in steps])
    yield ss.check(traces / "ddp")
    yield ss.check(folder / "runs/first.csv", **described, gpus=8)
    yield ss.predict(
        "llama-3-8b",
        plan=ss.Plan(zero=3),
        details=ss.Details(layers=True),
        vary={"zero": [1, 3]},
        **job,
    )
    yield ss.predict(collective=ss.Collective(name="all_reduce", group=64), machine="h100_sxm_80gb")
    yield ss.plan("llama-3-8b", against={"zero": 3}, **job)
    yield ss.digest(traces / "ddp", out=folder / "digests")
    yield ss.runs(folder / "runs")
    yield ss.live(folder / "job")
    yield ss.hang(folder / "hang.log")
    yield ss.stacks(folder / "stacks.txt")
    command = [sys.executable, folder / "launch.py", "{n}"]
    yield ss.sweep(command, vary={"n": [100, 120]}, launches=2)


KINDS = {}  # of a key, over all answers


def note(found, path, value):
    """Keeps the kinds of scalars by path; elements of lists and maps have the path of their list or map."""
    if isinstance(value, dict):
        found.setdefault(path, set()).add("object")
        for key, inner in value.items():
            note(found, (*path, key), inner)
            note(found, (*path, "*"), inner)
    elif isinstance(value, list):
        found.setdefault(path, set()).add("list")
        for inner in value:
            note(found, (*path, "[]"), inner)
    else:
        found.setdefault(path, set()).add(type(value).__name__)
        name = next((key for key in reversed(path) if key not in ("[]", "*")), "")
        KINDS.setdefault((name, path[-1] in ("[]", "*")), set()).add(type(value).__name__)


SAID = {"string": "str", "int": "int", "integer": "int", "number": "float", "bool": "bool"}
# Where no answer has a value, the unit in the name says what it is.
UNITS = r"(_ns|seconds|_bytes|_flops|_per_s|_mhz|_watts|_celsius|_share|^share|_error|_squared|_efficiency|_active|_rate|_read|_write)$"


def joined(kinds):
    names = sorted(kinds - {"NoneType", "object", "list"})
    return [name for name in names if name != "int" or "float" not in names]


def scalar(said, key, kinds, element=False):
    """The type of a value that is no object or list."""
    names = [SAID[word] for word in re.findall(r"string(?!s)|integer|int|number|bool", said)]
    if names:
        return " | ".join(dict.fromkeys(names)) + (" | None" if "null" in said else "")
    names = joined(kinds)
    if not names and len(joined(KINDS.get((key, element), set()))) == 1:
        names = joined(KINDS[key, element])
    if not names and re.search(UNITS, key):
        names = ["float"]
    if not names:
        return "object"
    seen = element or bool(joined(kinds))
    return " | ".join(names) + (" | None" if "NoneType" in kinds or not seen else "")


class Writer:
    def __init__(self, found):
        self.found = found
        self.classes = {}

    def type_of(self, owner, path, key, member):
        kinds = self.found.get(path, set())
        said = member.said
        none = " | None" if "null" in said or "NoneType" in kinds else ""
        name = owner.removesuffix("Attributes") + "".join(
            word.capitalize() for word in key.replace("*", "item").split("_")
        )
        if member.shape and "*" in member.shape:
            inner = self.type_of(name, (*path, "*"), "*", member.shape["*"])
            return f"Map[{inner}]{none}"
        if member.shape:
            is_list = member.is_list or "array" in said or "list" in kinds
            inner = self.write(name, (*path, "[]") if is_list else path, member.shape)
            if "object, array" in said:
                return f"{inner} | list[{inner}]{none}"
            return (f"list[{inner}]" if is_list else inner) + none
        if member.of == "count":
            return f"Map[int]{none}"
        if member.is_map or ("object" in said and "array" not in said) or "object" in kinds:
            return f"Map[{self.free((*path, '*'), key)}]{none}"
        if member.is_list or "array" in said or "list" in kinds:
            strings = "strings" in said
            return f"list[{'str' if strings else self.free((*path, '[]'), key)}]{none}"
        return scalar(said, key, kinds)

    def free(self, path, key):
        """The type of elements that the document does not describe: object where they differ in kind."""
        kinds = self.found.get(path, set()) - {"NoneType"}
        if kinds == {"object"}:
            return f"Map[{self.free((*path, '*'), key)}]"
        if kinds == {"list"}:
            return f"list[{self.free((*path, '[]'), key)}]"
        if {"object", "list"} & kinds:
            return "object"
        return scalar("", key, self.found.get(path, set()), element=True)

    def write(self, name, path, shape):
        """Writes the class of a shape; its name."""
        lines = []
        for key, member in shape.items():
            kind = self.type_of(name, (*path, key), key, member)
            if keyword.iskeyword(key):  # no attribute: record["class"]
                continue
            lines.append(f"    {key}: {kind}")
            seconds = key.removesuffix("_ns")
            if seconds != key and seconds not in shape:
                kind = re.sub(r"\bint\b", "float", kind).replace("Map[", "dict[str, ")
                lines.append(f"    {seconds}: {kind}")
        self.classes[name] = lines
        return name


def main():
    import tempfile

    pages = sorted((ROOT / "docs/reference/json").glob("*.md"))
    document = "\n".join(page.read_text() for page in pages)
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for result in answers(pathlib.Path(folder)):
            note(found.setdefault(type(result).__name__, {}), (), result.to_dict())
    text = [HEAD]
    for result, commands in RESULTS.items():
        shape = {}
        for command in commands:
            shape |= read_part(document, command)
        own = vars(getattr(ss, result))
        tables = getattr(ss, result)._table_names
        taken = {*tables, *own, *own.get("__annotations__", {})}
        shape = {
            key: member for key, member in shape.items() if key not in taken and key != "timeline"
        }
        writer = Writer(found.get(result, {}))
        writer.write(f"{result}Attributes", (), shape)
        for name, lines in writer.classes.items():
            base = "" if name == f"{result}Attributes" else "(Record)"
            text.append("\n".join([f"\nclass {name}{base}:", *(lines or ["    pass"])]) + "\n")
    made = "".join(text)
    file = pathlib.Path(sys.argv[1])
    if "--check" not in sys.argv[2:]:
        file.write_text(made)
    elif file.read_text() != made:
        sys.exit(
            f"{file} is not what docs/reference/json gives; run tools/write_python_types.py {file}"
        )


main()
