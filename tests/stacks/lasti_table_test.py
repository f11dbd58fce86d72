#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lasti_table_test.py STEPSCOPE SOURCE: tools/make_lasti_table.py on a small package that this interpreter compiles.
Each row is compared with co_positions(), each running frame's f_lasti with its f_lineno, and `stepscope stacks --lasti`
with both. Exit 77 below CPython 3.11, which has no co_positions()."""
import json
import subprocess
import sys
import tempfile
import textwrap
import types
from pathlib import Path

program, source = sys.argv[1], Path(sys.argv[2])
if sys.implementation.name != "cpython" or sys.version_info < (3, 11):
    print("skipped: no CPython 3.11")
    sys.exit(77)

MODULE = """
    import sys

    def seen(frames):
        frame = sys._getframe(1)
        while frame is not None:
            frames.append((frame.f_code.co_qualname, frame.f_lasti // 2, frame.f_lineno, frame.f_code.co_filename))
            frame = frame.f_back
        return 1

    class Coordinator:
        def __fetch(self, frames, flag):
            def deeper(x):
                return [
                    seen(frames) +
                    x for _ in range(2)
                ]
            values = {
                "a": deeper(1),
                "b": deeper(
                    2),
            }
            if flag:
                return self.__fetch(
                    frames,
                    False)
            return (lambda y: seen(frames) + y)(3)

        def run(self, frames):
            return self.__fetch(frames,
                                True)

    def alone():
        return 1
"""
OTHER = "def alone():\n    return 2\n"
failed = 0


def expect(what, found, wanted):
    global failed
    good = found == wanted
    failed += not good
    print(f"{'ok    ' if good else 'FAILED'} {what}" + ("" if good else f": {found!r}, not {wanted!r}"))


def rows_of(text):
    rows, file, function = [], "", ""
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        cells = line.split("\t")
        file, function = cells[0] or file, cells[1] or function
        rows.append((file, function, int(cells[2], 16), int(cells[3], 16), int(cells[4])))
    return rows


def functions(code):
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            if inner.co_flags & 0x2:
                yield inner
            yield from functions(inner)


with tempfile.TemporaryDirectory() as name:
    package, other = Path(name) / "tiny", Path(name) / "other"
    (package / "deep").mkdir(parents=True)
    other.mkdir()
    path = package / "deep" / "module.py"
    path.write_text(textwrap.dedent(MODULE))
    (other / "same.py").write_text(OTHER)
    make = [sys.executable, str(source / "tools" / "make_lasti_table.py"), str(package), "--package", "tiny", "--version",
            "1.2"]
    made = subprocess.run(make, capture_output=True, text=True, check=True)
    apart = subprocess.run([*make, "--apart-from", str(other)], capture_output=True, text=True, check=True)
    rows = rows_of(made.stdout)

    head = [line for line in made.stdout.splitlines() if line.startswith("#")]
    expect("sources", head[0], "# sources: tiny 1.2")
    expect("interpreter", head[1], f"# interpreter: CPython {sys.version_info.major}.{sys.version_info.minor}")
    expect("files", {r[0] for r in rows}, {"tiny/deep/module.py"})

    code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True, optimize=0)
    wanted = {}
    for function in functions(code):
        for unit, (line, *_) in enumerate(function.co_positions()):
            if line is not None:
                wanted[function.co_qualname, unit] = line
    told = {}
    for _, function, first, last, line in rows:
        for unit in range(first, last + 1):
            expect_once = (function, unit) not in told
            failed += not expect_once
            told[function, unit] = line
    expect(f"lines of {len(wanted)} units in {len({k[0] for k in wanted})} functions", told, wanted)
    expect("another source has a function of this name", ("alone" in {r[1] for r in rows},
                                                          "alone" in {r[1] for r in rows_of(apart.stdout)}), (True, False))

    frames, space = [], {}
    exec(code, space)  # the module above
    space["Coordinator"]().run(frames)
    ours = sorted({f[:3] for f in frames if f[3] == str(path)})
    expect("running frames, enough of them", len(ours) >= 7 or ours, True)
    for function, unit, line in ours:
        expect(f"{function} [{unit:#x}]", told.get((function, unit)), line)

    (Path(name) / "table.tsv").write_text(made.stdout)
    (Path(name) / "profile.txt").write_text("".join(f"T;{f} [{u:#x}] [{u:x}] 1\n" for f, u, _ in ours))
    run = subprocess.run([program, "stacks", str(Path(name) / "profile.txt"), "--lasti", str(Path(name) / "table.tsv"),
                          "--json", "-"], capture_output=True, text=True, check=True)
    result = json.loads(run.stdout)
    found = sorted((f["function"], f["frame"].split("[0x")[1].split("]")[0], f["line"]) for f in result["functions"]
                   if f["line_by_table"])
    expect("stepscope tells these lines", found, sorted((f, f"{u:x}", line) for f, u, line in ours))
    expect("and says of which versions", [w for w in result["warnings"] if "tiny 1.2 on CPython" in w] != [], True)

sys.exit(1 if failed else 0)
