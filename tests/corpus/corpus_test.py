#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""corpus_test.py PROGRAM [WORD ...]: runs the commands of the tables in this folder and looks for what their output must
say, and must not say. The remedies of errors name flags of their own verb. With words only the lines that contain one of
them, whose output is then printed.

A line of a table (*.table) is `command | texts that appear | texts that do not`; several texts are separated by " ;; ". Line
breaks of the output count as spaces. The words of the command that name an input are made first: by the module of the
table's name (INPUTS: name -> function that writes it to a path), or copied from inputs/. A name in INPUTS that ends with
a slash is a folder."""

import importlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "mutation"))

import oracles  # noqa: E402


def cases(table):
    for number, line in enumerate(table.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split(" | ")]
        assert len(cells) in (2, 3), (
            f"{table.name}:{number}: 'command | appears | does not', not {line!r}"
        )
        texts = [
            [text.strip() for text in cell.split(" ;; ") if text.strip() not in ("", "-")]
            for cell in cells[1:]
        ]
        yield f"{table.name}:{number}", cells[0], texts[0], texts[1] if len(texts) > 1 else []


def make_inputs(table, command, folder):
    module = importlib.import_module(table.stem) if table.with_suffix(".py").exists() else None
    writers = getattr(module, "INPUTS", {})
    for word in command.split():
        path = folder / word
        if path.exists():
            continue
        if word + "/" in writers:
            path.mkdir()
            writers[word + "/"](path)
        elif word in writers:
            writers[word](path)
        elif (HERE / "inputs" / word).exists():
            shutil.copy(HERE / "inputs" / word, path)


def plain(text):
    return " ".join(text.split())


def main():
    program, words = str(Path(sys.argv[1]).resolve()), sys.argv[2:]
    failed = done = 0
    with tempfile.TemporaryDirectory() as scratch:
        for table in sorted(HERE.glob("*.table")):
            folder = Path(scratch) / table.stem
            folder.mkdir()
            for place, command, appears, absent in cases(table):
                if words and not any(word in command for word in words):
                    continue
                make_inputs(table, command, folder)
                run = subprocess.run(
                    [program, *command.split()],
                    cwd=folder,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    errors="replace",
                    timeout=60,
                    check=False,
                )
                output = plain(run.stdout)
                wrong = [f"does not say {text!r}" for text in appears if plain(text) not in output]
                wrong += [f"says {text!r}" for text in absent if plain(text) in output]
                for line in run.stdout.splitlines():
                    if line.startswith("stepscope: "):
                        wrong += oracles.flag_faults(line, command.split()[0])
                if run.returncode not in (0, 1, 2):
                    wrong.append(f"ends with {run.returncode}")
                done += 1
                if wrong or words:
                    print(f"{place}: {command}\n" + "".join(f"  {w}\n" for w in wrong) + run.stdout)
                failed += bool(wrong)
    print(f"{done} commands, {failed} wrong")
    sys.exit(1 if failed or not done else 0)


if __name__ == "__main__":
    main()
