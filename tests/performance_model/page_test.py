#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""page_test.py STEPSCOPE PAGE... [--write]

Compares docs/dev/worked-formulas.md and docs/explanation/performance-model.md with the program. A fenced block that
begins with "$ stepscope" is a command and what it prints, to the letter. Every name that --explain knows is asked for in
some block of the pages. --write puts into the pages what the program prints now.
"""
import re
import shlex
import subprocess
import sys

program = sys.argv[1]
pages = [argument for argument in sys.argv[2:] if argument != "--write"]
write = "--write" in sys.argv[2:]
failures = 0


def printed(command):
    words = shlex.split(command.replace("\\\n", " "))
    run = subprocess.run([program, *words[1:]], capture_output=True, text=True, timeout=60)
    if run.returncode != 0:
        return f"exit {run.returncode}: {run.stderr}"
    return run.stdout


def held(match):
    global failures
    command, expected = match.group(1), match.group(2)
    got = printed(command)
    if got == expected:
        return match.group(0)
    if not write:
        failures += 1
        print(f"FAILED: {command}")
        for before, now in zip(expected.splitlines() + [""] * 9, got.splitlines()):
            if before != now:
                print(f"  page:    {before}\n  program: {now}")
    return f"```\n$ {command}\n{got}```\n"


blocks = re.compile(r"^```\n\$ (stepscope (?:[^\n]|\\\n)*[^\n\\])\n(.*?)^```\n", re.M | re.S)
found = []
for page in pages:
    with open(page, encoding="utf-8") as file:
        text = file.read()
    of_page = blocks.findall(text)
    if not of_page:
        sys.exit("no blocks in " + page)
    found += of_page
    new = blocks.sub(held, text)
    if write and new != text:
        with open(page, "w", encoding="utf-8") as file:
            file.write(new)
        print("written: " + page)

# In both directions: every name of the program is asked for, and every name asked for is known (the block says so).
asked = {name for command, _ in found for name in re.findall(r"--explain (\S+)", command)}
plan = "stepscope predict llama-3-8b --machine a100_sxm_80gb --gpus 8 --global-batch 8 --seq 2048 --zero 3"
names = {line.split(" = ")[0] for line in printed(plan + " --explain all").splitlines()}
known = {name for name in names if " " not in name}
if len(known) < 30:
    sys.exit(f"--explain all knows only {sorted(known)}")
for name in sorted(known - asked):
    failures += 1
    print(f"FAILED: no block of the pages explains {name}")
operations = {name.split()[0] for name in names if " " in name}
if not operations & asked:
    failures += 1
    print("FAILED: no block of the pages explains an operation")

print(f"{len(found)} blocks, {len(known)} names, {failures} failures")
sys.exit(failures > 0 and not write)
