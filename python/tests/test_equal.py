# SPDX-License-Identifier: Apache-2.0
"""The results of the API are those of the command, byte for byte."""

import json
import re
import warnings

import pytest
from conftest import EXAMPLE, shared_runs

import stepscope as ss

RUNS = {"example": [str(EXAMPLE)], **shared_runs()}


def without_times(data):
    """Without the time that reading or searching took."""
    return re.sub(
        rb'read in [0-9.]+ (ns|\xc2\xb5s|ms|s)\b|in [0-9.]+ (ms|s)\b|"elapsed_ns":[0-9.]+',
        b"TIME",
        data,
    )


def analysis_of(paths):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ss.InputWarning)
        return ss.analyze(paths)


@pytest.mark.parametrize("run", RUNS)
def test_analyze_gives_the_bytes_of_the_command(run, command):
    paths = RUNS[run]
    codes = (0, 1)  # 1: a file of the run could not be used
    try:
        analysis = analysis_of(paths)
    except ss.Error:
        command("analyze", *paths, codes=(1,))  # fails too
        return
    text = command("analyze", *paths, "--json", "-", codes=codes)
    assert analysis._answer.json() == text
    assert analysis.to_dict() == json.loads(text)
    assert analysis._answer.json(True) == command(
        "analyze", *paths, "--brief", "--json", "-", codes=codes
    )
    for arguments, detail in (
        ([], "usual"),
        (["--brief"], "brief"),
        (["--verbose"], "all"),
    ):
        printed = command("analyze", *paths, *arguments, codes=codes)
        text = analysis._answer.text(detail, command=True)
        assert without_times(text.encode()) == without_times(printed)


@pytest.mark.parametrize("run", [run for i, run in enumerate(RUNS) if i % 8 == 0])
def test_the_page_and_the_tables_are_those_of_the_command(run, command, tmp_path):
    paths = RUNS[run]
    analysis = analysis_of(paths)
    command(
        "analyze", *paths, "--html", tmp_path / "a.html", "--csv", tmp_path / "csv", codes=(0, 1)
    )
    analysis.save_html(tmp_path / "b.html")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    with_rows = {name for name, table in analysis.tables.items() if len(table)}
    assert with_rows == {file.stem for file in (tmp_path / "csv").iterdir()}


def test_tables_have_the_same_columns_and_types_in_all_runs():
    pyarrow = pytest.importorskip("pyarrow")
    types = {}
    for paths in RUNS.values():
        try:
            analysis = analysis_of(paths)
        except ss.Error:
            continue
        for name in ss.Analysis._table_names:
            schema = pyarrow.schema(analysis.tables[name])
            fixed = [
                (field.name, field.type)
                for field in schema
                if not field.name.startswith("counters.")
            ]
            assert types.setdefault(name, fixed) == fixed, (name, paths)


@pytest.mark.parametrize("run", RUNS)
def test_a_replay_of_an_analysis_is_that_of_the_traces(run):
    try:
        analysis = analysis_of(RUNS[run])
    except ss.Error:
        pytest.skip("the run has no ranks")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ss.InputWarning)
        try:
            expected = ss.whatif(RUNS[run]).to_dict()
        except ss.Error as error:
            with pytest.raises(ss.Error, match=re.escape(error.what)):
                analysis.whatif()
            return
        assert analysis.whatif().to_dict() == expected
        if change := (analysis.verdict and analysis.verdict.change):
            assert (
                analysis.whatif(change).to_dict() == ss.whatif(RUNS[run], change=change).to_dict()
            )


def test_the_other_verbs_give_the_bytes_of_the_command(command, tmp_path):
    ddp = str(EXAMPLE)
    plan = ["--machine", "h100_sxm_80gb", "--gpus", "64", "--global-batch", "256", "--seq", "8192"]
    keywords = {"machine": "h100_sxm_80gb", "gpus": 64, "global_batch": 256, "seq": 8192}
    steps = tmp_path / "steps.csv"
    steps.write_text("\n".join(str(100 + i % 7) for i in range(40)))
    slower = tmp_path / "slower.csv"
    slower.write_text("\n".join(str(120 + i % 7) for i in range(40)))
    cases = [
        (ss.whatif(ddp, change="bandwidth:2"), ["whatif", ddp, "--change", "bandwidth:2"]),
        (ss.whatif(ddp), ["whatif", ddp]),
        (ss.check(ddp), ["check", ddp]),
        (
            ss.compare(steps, slower, max_regression=0.5),
            ["compare", steps, slower, "--max-regression", "50%"],
        ),
        (
            ss.predict("llama-3-8b", plan=ss.Plan(zero=2), **keywords),
            ["predict", "llama-3-8b", "--zero", "2", *plan],
        ),
        (
            ss.predict(
                "llama-3-8b", vary={"zero": [0, 1], "sequence_parallel": [True]}, **keywords
            ),
            [
                "predict",
                "llama-3-8b",
                *plan,
                "--vary",
                "zero=0,1",
                "--vary",
                "sequence_parallel=true",
            ],
        ),
        (
            ss.predict(
                collective=ss.Collective(name="all_reduce", bytes=("1KB", "1GB"), group=64),
                machine="h100_sxm_80gb",
            ),
            [
                "predict",
                "--collective",
                "all_reduce",
                "--bytes",
                "1KB:1GB",
                "--group",
                "64",
                "--machine",
                "h100_sxm_80gb",
            ],
        ),
        (
            ss.plan("gpt2", fix={"tp": 1}, against={"zero": 3}, **{**keywords, "seq": 1024}),
            ["plan", "gpt2", *plan[:-1], "1024", "--fix", "tp=1", "--against", "zero=3"],
        ),
    ]
    for result, arguments in cases:
        written = command(*arguments, "--json", "-", codes=(0, 1))
        assert without_times(result._answer.json()) == without_times(written), arguments
        printed = command(*arguments, codes=(0, 1))
        text = result._answer.text(command=True)
        assert without_times(text.encode()) == without_times(printed), arguments
