#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the functions of the verbs and the classes of their options, from the flags that the command declares.

write_python_verbs.py PACKAGE_DIR FOLDER [--check]

PACKAGE_DIR holds the built package `stepscope`. verbs.py and options.py of FOLDER are written. With --check nothing is
written, and the exit code is 1 where a file is not what would be written. Which flag is a parameter and which a field is
decided in stepscope/binding/parameters.cc.
"""

import importlib.util
import pathlib
import sys
import textwrap

MOST_PARAMETERS = 10

# Verb: class of the result, parameters before the flags (name, type, text), and what they become.
VERBS = {
    "analyze": ("Analysis", [("inputs", "Inputs", None)], "place.paths_of(inputs)"),
    "whatif": ("WhatIf", [("inputs", "Inputs", None)], "place.paths_of(inputs)"),
    "project": ("Projection", [("inputs", "Inputs", None)], "place.paths_of(inputs)"),
    "check": (
        "Check",
        [
            (
                "inputs",
                "Inputs | StepTimes",
                "Traces of one run, a training log, the JSON of stepscope train, or step times: a file, one file of each "
                "rank, numbers, a list of numbers for each rank, or a dict of lists by rank or phase (seconds unless "
                "`unit` is given). Logs of nvidia-smi or DCGM with them.",
            )
        ],
        "checked_paths(inputs, unit, place)",
    ),
    "digest": ("Digest", [("inputs", "Inputs", None)], "place.paths_of(inputs)"),
    "live": ("Live", [("sources", "Inputs", None)], "place.paths_of(sources)"),
    "hang": ("Hang", [("inputs", "Inputs", None)], "place.paths_of(inputs)"),
    "memory": ("Memory", [("inputs", "Inputs", None)], "place.paths_of(inputs)"),
    "stacks": ("Stacks", [("inputs", "Inputs", None)], "place.paths_of(inputs)"),
    "compare": (
        "Comparison",
        [
            (
                "a",
                "Launches | None = None",
                "A launch of A, or a list of launches in the order they ran. A launch is a path (a trace, a directory or "
                "pattern of one, a list of step times as CSV, a log), a result of analyze() or check(), or the times of "
                "its steps: numbers, which are seconds unless `unit` is given.",
            ),
            ("b", "Launches | None = None", "A launch of B, or a list of launches, likewise."),
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
    "runs": ("Runs", [("folder", "str | os.PathLike[str]", None)], "[place.value_of(folder)]"),
    "predict": (
        "Prediction",
        [("model", "Named | None = None", None)],
        "[] if model is None else [place.value_of(model)]",
    ),
    "plan": ("PlanSearch", [("model", "Named", None)], "[place.value_of(model)]"),
}
# Type and argument by the value that help shows; {} is the keyword.
KINDS = {
    "A:B": ("Span | None", "span_text"),
    "FROM:UNTIL": ("Span | None", "span_text"),
    "FROM:TO": ("Span | None", "span_text"),
    "N|A:B": ("Span | None", "span_text"),
    "LIST": ("Numbers | None", "list_text"),
    "N,N,...": ("Numbers | None", "list_text"),
    "WHAT,...": ("str | Sequence[str] | None", "list_text"),
    "WHAT=WHERE,...": ("Settings | None", "settings_text"),
    "NAME=VALUE,...": ("Settings | None", "settings_text"),
    "NAME=VALUE,...|FILE": ("Settings | Sequence[Settings] | None", "plans_of"),
    "NAME=V1,V2,...": ("Axes | None", "axes_of"),
    "FILE": ("Named | None", "place.value_of"),
    "MODEL|FILE": ("Named | None", "place.value_of"),
    "MACHINE|FILE": ("Named | None", "place.value_of"),
    "TABLE": ("Named | Sequence[Named] | None", "place.values_of"),
    "DIR": ("str | os.PathLike[str] | None", "os.fspath"),
    "N": ("int | None", None),
    "TFLOPS": ("float | None", None),
    "FLOPS": ("float | None", None),
    "NUMBER": ("float | None", None),
    "PERCENT": ("float | str | None", "share_text"),
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

VERBS_HEAD = '''# SPDX-License-Identifier: Apache-2.0
# Written by tools/write_python_verbs.py from the flags of the command.
"""The verbs, each a function.

A parameter that is None is not given. Parameters that are needed now and then are fields of option objects
(stepscope.options): analyze("traces/", plan=Plan(tp=8), job=Job(price=2.5)). Types are in stepscope.kinds.
Each verb reads its inputs without the GIL, can be called from several threads at once, and stops on Ctrl-C.
It raises UsageError where an argument is wrong and Error where nothing can be answered.
"""

from __future__ import annotations

import os

from stepscope import _core
from stepscope.inputs import (
    arguments_of,
    axes_of,
    files,
    flag,
    list_text,
    named,
    options_from,
    plans_of,
    settings_text,
    share_text,
    span_text,
    texts_of,
    words_of,
)
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
    from collections.abc import Mapping, Sequence
    from typing import Literal

    from stepscope.kinds import (
        Axes,
        Inputs,
        Launches,
        Named,
        Numbers,
        Settings,
        Span,
        StepTimes,
    )
    from stepscope.options import (
        Collective,
        Details,
        Job,
        Join,
        Launching,
        Plan,
        Reading,
        Search,
        Statistics,
        Trees,
    )
'''

OPTIONS_HEAD = '''# SPDX-License-Identifier: Apache-2.0
# Written by tools/write_python_verbs.py from the flags of the command.
"""Options of the verbs, which are needed now and then: one class for each group of them. A field that is None is not given.

    ss.predict("llama-3-8b", machine="h100_sxm_80gb", gpus=64, plan=ss.Plan(tp=8, zero=1), job=ss.Job(price=2.5))

A field that a verb does not take raises UsageError there.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from stepscope.inputs import (
    Options,
    files,
    flag,
    list_text,
    settings_text,
    share_text,
    span_text,
    texts_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from stepscope.kinds import Named, Numbers, Settings, Span
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
        return "str | Sequence[str] | None", "texts_of"
    return "str | None", None


def wrapped(text, indent):
    return textwrap.fill(text, 96, initial_indent=indent, subsequent_indent=indent + "    ", break_on_hyphens=False,
                         break_long_words=False)  # fmt: skip


def what_of(f):
    what = f["what"].rstrip(".") + "."
    if f["value"] in UNITS:
        what += f" Give {UNITS[f['value']]}."
    if f["preset"]:
        what += f" Default: {f['preset']}."
    return what


def made(f, word):
    """The arguments of a flag whose value is the expression `word`."""
    how = type_of(f)[1]
    return f'flag("{f["name"]}", {word}{"" if how is None else ", " + how})'


def option_type(name, first):
    """The type of the parameter that takes an object of the class."""
    other = {"Plan": " | Named", "Collective": " | str | Mapping[str, object]"}.get(
        name, " | Mapping[str, object]"
    )
    return f"{name}{other} | None = None"


# What a class is made of where another value stands for it: Plan of a plan file, Collective of a name.
FIRST = {"Plan": "file", "Collective": "name"}


def verb_text(core, verb):
    result, before, positional = VERBS[verb]
    table = core.flags(verb)
    flags = {f["name"]: f for f in table["flags"] if f["parameter"]}
    own = [flags[name] for name in table["order"] if name in flags]
    own.sort(key=lambda f: not f["required"])
    own = [f for f in own if f["name"] not in [name for name, _, _ in before]]
    classes = core.option_classes()
    takes = [
        f["name"] for f in flags.values() if f["options"] or f["name"] in ("plan", "collective")
    ]
    unknown = [
        f["name"]
        for f in flags.values()
        if not f["options"] and f["name"] not in table["order"] + takes
    ]
    if unknown:
        sys.exit(f"{verb} has flags without a place in Python: {unknown}")
    count = len(before) + len(own) + len(table["options"])
    if count > MOST_PARAMETERS:
        sys.exit(
            f"{verb} has {count} parameters; give some a class in stepscope/binding/parameters.cc"
        )
    lines = [f"\n\n@named\ndef {verb}("]
    lines += [f"    {name}: {kind}," for name, kind, _ in before]
    if own or table["options"]:
        lines.append("    *,")
    for f in own:
        kind = type_of(f)[0]
        lines.append(
            f"    {f['parameter']}: {kind.removesuffix(' | None')},"
            if f["required"]
            else f"    {f['parameter']}: {kind} = None,"
        )
    for name in table["options"]:
        lines.append(f"    {classes[name]['parameter']}: {option_type(name, FIRST.get(name))},")
    lines.append(f") -> {result}:")
    lines.append(wrapped(f'"""{table["description"]}', "    ").replace("        ", "    ") + "\n")
    arguments = [f for f in table["flags"] if f["argument"]]
    for name, _, text in before:
        lines.append(wrapped(f"{name}: {(text or arguments[0]['what']).rstrip('.')}.", "    "))
    for f in own:
        lines.append(wrapped(f"{f['parameter']}: {what_of(f)}", "    "))
    for name in table["options"]:
        parameter, what = classes[name]["parameter"], classes[name]["what"]
        of_class = classes[name]["fields"]
        fields = [of_class[f["name"]] for f in flags.values()
                  if f["options"] == name or f["name"] == parameter and name in FIRST]  # fmt: skip
        also = {
            "Plan": "a plan file, or its content as a dict",
            "Collective": "its name, or a dict",
        }.get(name, "a dict")
        shown = (
            f"{name}(...), whose fields help({name}) lists"
            if len(fields) > 12
            else f"{name}({', '.join(fields)})"
        )
        lines.append(
            wrapped(
                f"{parameter}: {what} Give {shown}, {'' if ',' in also else 'or '}{also}.", "    "
            )
        )
    lines.append('    """')
    lines.append("    with files() as place:")
    if verb == "compare":
        lines.append("        from stepscope.launches import label_of, launches_of\n")
    if verb == "check":
        lines.append("        from stepscope.launches import checked_paths\n")
    lines.append("        arguments = arguments_of(")
    lines.append(f'            "{verb}",')
    lines.append(wrapped_text(" ".join(takes)))
    lines.append("            {")
    if verb == "compare":
        for side in "ab":
            lines.append(
                f'                "{side}": flag("{side}", launches_of("{side}", {side}, unit, place)),'
            )
            lines.append(f'                "label-{side}": flag("label-{side}", label_of({side})),')
    for f in own:
        lines.append(f'                "{f["name"]}": {made(f, f["parameter"])},')
    lines.append("            },")
    objects = [
        f'options_from("{name}", {classes[name]["parameter"]}'
        + (f', "{FIRST[name]}")' if name in FIRST else ")")
        for name in table["options"]
    ]
    lines += (
        ["            ["]
        + [f"                {made_of}," for made_of in objects]
        + ["            ],"]
        if objects
        else ["            [],"]
    )
    lines.append("            place,")
    lines.append("        )")
    if positional != "[]":
        lines.append(
            f'        arguments += ["--", *{positional if " " not in positional else f"({positional})"}]'
        )
    if verb in ("analyze", "check"):
        part = [f["parameter"] for f in own if f["name"] in ("steps", "ranks", "unit")] + [
            "reading"
        ]
        pairs = ", ".join(f'("{name}", {name})' for name in part)
        lines.append(f"        part = [name for name, value in ({pairs}) if value is not None]")
        lines.append(f"        return {result}(_core.{verb}(arguments), inputs, part)")
    else:
        lines.append(f"        return {result}(_core.{verb}(arguments))")
    return "\n".join(line for line in lines if line != "")


def wrapped_text(text):
    """A string literal over several lines."""
    lines = textwrap.wrap(text, 80, break_on_hyphens=False) or [""]
    if len(lines) == 1:
        return f'            "{text}",'
    return (
        "            "
        + "\n            ".join(
            f'"{line}{" " if i + 1 < len(lines) else ""}"' for i, line in enumerate(lines)
        )
        + ","
    )


def class_text(core, name, fields):
    what = core.option_classes()[name]["what"]
    sections = {}
    for f in fields:
        sections.setdefault(f["group"], []).append(f)
    lines = [f"\n\n@dataclass(frozen=True, kw_only=True, repr=False)\nclass {name}(Options):"]
    lines.append(wrapped(f'"""{what}', "    ").replace("        ", "    "))
    for section, members in sections.items():
        lines.append("")
        if len(sections) > 1 and len(fields) > 12:
            lines.append(f"    {section}:")
        lines += [wrapped(f"{f['parameter']}: {what_of(f)}", "    ") for f in members]
    lines.append('    """\n')
    lines += [f"    {f['parameter']}: {type_of(f)[0]} = None" for f in fields]
    lines.append("\n    def _arguments(self, place: files) -> dict[str, list[str]]:")
    lines.append("        return {")
    lines += [f'            "{f["name"]}": {made(f, "self." + f["parameter"])},' for f in fields]
    lines.append("        }")
    other = {
        f["name"]: f["parameter"] for f in fields if f["parameter"] != f["name"].replace("-", "_")
    }
    if other:
        lines.append("\n    def _name_of(self, flag: str) -> str:")
        lines.append(
            f'        return f"{name}.{next(iter(other.values()))}" if flag == "{next(iter(other))}" else super()._name_of(flag)'
        )
    return "\n".join(lines)


def options_text(core):
    """The classes. A field is described as in a verb that does not have it among its common flags, if there is one."""
    texts = [OPTIONS_HEAD]
    for name, options in core.option_classes().items():
        found = {}
        for verb in VERBS:
            for f in core.flags(verb)["flags"]:
                if f["argument"] or f["parameter"] is None or f["name"] not in options["fields"]:
                    continue
                if f["name"] not in found or found[f["name"]]["group"] in (
                    "Common flags",
                    "Process groups",
                ):
                    found[f["name"]] = f | {"parameter": options["fields"][f["name"]]}
        texts.append(
            class_text(core, name, [found[flag] for flag in options["fields"] if flag in found])
        )
    return "".join(texts) + "\n"


def main():
    package = pathlib.Path(sys.argv[1]) / "stepscope"
    module = next(package.glob("_core*.so"))
    spec = importlib.util.spec_from_file_location("_core", module)
    core = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(core)
    folder = pathlib.Path(sys.argv[2])
    texts = {
        folder / "verbs.py": VERBS_HEAD + "".join(verb_text(core, verb) for verb in VERBS) + "\n",
        folder / "options.py": options_text(core),
    }
    for file, text in texts.items():
        if "--check" not in sys.argv[3:]:
            file.write_text(text)
        elif file.read_text() != text:
            sys.exit(
                f"{file} is not what the flags give; run tools/write_python_verbs.py PACKAGE_DIR {folder}"
            )


main()
