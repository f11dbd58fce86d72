# SPDX-License-Identifier: Apache-2.0
"""What users meet in an interpreter or notebook: signatures, help, dir, completion, slices, texts and errors in the
words of Python, and what compare() takes."""

import inspect
import json
import math
import os
import pathlib
import pydoc
import re
import subprocess
import sys

import pytest
from conftest import EXAMPLE, ROOT
from stepscope.inputs import Options

import stepscope as ss
from stepscope import _core, options

VERBS = [
    "analyze", "whatif", "project", "check", "digest", "live", "hang", "memory", "stacks", "compare", "sweep", "runs",
    "predict", "plan",
]  # fmt: skip
CLASSES = list(_core.option_classes())
# A flag of a verb of the package; those of other programs are theirs.
FLAG = re.compile(r"(?<!stepscope train )(?<!record )(?<![\w-])--[a-z]")


@pytest.fixture(scope="module")
def analysis():
    return ss.analyze(EXAMPLE)


# ---- Signatures and help --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "name", [name for name in ss.__all__ if inspect.isfunction(getattr(ss, name))]
)
def test_a_function_has_at_most_ten_parameters(name):
    assert len(inspect.signature(getattr(ss, name)).parameters) <= 10


@pytest.mark.parametrize("verb", VERBS)
def test_each_flag_is_a_parameter_or_a_field_of_options(verb):
    parameters = inspect.signature(getattr(ss, verb)).parameters
    for flag in _core.flags(verb)["flags"]:
        if flag["parameter"] is None:
            continue
        if flag["options"]:
            assert flag["options"].lower() in parameters, flag["name"]
            assert flag["parameter"] in getattr(ss, flag["options"]).__dataclass_fields__
        else:
            assert flag["parameter"] in parameters, flag["name"]


@pytest.mark.parametrize("verb", VERBS)
def test_help_explains_each_parameter_without_flags(verb):
    function = getattr(ss, verb)
    text = inspect.getdoc(function)
    for parameter in inspect.signature(function).parameters:
        assert re.search(rf"^{parameter}: ", text, re.M), parameter
    assert not FLAG.search(text)


def test_help_of_the_package_is_complete():
    text = pydoc.plain(pydoc.render_doc(ss))
    assert not FLAG.search(text)
    head = text[: text.index("PACKAGE CONTENTS")]
    for name in VERBS + ["follow", "read_traces", "example"]:
        assert re.search(rf"\b{name}\b", head), f"{name} is not in the overview"
    for name in CLASSES:
        documented = inspect.getdoc(getattr(ss, name))
        for field in getattr(ss, name).__dataclass_fields__:
            assert re.search(rf"^ *{field}: ", documented, re.M), (name, field)
        assert not FLAG.search(documented)


def test_dir_of_the_package_is_what_it_offers():
    assert set(ss.__all__) <= set(dir(ss))
    assert not [name for name in dir(ss) if name not in ss.__all__ and not name.startswith("__")]
    for name in ss.__all__:
        assert getattr(ss, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'analyse'"):
        ss.analyse


# ---- Options --------------------------------------------------------------------------------------------------------
JOB = {"machine": "h100_sxm_80gb", "gpus": 8, "global_batch": 8, "seq": 128}


def test_options_are_objects_or_mappings():
    step = ss.predict("gpt2", plan=ss.Plan(tp=2), **JOB).step_time_ns
    assert ss.predict("gpt2", plan={"tp": 2}, **JOB).step_time_ns == step
    assert ss.predict("gpt2", **JOB).step_time_ns != step
    priced = ss.predict("gpt2", job={"price": 2.5}, **JOB)
    assert priced.to_dict() == ss.predict("gpt2", job=ss.Job(price=2.5), **JOB).to_dict()
    by_name = ss.predict(collective={"name": "all_reduce", "group": 8}, machine="h100_sxm_80gb")
    one = ss.Collective(name="all_reduce", group=8)
    assert by_name.to_dict() == ss.predict(collective=one, machine="h100_sxm_80gb").to_dict()
    with pytest.raises(
        ss.UsageError, match=r"a collective needs two devices.*give Collective\(group=N\)"
    ):
        ss.predict(collective="all_reduce", machine="h100_sxm_80gb")


def test_wrong_options_are_named():
    with pytest.raises(
        ss.UsageError, match=r"analyze\(\) does not take Reading.unit; leave it out"
    ):
        ss.analyze(EXAMPLE, reading=ss.Reading(unit="ms"))
    with pytest.raises(ss.UsageError, match=r"seq and Plan.seq are the same; give one"):
        ss.predict("gpt2", plan=ss.Plan(seq=64), **JOB)
    with pytest.raises(
        ss.UsageError, match=r"Job stands where Plan is meant; give plan=Plan\(...\)"
    ):
        ss.predict("gpt2", plan=ss.Job(price=1), **JOB)
    with pytest.raises(ss.UsageError, match=r"job=3 is no Job"):
        ss.predict("gpt2", job=3, **JOB)
    with pytest.raises(TypeError, match="unexpected keyword argument 'tpp'; did you mean 'tp'?"):
        ss.Plan(tpp=2)
    with pytest.raises(TypeError, match="'stepz'; did you mean 'steps'?"):
        ss.analyze(EXAMPLE, stepz=3)
    with pytest.raises(ss.Error, match=r"^{'tpp': 3}: field \"tpp\" is not a field") as error:
        ss.predict("gpt2", plan={"tpp": 3}, **JOB)
    assert error.value.file is None and "/tmp" not in str(error.value)


def test_options_are_values():
    assert ss.Plan(tp=2) == ss.Plan(tp=2) != ss.Plan(tp=4)
    assert (
        repr(ss.Plan(tp=2, offload={"optimizer": "host"}))
        == "Plan(tp=2, offload={'optimizer': 'host'})"
    )
    assert isinstance(ss.Plan(), Options)
    with pytest.raises(AttributeError):
        ss.Plan(tp=2).tp = 4


# ---- Attributes, slices, completion ---------------------------------------------------------------------------------
def test_dir_has_each_attribute_and_each_of_dir_can_be_read(analysis):
    names = [name for name in dir(analysis) if not name.startswith("_")]
    assert set(analysis.to_dict()) <= set(names)
    assert {"kernels", "operators", "budget", "verdict", "step_ns"} <= set(names)
    for name in names:
        getattr(analysis, name)
    finding = analysis.findings[0]
    assert {"gain", "gain_ns", "what"} <= set(dir(finding))


def test_a_misspelt_attribute_is_answered_with_what_there_is(analysis):
    with pytest.raises(
        AttributeError, match="'kernel'; did you mean 'kernels'.; it has .*kernels"
    ) as error:
        analysis.kernel
    with pytest.raises(TypeError, match="'verbos'; did you mean 'verbose'?"):
        analysis.text(verbos=True)
    assert (
        error.value.name == "kernel" and error.value.obj is analysis
    )  # "Did you mean: 'kernels'?"
    with pytest.raises(KeyError, match="no key 'profit'; there are .*gain_ns"):
        analysis.findings[0]["profit"]


def test_completion_knows_attributes_and_keys(analysis):
    completer = pytest.importorskip("IPython.core.completer")
    shell = pytest.importorskip("IPython.core.interactiveshell")
    made = completer.IPCompleter(
        shell=shell.InteractiveShell.instance(),
        namespace={"a": analysis, "table": analysis.budget, "ss": ss},
    )
    made.use_jedi = False

    def complete(text):
        return made.complete(line_buffer=text, cursor_pos=len(text))[1]

    assert "a.kernels" in complete("a.kern") or ".kernels" in complete("a.kern")
    assert any("share" in found for found in complete('table["sh'))
    assert any(found.endswith("Plan") for found in complete("ss.Pl"))


def test_tables_are_sequences(analysis):
    table = analysis.operators
    rows = table.to_dicts()
    assert len(table[:2]) == 2 and isinstance(table[:2], ss.Table)
    for part in (
        slice(None, 2),
        slice(-3, None),
        slice(None, None, -1),
        slice(1, 20, 3),
        slice(5, 2),
    ):
        assert table[part].to_dicts() == rows[part]
        assert table[part].columns == table.columns
    assert table[-1] == rows[-1] and list(reversed(table)) == rows[::-1]
    assert rows[3] in table and table.index(rows[3]) == 3
    assert table[:4] == table[:4] != table[:3]
    with pytest.raises(IndexError, match=rf"row {len(rows)} of a table of {len(rows)}"):
        table[len(rows)]
    with pytest.raises(KeyError, match="no column 'nam'; there are .*name"):
        table["nam"]
    with pytest.raises(
        TypeError, match="a row is an int or a slice, and a column a str, not float"
    ):
        table[1.5]


def test_parts_of_tables_are_arrow_tables(analysis):
    pyarrow = pytest.importorskip("pyarrow")
    slices = ss.read_trace(EXAMPLE, rank=0).slices
    for table in (slices, analysis.operators, analysis.gaps, analysis.budget):
        for part in (table[:5], table[::2], table[:0]):
            read = pyarrow.table(part)
            read.validate(full=True)
            assert read.to_pylist() == part.to_dicts()


def test_trace_sets_are_sequences():
    run = ss.read_traces(EXAMPLE)
    assert isinstance(run[:1], ss.TraceSet) and run[:1].ranks == [0]
    assert run[-1].rank == 1 and [trace.rank for trace in run] == [0, 1]


def test_reprs_show_what_is_there(analysis):
    lines = repr(analysis.budget).splitlines()
    assert lines[0] == "<Table: 13 rows>" and lines[1].split()[:2] == ["category", "ns"]
    assert len(lines) == 15 and "compute" in lines[2]
    assert "the first 20 below" in repr(analysis.operators)
    assert max(map(len, repr(analysis.operators).splitlines()[1:-1])) <= 130
    assert re.match(r"<RankTrace: rank 0, \d+ slices", repr(ss.read_trace(EXAMPLE, rank=0)))
    assert repr(ss.read_traces(EXAMPLE)) == "<TraceSet: 2 ranks (0, 1)>"
    assert re.match(r"Verdict\(kind='data_loader', ranks=\[1\]", repr(analysis.verdict))


def test_what_is_changed_in_a_dict_does_not_change_the_result(analysis):
    analysis.to_dict()["job"].clear()
    analysis.job.to_dict().clear()
    assert analysis.job.ranks == 2


# ---- Texts and errors -----------------------------------------------------------------------------------------------
def texts_in(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key != "flags":  # of plan(): those of Megatron and others
                yield from texts_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts_in(inner)


OTHERS = re.compile(
    r"--(trace|cuda|kernel-trace|hip-trace|marker-trace|pm-|gpu-metrics|showclocks|trace-)"
)  # of profilers


def results():
    described = {"model": "gpt2", "machine": "h100_sxm_80gb", "global_batch": 8, "seq": 128}
    times = [0.2 + 0.001 * (i % 5) for i in range(30)]
    return {
        "analyze": ss.analyze(EXAMPLE),
        "analyze a model": ss.analyze(EXAMPLE, **described),
        "analyze a part": ss.analyze(EXAMPLE, steps=(6, 7)),
        "whatif": ss.whatif(EXAMPLE),
        "check": ss.check(EXAMPLE),
        "compare": ss.compare(times, times[::-1], max_regression=0.02),
        "predict": ss.predict("gpt2", **JOB),
        "plan": ss.plan("gpt2", **JOB),
        "project": ss.project(EXAMPLE, gpus=8, recorded={"global-batch": 16}),
    }


def test_no_text_of_a_result_names_a_flag_of_the_command():
    for name, result in results().items():
        shown = [result.text(), result.text(verbose=True), *texts_in(result._tree)]
        for table in result.tables.values():
            shown += list(texts_in(table.to_dicts()))
        for text in shown:
            left = OTHERS.sub("", text)
            assert not FLAG.search(left), (name, re.findall(r".{0,60}--[a-z].{0,30}", left)[:3])
            assert not re.search(r"\bstepscope (analyze|whatif|compare|predict|plan) ", left), name


def test_texts_name_methods_where_those_of_the_command_name_flags(analysis):
    assert "text(verbose=True) prints what to do" in analysis.text()
    assert (
        "give Job(peak_tflops=N)" in analysis.text(verbose=True)
        and "give Job(peak_tflops=N)" in analysis.warnings[0]
    )
    assert "give --peak-tflops N" in analysis.to_json()


def test_a_command_is_a_call_that_gives_the_answer(analysis):
    call = analysis.answer.command
    assert call == f"stepscope.whatif({str(EXAMPLE)!r}, change='rank_as_peers:data@1')"
    assert call in analysis.text(width=400)
    found = eval(call, {"stepscope": ss})
    assert (
        found.scenarios[0].saved_ns
        == analysis.whatif(analysis.verdict.change).scenarios[0].saved_ns
    )
    part = ss.analyze(EXAMPLE, steps=(6, 9)).answer.command
    assert "steps='6:9'" in part and eval(part, {"stepscope": ss}).scenarios


def test_the_verdict_and_its_finding_have_one_confidence_and_the_real_inputs(analysis):
    assert analysis.verdict.confidence == analysis.findings[0].confidence
    assert "TRACES" not in analysis.answer.culprit
    assert str(EXAMPLE) in analysis.answer.culprit


def test_the_lists_are_tables():
    names = ss.machines()["name"]
    assert "h100_sxm_80gb" in names and len(names) == len(set(names))
    peaks = dict(zip(names, ss.machines()["predicts"]))
    assert peaks["h100_sxm_80gb"] and not peaks["h100_sxm_96gb"]
    assert "llama-3-8b" in ss.models()["name"]
    assert any(row["name"].startswith("bandwidth") and row["meaning"] for row in ss.scenarios())
    assert {"trace", "log of a job", "stacks"} <= set(ss.formats()["kind"])


def test_a_file_for_programs_has_the_words_of_the_command(analysis):
    assert "stepscope whatif" in analysis.to_dict()["answer"]["command"]
    assert analysis.to_dict()["answer"]["command"] in analysis.to_json()


@pytest.mark.parametrize(
    "call, what, remedy",
    [
        (lambda: ss.analyze(EXAMPLE, steps="last"), "steps last is no range", "write A:B"),
        (lambda: ss.predict("gpt2"), "the machine, the number of GPUs and the batch (in sequences) are missing",
         "give machine=NAME gpus=N global_batch=N"),
        (lambda: ss.predict("llama-3-8b", machine="h100_sxm_80gb", gpus=8), "the length of the sequences",
         "give global_batch=N seq=N"),
        (lambda: ss.predict("llama-4", **JOB), 'no model "llama-4"', "stepscope.models() shows all"),
        (lambda: ss.predict("gpt2", **{**JOB, "machine": "h900"}), 'no machine "h900"', "stepscope.machines() shows all"),
        (lambda: ss.whatif(EXAMPLE, change="bandwith:2"), "bandwith:2", "stepscope.scenarios()"),
        (lambda: ss.analyze([]), "the list of inputs is empty", "give a path"),
        (lambda: ss.analyze(EXAMPLE, model="gpt2"), "model needs the batch", "give global_batch=N and seq=N"),
        (lambda: ss.predict("gpt2", details=ss.Details(conventions="notebook"), **JOB),
         "Details(conventions='notebook') without Details(layers=True)", "add Details(layers=True)"),
        (lambda: ss.project(EXAMPLE), "", "give gpus=N"),
        (lambda: ss.plan("gpt2", machine="h100_sxm_80gb", gpus="few", global_batch=8), "gpus few is no number", "write gpus=512"),
    ],
)  # fmt: skip
def test_errors_name_parameters(call, what, remedy):
    with pytest.raises(ss.Error) as error:
        call()
    assert what in error.value.what
    assert remedy in (error.value.remedy or "")
    assert not FLAG.search(str(error.value))


def test_warnings_name_parameters_and_the_line_of_the_call():
    with pytest.warns(ss.InputWarning, match="rank 13 is not in the traces") as warned:
        ss.analyze(EXAMPLE).whatif("rank_as_peers@13")
    assert warned[0].filename == __file__
    assert "stepscope.scenarios() shows the changes" in str(warned[0].message)
    with pytest.raises(ss.Error, match="no step of steps='900:901' is in the traces") as error:
        ss.analyze(EXAMPLE, steps="900:901")
    assert error.value.remedy == "give other steps, or leave steps out"


def test_errors_carry_code_file_byte_and_remedy(tmp_path):
    with pytest.raises(ss.UsageError) as error:
        ss.analyze(EXAMPLE, steps="last")
    assert error.value.code == "refused" and isinstance(error.value, ValueError)
    with pytest.raises(ss.Error) as error:
        ss.analyze(tmp_path / "none.json")
    assert error.value.code == "failed" and error.value.file == str(tmp_path / "none.json")
    cut = tmp_path / "rank0.json"
    cut.write_text('{"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": ')
    with pytest.raises(ss.Error) as error:
        ss.analyze(cut)
    assert error.value.byte is None or error.value.byte <= len(cut.read_text())


# ---- compare() ------------------------------------------------------------------------------------------------------
TIMES = [0.250 + 0.001 * math.sin(i) for i in range(60)]
SLOWER = [1.1 * time for time in TIMES]


def test_compare_takes_numbers():
    c = ss.compare(TIMES, SLOWER)
    assert c.verdict == "slower" and c.a.median_ns == pytest.approx(250e6, rel=0.01)
    in_ms = ss.compare([1e3 * t for t in TIMES], [1e3 * t for t in SLOWER], unit="ms")
    assert in_ms.a.median_ns == pytest.approx(c.a.median_ns)
    assert ss.compare(tuple(TIMES), iter(SLOWER)).ratio == c.ratio
    several = ss.compare([TIMES, TIMES[::-1], TIMES], [SLOWER, SLOWER[::-1], SLOWER])
    assert len(several.launches) == 6
    numpy = pytest.importorskip("numpy")
    assert ss.compare(numpy.array(TIMES), numpy.array([SLOWER])).ratio == c.ratio


def test_compare_takes_results_and_paths(analysis, tmp_path):
    paths = ss.compare(EXAMPLE, ss.example("fsdp"))
    assert ss.compare(analysis, ss.example("fsdp")).ratio == paths.ratio
    other = ss.analyze(sorted(pathlib.Path(ss.example("fsdp")).iterdir()))
    assert ss.compare(analysis, other).ratio == paths.ratio
    times = tmp_path / "a.csv"
    times.write_text("step_time_s\n" + "\n".join(map(str, TIMES)))
    assert ss.compare(ss.check(times), SLOWER).ratio == ss.compare(times, SLOWER).ratio
    assert ss.compare(analysis, analysis).verdict != "slower"
    wall = ss.compare(analysis.steps["wall_ns"], other.steps["wall_ns"], unit="ns")
    assert wall.a.steps == len(analysis.steps)


def test_check_takes_numbers_of_ranks_and_phases():
    one = ss.check([60.0] * 4, model="gpt3-175b", global_batch=1024, seq=2048, machine="a100_sxm_80gb", gpus=1024)  # fmt: skip
    assert one.steps.median == 60
    assert "of the peak" in next(line.sentence for line in one.checks if line.name == "mfu")
    ranks = ss.check([[0.1, 0.1], [0.1, 0.1], [0.12, 0.12]])
    assert [row.rank for row in ranks.step_times.ranks] == [0, 1, 2]
    named = ss.check({"rank0": [100, 100], "rank1": [100, 101]}, unit="ms")
    assert named.steps.median == pytest.approx(0.1005)
    assert ss.check({0: [0.1], 1: [0.1]}).step_times.steps == 1
    phases = ss.check({"compute": 0.015, "comm": 0.020, "step": 0.024})
    assert phases.phases.overlap.efficiency == pytest.approx(11 / 15)
    assert ss.compare(ss.check([0.1, 0.1, 0.1]), [0.1, 0.1, 0.1]).ratio == 1
    numpy = pytest.importorskip("numpy")
    assert ss.check(numpy.array([[0.1, 0.2], [0.1, 0.2]])).steps.steps == 2


def test_check_refuses_what_is_no_time():
    for inputs, what in [
        ([0.1, -1], "step_time[1] is -1, which is no step time"),
        ([[0.1], ["a"]], "rank1[0] is 'a'"),
        ({"a,b": [1]}, "'a,b' is no name of a rank or a phase"),
        ([3, "x.csv"], "3 is no input"),
    ]:
        with pytest.raises(ss.UsageError) as caught:
            ss.check(inputs)
        assert what in str(caught.value)


def test_compare_refuses_what_is_no_launch(analysis):
    for a, what in [
        (3, "a is int, which is no launch"),
        ([], "a is empty"),
        ([0.2, -1], "a[1] is -1, which is no step time"),
        ([0.2, float("nan")], "a[1] is nan"),
        (ss.predict("gpt2", **JOB), "a is a Prediction, which is no launch"),
        (ss.analyze(EXAMPLE, steps=(6, 7)), "a is an Analysis of a part of its inputs (steps)"),
    ]:
        with pytest.raises(ss.UsageError) as error:
            ss.compare(a, TIMES)
        assert error.value.what.startswith(what) and error.value.remedy


# ---- Notebooks, examples, types -------------------------------------------------------------------------------------
def test_examples_come_with_the_package():
    assert ss.analyze(ss.example()).verdict.kind == "data_loader"
    with pytest.raises(ss.UsageError, match="no example 'none'; give one of 'ddp', 'fsdp'"):
        ss.example("none")
    with pytest.raises(ss.UsageError):
        ss.example("../stepscope")


NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("place", ["root", "home", "elsewhere"])
def test_notebooks_run_in_any_folder(place, tmp_path):
    pytest.importorskip("polars")
    assert len(NOTEBOOKS) == 3
    folder = {"root": pathlib.Path("/"), "home": ROOT / "docs/notebooks", "elsewhere": tmp_path}[
        place
    ]
    program = [sys.executable, ROOT / "tools/run_notebook.py", *NOTEBOOKS]
    done = subprocess.run(program, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


USER_CODE = """
import stepscope as ss

a = ss.analyze(ss.example(), steps=(5, 7), plan=ss.Plan(tp=1), job=ss.Job(price=2.5), reading={"threads": 2})
verdict = a.verdict
if verdict is not None:
    kind: str = verdict.kind
    ranks: list[int] = verdict.ranks
    gain: float | None = verdict.gain
for finding in a.findings:
    what: str = finding.what
    ns: int | None = finding.gain_ns
head: ss.Table = a.operators[:5]
row = a.operators[0]
cell = row["name"]
column = a.budget["share"]
step: int | None = a.step_ns
recorded: int = a.job.ranks
warnings: list[str] = a.warnings
saved = [(s.name, s.saved_ns) for s in a.whatif("bandwidth:2").scenarios]
c = ss.compare([0.1, 0.2], a, max_regression=0.02, statistics=ss.Statistics(alpha=0.01))
ratio: float | None = c.ratio
c2 = ss.compare([[0.1, 0.2], [0.1]], ["a.csv", "b.csv"], unit="ms")
p = ss.predict("gpt2", machine="h100_sxm_80gb", gpus=8, global_batch=8, seq=128, collective=None)
seconds: float = p.step_time
for term in p.step_terms:
    print(term.name, term.ns)
best = ss.plan("gpt2", machine="h100_sxm_80gb", gpus=(8, 64), global_batch=8, search=ss.Search(top=3))
print(best.best[0].step_time_ns, best.against)
for trace in ss.read_traces(ss.example())[:1]:
    print(trace.rank, trace.slices[:3].to_pandas(), trace.slices.to_dicts()[0]["name"])
try:
    ss.analyze("none")
except ss.Error as error:
    text: tuple[str, str | None, int | None, str | None] = (error.what, error.file, error.byte, error.remedy)
    print(error.code)
"""

WRONG_CODE = """
import stepscope as ss

ss.analyze(3)  # no input
ss.Plan(tpp=2)  # no field
ss.Plan(zero="three")  # no number
ss.analyze("a").kernel  # no attribute
ss.analyze("a").job.rank  # no attribute
ss.compare({"a": 1}, "b", unit="minutes")  # no unit
"""


CHECKERS = {
    "mypy": ["mypy", "--strict", "--follow-imports=silent", "--cache-dir=cache"],
    "pyright": ["pyright"],
}


def checked(checker, file):
    """Exit code and text of a type checker on one file, for which the package is installed."""
    place = str(pathlib.Path(ss.__file__).parents[1])
    (file.parent / "pyrightconfig.json").write_text(
        json.dumps({"extraPaths": [place], "typeCheckingMode": "standard"})
    )
    done = subprocess.run(
        [sys.executable, "-m", *CHECKERS[checker], file.name],
        cwd=file.parent,
        capture_output=True,
        text=True,
        env={**os.environ, "MYPYPATH": place},
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("checker", CHECKERS)
def test_user_code_is_checked_by_its_types(checker, tmp_path):
    pytest.importorskip(checker)
    (tmp_path / "right.py").write_text(USER_CODE)
    code, told = checked(checker, tmp_path / "right.py")
    if "0 errors" not in told and "Success" not in told and ":" not in told:
        pytest.skip(f"{checker} does not run here: {told}")
    assert code == 0, told
    (tmp_path / "wrong.py").write_text(WRONG_CODE)
    code, told = checked(checker, tmp_path / "wrong.py")
    lines = {int(line) for line in re.findall(r"wrong\.py:(\d+)", told)}
    expected = {i for i, line in enumerate(WRONG_CODE.splitlines(), 1) if "# no" in line}
    assert code == 1 and lines == expected, told


def test_the_types_are_those_of_the_documented_json():
    program = [
        sys.executable,
        ROOT / "tools/write_python_types.py",
        ROOT / "python/stepscope/shapes.pyi",
        "--check",
    ]
    done = subprocess.run(program, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_no_public_type_is_any():
    text = (ROOT / "python/stepscope/shapes.pyi").read_text()
    assert "Any" not in text
    for module in (
        options,
        sys.modules["stepscope.verbs"],
        sys.modules["stepscope.table"],
        sys.modules["stepscope.traces"],
    ):
        assert not re.search(r"\bAny\b", inspect.getsource(module)), module.__name__
