# SPDX-License-Identifier: Apache-2.0
"""What no run may do. Each function returns the sentences of the rules that a run broke."""
import csv
import json
import math
import os
import re
import zlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import mutate_arguments

CODES = {0, 1, 2, 3, 4}
# NaN and infinity as fmt writes them: not a part of a name, a path or a number.
NO_NUMBER = re.compile(r"(?<![\w./\\:@+(-])[-+]?(?:nan|inf)(?![\w./\\:@)-])")
WORD = re.compile(r"(?<![a-zA-Z])(?:nan|inf)(?![a-zA-Z])")
QUOTED = re.compile(r'"[^"\n]*"|`[^`\n]*`|\'[^\'\n]*\'')
# Only the end of a line and the tabulator may be printed among the control characters.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
REMEDY = re.compile(
    r"\b(add|align|analyse|ask|calibrate|capture|change|check|choose|compress|convert|copy|correct|create|cut|decompress|delete|did "
    r"you mean|divide|dump|export|fix|free|gather|give|increase|inflate|install|join|know[ns]?|leave|let|lists?|lower|make|"
    r"may|measure|move|must|name|needs?|one of|omit|profile|put|raise|read|record|remove|rename|replace|run|say|see|set|show|shows|"
    r"shorten|split|start|stepscope \w+ (?:searches|lists|reads)|stepscope \w+ .* reads it|take|takes|try|turn|use|varies|wait|would be enough|write)\b|docs/[\w/-]+\.md")
PLACE = re.compile(r"(?<![\w-])--?[a-z][\w-]*|\b(line|byte|column|launch|rank|row|field|page) |standard output|the plan |"
                   r"^.+: (?:no such file|no file matches|cannot open|cannot be read|is a directory)|\bno \w+ \".*\"|^\"\" is an empty name|"
                   r"\b\w+ = [-+\d]|^The following argument was not expected: ")
# Commands of other programs, up to the end of the clause, and flags of nvidia-smi.
OTHER_PROGRAMS = re.compile(r"\b(?:rocprofv3|rocpd|nvidia-smi|nsys|perf|torchrun|srun|mpirun|docker|dmesg)\b.*|--query-gpu\b")
MUST = re.compile(r"\bmust (?:be|have|hold)\b|\bat most\b")


@dataclass
class Ended:
    code: int          # exit code, or minus the signal
    seconds: float
    late: bool         # it was killed after the time that a run may take
    bytes: int         # peak of the resident memory
    out: bytes
    err: bytes


def message_faults(line, names):
    """An error is one line that names a place (file, flag, value, line or byte) and what to do: behind a semicolon, or
    as what a value must be."""
    faults = []
    if not line.startswith("stepscope: "):
        return ["an error line does not begin with 'stepscope: ': " + line]
    text = line.removeprefix("stepscope: ")
    if not PLACE.search(text) and not any(name in text for name in names if len(name) > 1) and \
            not any(text.startswith(name + ":") for name in names if name):
        faults.append("an error names no place: " + line)
    if not MUST.search(text) and not REMEDY.search(text[text.find(";") + 1:] if ";" in text else ""):
        faults.append("an error names no remedy: " + line)
    return faults


@cache
def flags_of_verbs():
    """The flags of each verb, by the pages of docs/reference/flags."""
    pages = mutate_arguments.flags_of(Path(__file__).resolve().parents[2])
    return {verb: {flag for flag, _ in known} for verb, known in pages.items()}


def flag_faults(line, verb):
    """A remedy names flags of the verb that failed, or behind "stepscope VERB" those of that verb."""
    flags, faults = flags_of_verbs(), []
    for clause in QUOTED.sub('""', line).split(";")[1:]:
        clause = OTHER_PROGRAMS.sub("", clause)
        parts = re.split(r"\bstepscope (\w+)", clause)
        for other, text in zip([verb] + parts[1::2], parts[::2]):
            known = flags.get(verb, set()) | flags.get(other, set()) | {"--help", "--version", "--quiet", "--verbose"}
            faults += ["a remedy names %s, which %s lacks: %s" % (flag, other, line)
                       for flag in re.findall(r"(?<![\w-])--[a-z][\w-]*", text) if verb in flags and flag not in known]
    return faults


def strict_json(data):
    """The fault of a JSON document, or None."""
    def pairs(items):
        if len({k for k, _ in items}) != len(items):
            raise ValueError("a key stands twice in an object of JSON")
        return dict(items)

    def number(word):
        if not math.isfinite(float(word)):
            raise ValueError("JSON has a number without a finite value")
        return 0

    def constant(word):
        raise ValueError("JSON has " + word)
    try:
        json.loads(data.decode("utf-8"), object_pairs_hook=pairs, parse_float=number, parse_constant=constant)
    except UnicodeDecodeError:
        return "JSON is no UTF-8"
    except ValueError as error:
        return re.sub(r": line .*", "", str(error)) if "JSON" in str(error) else "JSON is no JSON"
    return None


def has_such_names(case):
    """Whether an input of names, not of numbers, has such a word: the program shows names as they are."""
    if case.verb not in ("analyze", "whatif", "digest", "stacks", "memory", "hang", "live"):
        return False
    for name, data in case.files.items():
        if WORD.search(name):
            return True
        try:
            data = zlib.decompressobj(31).decompress(data, 1 << 22) if data.startswith(b"\x1f\x8b") else data
        except zlib.error:
            pass
        if data.startswith((b"\x28\xb5\x2f\xfd", b"SSDIGEST")) or WORD.search(data.decode("utf-8", "replace")):
            return True
    return False


def words_of(given):
    return [w for g in given for w in {g, g.split("=")[-1]} if NO_NUMBER.search(w)]


def text_faults(what, data, given, named=False):
    """`given`: the words of the command line, which the program may repeat. `named`: has_such_names()."""
    faults = []
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return [what + " is no UTF-8"]
    if CONTROL.search(text):
        faults.append(what + " has a control character")
    text = QUOTED.sub('""', text)
    for word in words_of(given):
        text = re.sub(r"(?<!\S)%s(?![^\s:;,.])" % re.escape(word), '""', text)
    if not named and NO_NUMBER.search(text):
        faults.append(what + " has nan or inf")
    return faults


# Columns with names from the input, which may be any word.
NAMES = {"name", "dtype", "role", "group", "group_description", "shape", "thread", "process", "input", "function", "host_activity",
         "culprit", "label", "phase", "device", "gpu_name"}


def csv_faults(folder, given):
    faults, files = [], sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    if not files:
        return ["exit 0 without the tables of --csv"]
    for name in files:
        with open(os.path.join(folder, name), "rb") as file:
            data = file.read()
        if not data:
            faults.append("a table of --csv is empty")
        rows = list(csv.reader(data.decode("utf-8", "replace").splitlines()))
        numbers = [i for i, column in enumerate(rows[0]) if column not in NAMES] if rows else []
        cells = [row[i] for row in rows[1:] for i in numbers if i < len(row)]
        if any(cell.lower().lstrip("-") in ("nan", "inf") and cell not in given for cell in cells):
            faults.append("a table of --csv has nan or inf")
    return faults


def page_faults(data):
    found = re.search(rb'<script type="application/json" id="data">(.*?)</script>', data, re.S)
    if not found:
        return ["a page has no data"]
    fault = strict_json(found[1])
    return ["a page: " + fault] if fault else []


def output_faults(case, ended, read):
    """`read` gives the bytes of an output, or None."""
    faults = []
    for flag, name in case.outputs.items():
        if name == "-":
            if ended.code == 0:
                fault = strict_json(ended.out)
                faults += ["--json -: " + fault] if fault else []
            continue
        if flag == "--csv":
            faults += csv_faults(name, case.arguments) if ended.code == 0 else []
            continue
        data = read(name)
        if not data:
            if ended.code == 0:
                faults.append("exit 0 without the output of " + flag)
            elif data is not None:
                faults.append("the output of %s is empty" % flag)
            continue
        fault = strict_json(data) if flag == "--json" else None
        faults += [flag + ": " + fault] if fault else []
        faults += page_faults(data) if flag == "--html" else []
    return faults


def blames_words(line, case):
    """Whether an error is about a flag, or a value that a flag has given ("tp = 2")."""
    if re.search(r"(?<![\w-])--[a-z]", line):
        return True
    words = ["--" + word.replace("_", "-") for word in re.findall(r"\b(\w+) (?:\* \w+ )*= ", line)]
    return any(flag.startswith("--") and word.startswith(flag) for flag in case.arguments for word in words)


def judge(case, ended, most_bytes, read):
    faults = []
    if ended.late:
        return ["hang"]
    if ended.bytes > most_bytes:
        faults.append("memory")
    if ended.code < 0:
        return faults + ["signal %d" % -ended.code]
    if ended.code not in CODES:
        faults.append("exit %d" % ended.code)
    named = has_such_names(case)
    faults += text_faults("standard error", ended.err, case.arguments, named)
    if case.outputs.get("--json") != "-":
        faults += text_faults("standard output", ended.out, case.arguments, named)
    errors = [line for line in ended.err.decode("utf-8", "replace").split("\n") if line]
    if b"out of memory" in ended.err or b"bad_alloc" in ended.err:
        faults.append("memory: the program ran out of it")
    if b"bug of stepscope" in ended.err or b"stepscope has a bug" in ended.err:
        faults.append("a failed check: " + errors[0])
    if ended.code in (1, 2) and not errors:
        faults.append("exit %d without a message" % ended.code)
    names = [re.sub(r"[\t\n]", "\ufffd", CONTROL.sub("\ufffd", n)) for n in [os.path.basename(n) for n in case.files] + case.arguments[1:]]
    if ended.code == 1 or ended.code == 2 and not case.words_changed:
        for line in errors:
            faults += message_faults(line, names) + flag_faults(line, case.verb)
    if ended.code == 0 and errors:
        faults.append("exit 0 with a message: " + errors[0])
    if ended.code == 0 and not ended.out and "--quiet" not in case.arguments:
        faults.append("exit 0 with nothing on standard output")
    if ended.code == 2 and not case.words_changed and not any(blames_words(e, case) for e in errors):
        faults.append("exit 2 blames a sound command line: " + "".join(errors[:1]))
    faults += output_faults(case, ended, read)
    return list(dict.fromkeys(faults))
