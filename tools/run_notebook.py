#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the code of notebooks, in order and in one namespace each, and compares what the cells give with what is stored.

run_notebook.py [--write] NOTEBOOK...

With --write the outputs are stored. A notebook is written as source: cells with their text, no numbers of executions.
It runs in any folder, and needs neither Jupyter nor the packages that a notebook does not import.
"""

import ast
import contextlib
import io
import json
import pathlib
import re
import sys
import warnings


def run_cell(source, namespace):
    """The outputs of a code cell: what it prints, then its last expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    value = None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), namespace)
        if last is not None and not source.rstrip().endswith(";"):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), namespace)
    outputs = []
    if printed.getvalue():
        outputs.append(
            {"name": "stdout", "output_type": "stream", "text": lines(printed.getvalue())}
        )
    if value is not None:
        data = {"text/plain": lines(repr(value))}
        html = getattr(value, "_repr_html_", None)
        if html is not None:
            data["text/html"] = lines(html())
        outputs.append(
            {"data": data, "execution_count": None, "metadata": {}, "output_type": "execute_result"}
        )
    return outputs


def lines(text):
    """The lines, without the place of the package on this machine."""
    import stepscope

    folder = str(pathlib.Path(stepscope.__file__).parent)
    return text.replace(folder, "stepscope").splitlines(keepends=True)


def comparable(outputs):
    """Without times of this machine, and without styles that packages make anew each time."""
    text = json.dumps(outputs, ensure_ascii=False, sort_keys=True)
    text = re.sub(r"(read in|plans in) [0-9.]+ (ns|µs|ms|s)\b", r"\1 TIME", text)
    return re.sub(r"<style.*?</style>", "", text)


def main():
    write = "--write" in sys.argv[1:]
    wrong = 0
    warnings.simplefilter("error")
    for name in sys.argv[1:]:
        if name == "--write":
            continue
        path = pathlib.Path(name)
        notebook = json.loads(path.read_text())
        namespace = {"__name__": "__main__"}
        for number, cell in enumerate(notebook["cells"], 1):
            if cell["cell_type"] != "code":
                continue
            outputs = run_cell("".join(cell["source"]), namespace)
            if not write and comparable(outputs) != comparable(cell["outputs"]):
                wrong += 1
                print(
                    f"{name}: cell {number} gives\n{comparable(outputs)}\ninstead of\n{comparable(cell['outputs'])}"
                )
            cell["outputs"] = outputs
        if write:
            path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
    sys.exit(
        f"{wrong} cells differ; tools/run_notebook.py --write stores what they give" if wrong else 0
    )


main()
