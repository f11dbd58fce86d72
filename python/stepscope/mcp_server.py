# SPDX-License-Identifier: Apache-2.0
"""The verbs as tools of the Model Context Protocol, over standard input and output: `stepscope mcp FOLDER...`.

Needs the package mcp: pip install 'mcp>=2'. Each tool answers with the brief form of a result (stepscope.brief). The tools
of the server read files below the given folders only, and from the network only with --allow-urls. Links in these folders
are followed by verbs that read whole folders. The functions of this module have no such limits.
"""

from __future__ import annotations

import argparse
import functools
import glob
import inspect
import os
import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import stepscope
from stepscope.brief import brief

INSTRUCTIONS = """\
stepscope accounts for the steps of training runs. Call analyze first with the folder of a run's profiler traces: it names
the one cause that costs most (verdict: kind, ranks, gain_ns of a step) and what to try. Then whatif replays the steps with
a change, such as verdict.next names. compare tells whether a run is faster than another or whether that is noise. live tells
how a job is that still runs. predict and plan need no traces. Times are nanoseconds. `sentence` is the answer in words; quote it."""


def _answer(call, *arguments: Any, **keywords: Any) -> dict[str, Any]:
    """The brief result; an error of the user's input as {error, file, byte, remedy, code}, which an assistant can act on."""
    given = {name: value for name, value in keywords.items() if value is not None}
    with warnings.catch_warnings(record=True) as remarks:
        warnings.simplefilter("always", stepscope.InputWarning)
        try:
            result = brief(call(*arguments, **given))
        except stepscope.Error as error:
            return {
                "error": error.what,
                "file": error.file,
                "byte": error.byte,
                "remedy": error.remedy,
                "code": error.code,
            }
        except TypeError as error:  # a keyword that the verb does not have
            return {"error": str(error), "remedy": "see `options` in the description of the tool"}
    if remarks:
        result["failures"] = [str(remark.message) for remark in remarks]
    return result


def analyze(
    inputs: str | list[str], model: str | None = None, machine: str | None = None, steps: str | None = None,
    ranks: str | None = None, options: dict[str, Any] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Where each step of a run goes, which rank or group costs time, and what to try first.

    inputs: a folder, files or patterns of profiler traces of one run (PyTorch, Nsight Systems exports, Perfetto, rocprofv3,
    XLA). model, machine: of the catalogue or files, for the MFU. steps: "A:B". ranks: "0,2,8-15". options: other parameters
    of stepscope.analyze, such as {"global_batch": 256, "seq": 8192, "plan": {"zero": 3}}."""
    return _answer(
        stepscope.analyze,
        inputs,
        model=model,
        machine=machine,
        steps=steps,
        ranks=ranks,
        **(options or {}),
    )


def whatif(
    inputs: str | list[str], changes: list[str] | None = None, steps: str | None = None
) -> dict[str, Any]:
    """What a step would take with a change, by replaying the recorded steps.

    changes: such as "rank_as_peers@13" (rank 13 works as fast as its peers), "bandwidth:2", "data_free@1", "no_overlap";
    without them the changes that are worth asking about. An unknown change gives an error that lists those that exist."""
    return _answer(stepscope.whatif, inputs, change=changes, steps=steps)


def compare(
    a: str | list[str], b: str | list[str], max_regression: str | None = None
) -> dict[str, Any]:
    """Whether run B is faster or slower than run A, or whether that is noise; with traces also which parts changed.

    a, b: traces, logs of training jobs, or lists of step times; a list is several launches. max_regression: "2%"."""
    return _answer(stepscope.compare, a, b, max_regression=max_regression)


def predict(
    model: str,
    machine: str,
    gpus: int,
    global_batch: int,
    seq: int | None = None,
    options: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """What a step of a model should take on a machine, in how much memory, term by term.

    model: llama-3-8b, gpt3-175b, ... or a Hugging Face config.json. machine: h100_sxm_80gb, a100_sxm_80gb, ... options:
    such as {"plan": {"tp": 8, "pp": 4, "zero": 1, "micro_batch": 1, "recompute": "selective"}}."""
    return _answer(
        stepscope.predict,
        model,
        machine=machine,
        gpus=gpus,
        global_batch=global_batch,
        seq=seq,
        **(options or {}),
    )


def plan(
    model: str, machine: str, gpus: int, global_batch: int, seq: int | None = None, against: list[str] | None = None,
    options: dict[str, Any] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """The fastest way to run a model on a number of GPUs, and how far plans of your own are from it.

    against: plans such as "tp=8,pp=4,zero=1". options: such as {"fix": "tp=8", "search": {"max": "pp=16", "memory_headroom": 0.1}}."""
    return _answer(
        stepscope.plan, model, machine=machine, gpus=gpus, global_batch=global_batch, seq=seq, against=against, **(options or {})
    )  # fmt: skip


def live(sources: str | list[str], options: dict[str, Any] | None = None) -> dict[str, Any]:
    """How a running job is now: whether it is fine, which ranks are late since when, what has changed, and what is not seen.

    sources: directories or files that the job writes to (files of steps, NCCL Inspector, stepscope's NCCL plugin, training
    logs, metrics), or HOST:PORT of NCCL's RAS service. What is there is read once. options: such as {"silent": 30}."""
    return _answer(stepscope.live, sources, **(options or {}))


TOOLS = (analyze, whatif, compare, predict, plan, live)

# Arguments that are places of files. Other arguments may be, too: a file may have the name of a machine or model.
PLACES = ("inputs", "a", "b", "sources")
URL = re.compile(r"(https?|s3)://", re.IGNORECASE)
SERVICE = re.compile(r"[^/]+:[0-9]+")  # HOST:PORT


@dataclass(frozen=True)
class Access:
    """What the tools may read."""

    folders: tuple[str, ...] = ()
    urls: bool = False

    def allows(self, place: str) -> bool:
        found = [place, *glob.glob(place)]
        real = [os.path.realpath(folder) for folder in self.folders]
        return all(
            any(os.path.commonpath([folder, os.path.realpath(one)]) == folder for folder in real)
            for one in found
        )

    def refusal(self, argument: str, text: str) -> dict[str, Any] | None:
        """The answer of a tool that may not read what a text of this argument names; None: it may, or it names nothing."""
        if "\0" in text:
            return {"error": "a name has a zero byte", "remedy": "give another name"}
        if URL.match(text) or (argument == "sources" and SERVICE.fullmatch(text)):
            if self.urls:
                return None
            return {
                "error": "this server reads nothing from the network",
                "file": text,
                "remedy": "ask the user to start it with --allow-urls, or to download the file",
            }
        is_place = argument in PLACES or os.path.lexists(text) or glob.has_magic(text)
        if not is_place or self.allows(text):
            return None
        below = ", ".join(self.folders)
        return {
            "error": f"this server reads below {below} only"
            if below
            else "this server reads no files",
            "file": text,
            "remedy": "ask the user to start it with the folder: stepscope mcp FOLDER",
        }


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.items():
            yield from _texts(part)
    elif isinstance(value, (list, tuple, set)):
        for part in value:
            yield from _texts(part)


def guarded(tool, access: Access):
    """The tool, which refuses arguments that name what `access` does not allow."""

    @functools.wraps(tool)
    def limited(*arguments: Any, **keywords: Any) -> dict[str, Any]:
        given = inspect.signature(tool).bind(*arguments, **keywords).arguments
        for name, value in given.items():
            for text in _texts(value):
                refused = access.refusal(name, text)
                if refused:
                    return refused
        return tool(*arguments, **keywords)

    return limited


def server(access: Access):
    """The server with its tools, not yet running. Raises ImportError without the package mcp."""
    try:
        from mcp.server.mcpserver import MCPServer
    except ImportError:
        try:
            from mcp.server.fastmcp import FastMCP as MCPServer  # mcp 1.x
        except ImportError as missing:
            raise ImportError("this needs the package mcp: pip install 'mcp>=2'") from missing
    made = MCPServer("stepscope", instructions=INSTRUCTIONS)
    for tool in TOOLS:
        made.tool()(guarded(tool, access))
    return made


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="stepscope mcp")
    parser.add_argument("folders", metavar="FOLDER", nargs="*")
    parser.add_argument("--allow-urls", action="store_true")
    given = parser.parse_args(words)
    for folder in given.folders:
        if not os.path.isdir(folder):
            sys.exit(
                f"stepscope mcp: {folder}: no such folder; give folders that the assistant may read"
            )
    try:
        made = server(Access(tuple(map(os.path.abspath, given.folders)), given.allow_urls))
    except ImportError as missing:
        sys.exit(f"stepscope mcp: {missing}")
    made.run()


if __name__ == "__main__":
    main()
