#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the table of instructions that `stepscope stacks --lasti TABLE` reads, for the CPython that runs this script.

    make_lasti_table.py SOURCE [FILE...] --package NAME --version VERSION [--apart-from DIR...] > TABLE.tsv

SOURCE is the folder of a package, for example .../site-packages/deepspeed; FILE are files or folders in it, and all of it
without them. Each source is compiled, not run. A row has the file, the function's qualified name, the first and the last
instruction in code units of two bytes, and the source line. An empty cell repeats the cell above.

A profile that prints instructions prints no file. A function is therefore left out if a source in a folder of
--apart-from, or a source of SOURCE that is not in the table, has one of the same qualified name. Standard library only,
CPython 3.10 or later."""

import argparse
import collections
import sys
import types
import warnings
from pathlib import Path

IN_A_FUNCTION = 0x2  # CO_NEWLOCALS: not the body of a class


def one_underscore(name):
    """As stepscope compares names: some profiles lose an underscore of two."""
    while "__" in name:
        name = name.replace("__", "_")
    return name


def qualified_names(code, before=""):
    """(qualified name, code object) of each function in a module's code, as CPython 3.11 forms co_qualname."""
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            name = getattr(inner, "co_qualname", None) or before + inner.co_name
            is_function = bool(inner.co_flags & IN_A_FUNCTION)
            if is_function:
                yield name, inner
            yield from qualified_names(inner, name + (".<locals>." if is_function else "."))


def lines_of(code):
    """[(first unit, last unit, line)], neighbours of one line joined. Inline caches belong to their instruction."""
    rows = []
    for begin, end, line in code.co_lines():
        if line is None or begin == end:
            continue
        if rows and rows[-1][2] == line and rows[-1][1] + 1 == begin // 2:
            rows[-1][1] = end // 2 - 1
        else:
            rows.append([begin // 2, end // 2 - 1, line])
    return [tuple(row) for row in rows]


def functions_of(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the sources, at compilation
        module = compile(path.read_bytes(), str(path), "exec", dont_inherit=True, optimize=0)
    for name, code in qualified_names(module):
        if lines_of(code):
            yield name, lines_of(code)


def sources(folder):
    """The standard library's folder holds the installed packages, which are no part of it."""
    return sorted(
        p
        for p in folder.rglob("*.py")
        if p.is_file() and "site-packages" not in p.relative_to(folder).parts
    )


def functions_by_name(paths):
    """{qualified name: {(file, rows), ...}} of files that compile; others cannot be in a profile."""
    found = collections.defaultdict(set)
    for path in paths:
        try:
            for name, rows in functions_of(path):
                found[one_underscore(name)].add((path, tuple(rows)))
        except (SyntaxError, ValueError) as error:
            print(f"{path.name}: not compiled: {error}", file=sys.stderr)
    return found


def chosen(root, names):
    paths = []
    for name in names:
        path = root / name
        if not path.exists():
            raise SystemExit(f"{name} is not in {root.name}")
        paths += sources(path) if path.is_dir() else [path]
    return sorted(set(paths)) if names else sources(root)


def table(root, names, apart_from):
    """The rows of the table, and the functions that were left out."""
    inside = chosen(root, names)
    outside = [p for p in sources(root) if p not in set(inside)]
    for folder in apart_from:
        outside += sources(folder)
    elsewhere = functions_by_name(outside)
    rows, left_out = [], []
    for path in inside:
        for name, lines in functions_of(path):
            if one_underscore(name) in elsewhere:
                left_out.append(name)
            else:
                rows += [
                    (f"{root.name}/{path.relative_to(root).as_posix()}", name, *line)
                    for line in lines
                ]
    return rows, left_out


def text_of(rows, package, version):
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    out = [
        f"# sources: {package} {version}",
        f"# interpreter: CPython {python}",
        "# file\tfunction\tfirst unit\tlast unit\tline; an empty cell repeats the cell above",
    ]
    file, function = None, None
    for row in rows:
        cells = ["" if row[0] == file else row[0], "" if row[:2] == (file, function) else row[1]]
        file, function = row[:2]
        out.append("\t".join([*cells, f"{row[2]:#x}", f"{row[3]:#x}", str(row[4])]))
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("source", type=Path, help="folder of the package")
    parser.add_argument("file", nargs="*", help="files or folders in it; without them all")
    parser.add_argument("--package", required=True, help="name of the package, as deepspeed")
    parser.add_argument("--version", required=True, help="its version, as 0.16.7")
    parser.add_argument(
        "--apart-from",
        nargs="+",
        type=Path,
        default=[],
        metavar="DIR",
        help="other sources of the job, whose functions of the same name are left out",
    )
    options = parser.parse_args()
    if sys.implementation.name != "cpython" or sys.version_info < (3, 10):
        raise SystemExit("CPython 3.10 or later is needed")
    rows, left_out = table(options.source, options.file, options.apart_from)
    if not rows:
        raise SystemExit(f"no functions in {options.source}")
    sys.stdout.write(text_of(rows, options.package, options.version))
    print(
        f"{len(rows)} rows, {len({r[:2] for r in rows})} functions; {len(left_out)} functions left out",
        file=sys.stderr,
    )


if __name__ == "__main__":
    main()
