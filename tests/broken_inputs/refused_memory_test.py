# SPDX-License-Identifier: Apache-2.0
"""refused_memory_test.py STEPSCOPE: no verb holds a whole file that it refuses. Each verb gets files of 40 MB of another
kind. Its peak memory must be at most 32 MB above that of the empty program."""

import os
import pickle
import subprocess
import sys
import tempfile

MEGABYTE = 1 << 20
ALLOWED = 32 * MEGABYTE
SIZE = 40 * MEGABYTE


def fill(path, begin, part, end):
    """Writes `begin`, then `part` until the file has SIZE bytes, then `end`."""
    with open(path, "w") as file:
        file.write(begin)
        block = part * (MEGABYTE // len(part))
        for _ in range(SIZE // len(block)):
            file.write(block)
        file.write(end)


def write_inputs():
    fill("numbers_in.json", '{"a":[1', ",1", "]}")
    fill("objects.json", '[{"id":1}', ',{"id":1,"name":"x","v":[1,2]}', "]")
    fill("numbers_after.json", '{"traceEvents":[],"a":[1', ",1", "]}")
    fill("known_key.json", '{"distributedInfo":[1', ",1", "]}")
    fill("segments.json", '{"segments":[1', ",1", "]}")
    fill("entries.json", '{"entries":[1', ",1", "]}")
    fill("nested.json", '{"a":', '{"a":', "")
    fill("text.json", '{"a":"', "a", '"}')
    fill("text_in_list.json", '["', "a", '"]')
    fill("keys.json", '{"k":1', ',"k":1', "}")
    fill("lines.jsonl", "", '{"id":1,"name":"x","v":[1,2]}\n', "")
    fill("prose.log", "", "2026-01-01 00:00:01 INFO a worker did something of interest\n", "")
    fill("page.html", "<!doctype html>", "<p>text</p>", "")
    with open("list.pickle", "wb") as file:
        pickle.dump(list(range(1000, SIZE // 5)), file)


VERBS = {
    "analyze": ["analyze", "FILE"],
    "whatif": ["whatif", "FILE", "--change", "bandwidth:2"],
    "check": ["check", "FILE"],
    "digest": ["digest", "--out", "digests", "FILE"],
    "memory": ["memory", "FILE"],
    "stacks": ["stacks", "FILE"],
    "hang": ["hang", "FILE"],
    "compare": ["compare", "FILE", "FILE"],
    "project": ["project", "FILE", "--machine", "h100_sxm_80gb"],
    "predict --machine": ["predict", "llama-3-8b", "--machine", "FILE"],
    "predict MODEL": ["predict", "FILE", "--machine", "h100_sxm_80gb"],
    "predict --plan": ["predict", "llama-3-8b", "--machine", "h100_sxm_80gb", "--plan", "FILE"],
    "predict --ds-config": ["predict", "llama-3-8b", "--machine", "h100_sxm_80gb", "--ds-config", "FILE"],
    "plan --against": ["plan", "llama-3-8b", "--machine", "h100_sxm_80gb", "--gpus", "8", "--against", "FILE"],
    "stacks --rules": ["stacks", "one.txt", "--rules", "FILE"],
    "calibrate --from": ["calibrate", "m.json", "--machine", "h100_sxm_80gb", "--ranks", "8", "--from", "FILE"],
}


def peak(arguments):
    """Exit code, standard error and peak memory in bytes."""
    with open("errors", "w+b") as errors, open(os.devnull, "r+b") as nothing:
        process = subprocess.Popen(arguments, stdin=nothing, stdout=nothing, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        return process.returncode, errors.read(400).decode(errors="replace"), usage.ru_maxrss * 1024


def main():
    if sys.argv[1] == "--write":
        return write_inputs()
    stepscope = os.path.realpath(sys.argv[1])
    writer = [sys.executable, os.path.realpath(__file__), "--write"]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        # Linux counts the memory of the process that starts a program as the program's own.
        subprocess.run(writer, check=True)
        with open("one.txt", "w") as file:
            file.write("main;forward 1\n")
        files = sorted(name for name in os.listdir(".") if name != "one.txt")
        empty = peak([stepscope, "--version"])[2]
        for verb, arguments in VERBS.items():
            most = max((peak([stepscope] + [f if a == "FILE" else a for a in arguments]) + (f,) for f in files),
                       key=lambda p: (p[0] not in (1, 2), p[2]))
            code, errors, memory, name = most
            above = memory - empty
            good = code in (1, 2) and above <= ALLOWED
            failed += not good
            print(f"{verb:20} {above / MEGABYTE:6.1f} MB above the empty program ({name}, exit {code})"
                  f"{'' if good else '  FAILED: ' + errors}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
