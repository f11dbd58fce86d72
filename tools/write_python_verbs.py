#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes python/stepscope/verbs.py, the functions of the verbs, from the flags that the command declares.

write_python_verbs.py PACKAGE_DIR FILE [--check]

PACKAGE_DIR holds the built package `stepscope`. With --check nothing is written, and the exit code is 1 where FILE is
not what would be written.
"""

import importlib.util
import pathlib
import sys
import textwrap

# Verb: class of the result, parameters before the flags (name, type, text), and what they become.
VERBS = {
    "analyze": ("Analysis", [("inputs", "Inputs", None)], "files.paths_of(inputs)"),
    "whatif": ("WhatIf", [("inputs", "Inputs", None)], "files.paths_of(inputs)"),
    "project": ("Projection", [("inputs", "Inputs", None)], "files.paths_of(inputs)"),
    "check": ("Check", [("inputs", "Inputs", None)], "files.paths_of(inputs)"),
    "digest": ("Digest", [("inputs", "Inputs", None)], "files.paths_of(inputs)"),
    "live": ("Live", [("sources", "Inputs", None)], "files.paths_of(sources)"),
    "hang": ("Hang", [("inputs", "Inputs", None)], "files.paths_of(inputs)"),
    "memory": ("Memory", [("inputs", "Inputs", None)], "files.paths_of(inputs)"),
    "stacks": ("Stacks", [("inputs", "Inputs", None)], "files.paths_of(inputs)"),
    "compare": (
        "Comparison",
        [
            (
                "a",
                "Inputs | None = None",
                "Launches of A in the order they ran: a path, or a list of one path a launch. A launch is a "
                "trace, a directory or pattern of one, the JSON of stepscope train, or a list of step times (CSV, one number "
                "a line, a log).",
            ),
            ("b", "Inputs | None = None", "Launches of B, likewise."),
        ],
        "[]",
    ),
    "sweep": (
        "Sweep",
        [
            (
                "command",
                "str | Sequence[str]",
                "Program and its arguments. It writes its step times to {out}, or "
                "prints lines with step_time_ms=NUMBER.",
            )
        ],
        "words_of(command)",
    ),
    "runs": ("Runs", [("folder", "str | os.PathLike[str]", None)], "[files.value_of(folder)]"),
    "predict": (
        "Prediction",
        [("model", "Named | None = None", None)],
        "[] if model is None else [files.value_of(model)]",
    ),
    "plan": ("PlanSearch", [("model", "Named", None)], "[files.value_of(model)]"),
}
# Flags of the text and of the files that the command writes, which results have as methods.
LEFT_OUT = {
    "json", "html", "csv", "perfetto", "write-machine", "brief", "verbose", "timeline", "help", "a", "b",
    "chakra", "goal", "goal-recorded-times",
}  # fmt: skip
LEFT_OUT_OF = {
    "whatif": {"list"},
    "memory": {"top"},
    "runs": {"restore", "out"},  # Runs.restore
    # One reading; stepscope.follow() reads again and again.
    "live": {"once", "interval", "for", "on", "openmetrics", "serve", "token-file", "plain"},
}

# Type and argument by the value that help shows; {} is the keyword.
KINDS = {
    "A:B": ("Span | None", "span_text({})"),
    "FROM:UNTIL": ("Span | None", "span_text({})"),
    "FROM:TO": ("Span | None", "span_text({})"),
    "N|A:B": ("Span | None", "span_text({})"),
    "LIST": ("Numbers | None", "list_text({})"),
    "N,N,...": ("Numbers | None", "list_text({})"),
    "WHAT,...": ("str | Sequence[str] | None", "list_text({})"),
    "WHAT=WHERE,...": ("Settings | None", "settings_text({})"),
    "NAME=VALUE,...": ("Settings | None", "settings_text({})"),
    "NAME=VALUE,...|FILE": ("Settings | Sequence[Settings] | None", "plans_of({})"),
    "NAME=V1,V2,...": ("Axes | None", "axes_of({})"),
    "FILE": ("Named | None", "files.value_of({})"),
    "MODEL|FILE": ("Named | None", "files.value_of({})"),
    "MACHINE|FILE": ("Named | None", "files.value_of({})"),
    "TABLE": ("Named | None", "files.value_of({})"),
    "DIR": ("str | os.PathLike[str] | None", "os.fspath({})"),
    "N": ("int | None", None),
    "TFLOPS": ("float | None", None),
    "FLOPS": ("float | None", None),
    "NUMBER": ("float | None", None),
    "PERCENT": ("float | str | None", "share_text({})"),
    "TIME": ("float | str | None", None),
    "SIZE": ("int | str | None", None),
    "": ("bool | None", None),
}
UNITS = {
    "A:B": "3, (3, 5), (3, None) or range(3, 6)",
    "PERCENT": "a share from 0 to 1, or '5%'",
    "TIME": "seconds, or '20ms'",
    "SIZE": "bytes, or '25MiB'",
    "FROM:UNTIL": "('10s', '20s')",
}

HEAD = '''# SPDX-License-Identifier: Apache-2.0
# Written by tools/write_python_verbs.py from the flags of the command.
"""The verbs. Keywords are the flags of the command, which help(verb) explains as `stepscope help VERB` does.
A keyword that is None is not given. Each verb reads its inputs without the GIL, can be called from several threads
at once, and stops on Ctrl-C. It raises UsageError where an argument is wrong and Error where nothing can be answered.
"""

from __future__ import annotations

import os

from stepscope import _core
from stepscope.inputs import axes_of, files as given_files, flag, list_text, plans_of, settings_text, span_text
from stepscope.results import (
    Analysis,
    Check,
    Comparison,
    Digest,
    Hang,
    Live,
    Memory,
    PlanSearch,
    Prediction,
    Projection,
    Runs,
    Stacks,
    Sweep,
    WhatIf,
)

TYPE_CHECKING = False  # typing would be a sixth of the time to import
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import IO, Any, Literal, Union

    Input = Union[str, "os.PathLike[str]", IO[Any]]
    Inputs = Union[Input, Iterable[Input]]
    Named = Union[str, "os.PathLike[str]", Mapping[str, Any]]  # a name, a file, or the content of a JSON file
    Span = Union[int, str, "tuple[Any, Any]", range]
    Numbers = Union[int, str, Iterable[int]]
    Settings = Union[str, Mapping[str, Any]]
    Axes = Union[str, Sequence[str], Mapping[str, Iterable[Any]]]


def words_of(command: str | Sequence[str]) -> list[str]:
    import shlex

    return shlex.split(command) if isinstance(command, str) else [str(word) for word in command]


def share_text(share: float | str) -> str:
    return share if isinstance(share, str) else f"{share * 100:.12g}%"
'''


def type_of(flag):
    value = flag["value"]
    known = KINDS.get(value) or KINDS.get(value.removesuffix("..."))
    if known is not None:
        return known
    words = flag["choices"] or []
    if (
        words
        and all(w.replace(".", "").replace("-", "").replace("_", "").isalnum() for w in words)
        and ":" not in value
    ):
        if all(w.isdigit() for w in words):
            return "int | None", None
        return "Literal[" + ", ".join(f'"{w}"' for w in words) + "] | None", None
    if flag["repeatable"]:
        return "str | Sequence[str] | None", "[{}] if isinstance({}, str) else [*{}]"
    return "str | None", None


def wrapped(text, indent):
    return textwrap.fill(text, 96, initial_indent=indent, subsequent_indent=indent + "    ", break_on_hyphens=False,
                         break_long_words=False)  # fmt: skip


def verb_text(core, verb):
    result, before, positional = VERBS[verb]
    table = core.flags(verb)
    flags = [f for f in table["flags"] if not f["argument"]]
    flags = [f for f in flags if f["name"] not in LEFT_OUT | LEFT_OUT_OF.get(verb, set())]
    lines = [f"\n\ndef {verb}("]
    for name, kind, _ in before:
        lines.append(f"    {name}: {kind},")
    if flags:
        lines.append("    *,")
    required = [f for f in flags if f["required"]]
    for f in required + [f for f in flags if not f["required"]]:
        kind = type_of(f)[0]
        word = f["name"].replace("-", "_")
        lines.append(
            f"    {word}: {kind.removesuffix(' | None')},"
            if f["required"]
            else f"    {word}: {kind} = None,"
        )
    lines.append(f") -> {result}:")
    lines.append(wrapped(f'"""{table["description"]}', "    ").replace("        ", "    ") + "\n")
    arguments = {f["name"]: f for f in table["flags"] if f["argument"]}
    for name, _, text in before:
        what = text or next(iter(arguments.values()))["what"]
        lines.append(wrapped(f"{name}: {what.rstrip('.')}.", "    "))
    for f in flags:
        what = f["what"].replace("--", "").rstrip(".") + "."
        if f["value"] in UNITS:
            what += f" Give {UNITS[f['value']]}."
        if f["preset"]:
            what += f" Default: {f['preset']}."
        lines.append(wrapped(f"{f['name'].replace('-', '_')}: {what}", "    "))
    lines.append('    """')
    lines.append("    with given_files() as files:")
    lines.append("        arguments = [")
    if verb == "compare":
        lines.append('            *flag("a", None if a is None else files.paths_of(a)),')
        lines.append('            *flag("b", None if b is None else files.paths_of(b)),')
    for f in flags:
        word = f["name"].replace("-", "_")
        how = type_of(f)[1]
        value = word if how is None else f"None if {word} is None else " + how.replace("{}", word)
        lines.append(f'            *flag("{f["name"]}", {value}),')
    if positional != "[]":
        lines.append(
            f'            "--",\n            *({positional}),'
            if " " in positional
            else f'            "--",\n            *{positional},'
        )
    lines.append("        ]")
    lines.append(f"        return {result}(_core.{verb}(arguments))")
    return "\n".join(line for line in lines if line != "")


def main():
    package = pathlib.Path(sys.argv[1]) / "stepscope"
    module = next(package.glob("_core*.so"))
    spec = importlib.util.spec_from_file_location("_core", module)
    core = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(core)
    text = HEAD + "".join(verb_text(core, verb) for verb in VERBS)
    file = pathlib.Path(sys.argv[2])
    if "--check" in sys.argv[3:]:
        if file.read_text() != text:
            sys.exit(
                f"{file} is not what the flags give; run tools/write_python_verbs.py PACKAGE_DIR {file}"
            )
        return
    file.write_text(text)


main()
