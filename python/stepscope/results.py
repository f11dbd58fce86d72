# SPDX-License-Identifier: Apache-2.0
"""What the verbs return. Each result is made by one call of the library; its forms (tree, text, page,
tables) are made when they are asked for, and are those that the command writes.
"""

from __future__ import annotations

import os
import sys
import warnings
from functools import cached_property

from stepscope import _core
from stepscope.errors import Error, InputWarning
from stepscope.inputs import named
from stepscope.records import Finding, Record, Scenario, Verdict, record_of
from stepscope.table import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from stepscope.kinds import Inputs
    from stepscope.records import Tree
    from stepscope.shapes import (
        AnalysisAttributes,
        CheckAttributes,
        ComparisonAttributes,
        DigestAttributes,
        HangAttributes,
        LiveAttributes,
        MemoryAttributes,
        PlanSearchAttributes,
        PredictionAttributes,
        ProjectionAttributes,
        RunsAttributes,
        StacksAttributes,
        SweepAttributes,
        WhatIfAttributes,
    )
else:  # the types of the attributes are for type checkers and editors
    AnalysisAttributes = CheckAttributes = ComparisonAttributes = object
    DigestAttributes = HangAttributes = LiveAttributes = object
    MemoryAttributes = PlanSearchAttributes = PredictionAttributes = object
    ProjectionAttributes = RunsAttributes = StacksAttributes = object
    SweepAttributes = WhatIfAttributes = object


class Result(Record):
    """What a verb returns. Its attributes are the keys of its JSON (docs/reference/json.md), and its
    tables. print(result) shows its text, and dir(result) lists what it has."""

    __slots__ = ("__dict__", "_answer")
    _table_names: tuple[str, ...] = ()  # attributes that are tables

    def __init__(
        self, answer: _core.Answer, inputs: Inputs | None = None, part: list[str] | None = None
    ) -> None:
        self._answer = answer
        self._inputs = inputs  # for compare(), or None
        self._part = part or []  # the parameters by which it is of a part of its inputs
        for failure in answer.failures:
            warnings.warn(str(failure), InputWarning, stacklevel=_level())

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"{type(self).__name__} cannot be pickled; keep its to_dict() or its inputs"
        )

    @cached_property
    def _tree(self) -> dict[str, Any]:  # type: ignore[override]
        return self._answer.tree()

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            if name in self._table_names:
                return self.tables[name]
            return super().__getattr__(name)

    def _names(self) -> list[str]:
        return list(dict.fromkeys([*super()._names(), *self._table_names]))

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__  # type: ignore[assignment]

    @property
    def failures(self) -> list[Error]:
        """What could not be read or answered while the rest was."""
        return self._answer.failures

    @cached_property
    def tables(self) -> dict[str, Table]:
        """All tables by name. A table may have no rows."""
        return {name: Table(table) for name, table in self._answer.tables().items()}

    @property
    def sentence(self) -> str:
        """The answer in words: the first lines of the terminal."""
        answer = self._tree.get("answer")
        return answer["sentence"] if answer else self.text().split("\n\n", 1)[0].replace("\n", " ")

    def to_json(self) -> str:
        """The JSON that the command writes, byte for byte."""
        return self._answer.json().decode()

    def to_dict(self) -> dict[str, Tree]:
        """The object of to_json(). Its texts name the flags of the command; those of the attributes
        name parameters."""
        return self._answer.tree(command=True)

    @named
    def text(
        self, *, brief: bool = False, verbose: bool = False, width: int = 100, colour: bool = False
    ) -> str:
        """The answer as text. brief: only the answer and what to try. verbose: every table. width: of
        a line. colour: with the codes of a terminal."""
        return self._answer.text("brief" if brief else "all" if verbose else "usual", width, colour)

    def html(self) -> str:
        """One self-contained page."""
        return self._answer.page()

    def save_html(self, path: str | os.PathLike[str]) -> None:
        """Writes html() to a file, which is complete or not there."""
        import tempfile

        path = os.fspath(path)
        page = self.html().encode()
        folder = os.path.dirname(path) or "."
        try:
            handle, temporary = tempfile.mkstemp(prefix=os.path.basename(path) + ".", dir=folder)
        except OSError as cause:
            raise Error(
                f"cannot write: {cause.strerror}",
                path,
                None,
                "choose a place that you may write to",
            ) from cause
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(page)
            os.chmod(temporary, 0o666 & ~_umask())
            os.replace(temporary, path)
        except OSError as cause:
            os.unlink(temporary)
            raise Error(
                f"cannot write: {cause.strerror}", path, None, "free space or choose another place"
            ) from cause

    def __repr__(self) -> str:
        return self.text()

    def __str__(self) -> str:
        return self.text()


def _level() -> int:
    """The level of the caller's first frame outside the package, for warnings."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("stepscope."):
        frame, level = frame.f_back, level + 1
    return level


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


class Analysis(Result, AnalysisAttributes):
    """Where each training step goes (analyze()).

    Tables: budget (one row a category: ns of a step, mean over ranks and steps), ranks, steps,
    kernels, operators, collectives, gaps, stragglers.
    """

    __slots__ = ()
    _table_names = (
        "budget",
        "ranks",
        "steps",
        "kernels",
        "operators",
        "collectives",
        "gaps",
        "stragglers",
    )
    budget: Table
    ranks: Table
    steps: Table
    kernels: Table
    operators: Table
    collectives: Table
    gaps: Table
    stragglers: Table

    @cached_property
    def _brief(self) -> dict[str, Any]:
        return self._answer.tree(brief=True)

    @property
    def verdict(self) -> Verdict | None:
        """The one cause with its numbers; None where no replay can show it."""
        return record_of(self._tree["answer"]["verdict"], Verdict)

    @property
    def findings(self) -> list[Finding]:
        """What is worth doing, largest gain first; what is under another finding follows it."""
        return record_of(self._tree["findings"], Finding)

    @property
    def budget_ns(self) -> dict[str, int]:
        """Nanoseconds of a step by category, mean over ranks and steps. They sum to the step."""
        return self._tree["job"]["budget_ns"]

    @property
    def step_ns(self) -> int | None:
        """The mean step, the sum of `budget_ns`; None without a step."""
        return sum(self.budget_ns.values()) or None

    def brief(self) -> dict[str, Any]:
        """The answer, what to try and the next command in less than 2,000 tokens, for programs and
        assistants."""
        return self._brief

    def whatif(self, *changes: str, machine: str | None = None) -> WhatIf:
        """Replays the recorded steps with each change ("rank_as_peers@13", "bandwidth:2"); without
        one, with all changes that an analysis asks for. docs/reference/changes.md lists them."""
        return WhatIf(self._answer.whatif(list(changes), machine or ""))

    def summary(self) -> dict[str, float | int | str]:
        """A flat dict for W&B, MLflow and TensorBoard: "stepscope/step_ms", a share for each category
        of the budget, the verdict. Facts that are not known are left out."""
        tree = self._brief
        out: dict[str, float | int | str] = {"stepscope/ranks": tree["ranks"]}
        step = sum(tree["budget_ns"].values())
        if step:
            out["stepscope/step_ms"] = step / 1e6
            for category, ns in tree["budget_ns"].items():
                out[f"stepscope/share/{category}"] = ns / step
        mfu = self._tree["mfu"]
        if mfu is not None and mfu["mfu"] is not None:
            out["stepscope/mfu"] = mfu["mfu"]
        verdict = tree["verdict"]
        if verdict is not None:
            out["stepscope/verdict"] = verdict["kind"]
            out["stepscope/verdict_ranks"] = ",".join(map(str, verdict["ranks"]))
            if verdict["gain_ns"] is not None:
                out["stepscope/verdict_gain_ms"] = verdict["gain_ns"] / 1e6
        out["stepscope/sentence"] = tree["sentence"]
        return out

    def _repr_html_(self) -> str:
        from stepscope.notebook import analysis_html

        return analysis_html(self)


class WhatIf(Result, WhatIfAttributes):
    """What changes would buy (whatif())."""

    __slots__ = ()

    @property
    def scenarios(self) -> list[Scenario]:
        """One for each change, in their order; without a change the standard ones, largest gain first."""
        return record_of(self._tree["scenarios"], Scenario)

    @property
    def table(self) -> Table:
        """The scenarios as a table."""
        return self.tables["scenarios"]


class Projection(Result, ProjectionAttributes):
    """The step of the job on other GPUs or under another plan (project()). Tables: changes, width."""

    __slots__ = ()
    _table_names = ("changes", "width")
    changes: Table
    width: Table


class Comparison(Result, ComparisonAttributes):
    """Whether B differs from A (compare()). Tables: launches, parts."""

    __slots__ = ()
    _table_names = ("launches",)
    launches: Table


class Sweep(Result, SweepAttributes):
    """Which value of a setting is the fastest (sweep())."""

    __slots__ = ()


class Runs(Result, RunsAttributes):
    """From which run of a job on the steps changed (runs())."""

    __slots__ = ()

    def restore(self, run: str, folder: str | os.PathLike[str]) -> int:
        """Writes the digests of a run's traces, which the history keeps, below a folder, which is made.
        analyze() and compare() read them as the traces. Gives their number."""
        where = ["--history", self.history, "--restore", run, "--out", os.fspath(folder)]
        return _core.runs([".", *where]).tree()["digests"]


class Check(Result, CheckAttributes):
    """What a few steps or a log show already (check())."""

    __slots__ = ()


class Digest(Result, DigestAttributes):
    """Which digests were written (digest())."""

    __slots__ = ()


class Hang(Result, HangAttributes):
    """Why a job stands still (hang())."""

    __slots__ = ()


class Live(Result, LiveAttributes):
    """How a running job is (live(), or one reading of follow())."""

    __slots__ = ()

    @property
    def late(self) -> list[Record]:
        """The processes whose ranks are late now, the latest first."""
        late = [p for p in self.processes if p.late and not p.replaced]
        return sorted(late, key=lambda p: -p.late.late_ns)


class Memory(Result, MemoryAttributes):
    """What holds a GPU's memory (memory())."""

    __slots__ = ()


class Stacks(Result, StacksAttributes):
    """What the host does in each phase (stacks()). Tables: threads, phases, functions."""

    __slots__ = ()


class Prediction(Result, PredictionAttributes):
    """What a step of a model, or a collective, should take (predict()). Tables: terms, memory,
    layers, layer_sums, comparison; with conventions: attention, feed_forward, ...; of a collective: collective."""

    __slots__ = ()


class PlanSearch(Result, PlanSearchAttributes):
    """The fastest plans (plan()). Tables: plans, pareto, by_devices, against, rejected,
    sensitivity."""

    __slots__ = ()
