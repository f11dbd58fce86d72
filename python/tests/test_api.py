# SPDX-License-Identifier: Apache-2.0
"""What users of the API meet: inputs, attributes, tables, errors, threads, Ctrl-C."""

import gzip
import io
import json
import os
import pathlib
import pickle
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest
from conftest import EXAMPLE, ROOT

import stepscope as ss
from stepscope import _core

RANKS = sorted(str(path) for path in EXAMPLE.iterdir() if path.name.endswith((".json", ".json.gz")))


@pytest.fixture(scope="module")
def analysis():
    return ss.analyze(EXAMPLE)


@pytest.mark.parametrize(
    "inputs",
    [str(EXAMPLE), EXAMPLE, [EXAMPLE], RANKS, str(EXAMPLE / "*"), tuple(RANKS)],
    ids=["text", "path", "list", "files", "pattern", "tuple"],
)
def test_inputs_are_texts_paths_lists_and_patterns(inputs, analysis):
    assert ss.analyze(inputs).verdict == analysis.verdict


def test_file_objects_are_inputs(analysis):
    with open(RANKS[0], "rb") as first, open(RANKS[1], "rb") as second:
        assert ss.analyze([first, second]).verdict == analysis.verdict
    copies = [io.BytesIO(pathlib.Path(path).read_bytes()) for path in RANKS]
    assert ss.analyze(copies).verdict == analysis.verdict
    text = pathlib.Path(RANKS[0]).read_bytes()
    one = gzip.decompress(text).decode() if text.startswith(b"\x1f\x8b") else text.decode()
    assert len(ss.analyze(io.StringIO(one)).ranks) == 1


def test_what_is_no_job_names_no_command(tmp_path):
    empty = tmp_path / "job"
    empty.mkdir()
    with pytest.raises(ss.Error) as raised:
        ss.live(str(empty))
    assert "stepscope help" not in str(raised.value)
    assert "logs" in raised.value.remedy


def test_attributes_are_the_keys_of_the_json(analysis):
    tree = json.loads(analysis.to_json())
    assert analysis.to_dict() == tree
    assert analysis.job.ranks == tree["job"]["ranks"] == 2
    assert analysis.verdict.kind == tree["answer"]["verdict"]["kind"]
    assert analysis.findings[0].gain_ns == tree["findings"][0]["gain_ns"]
    assert analysis.findings[0].gain == pytest.approx(analysis.findings[0].gain_ns / 1e9)
    assert analysis.sentence == tree["answer"]["sentence"]
    assert sum(analysis.budget_ns.values()) == analysis.step_ns
    assert analysis.mfu is None  # the traces name no model
    with pytest.raises(AttributeError, match="it has .*gain_ns"):
        analysis.findings[0].profit
    assert "gain" in dir(analysis.findings[0]) and "kernels" in dir(analysis)


def test_tables_are_read_without_other_packages(analysis):
    budget = analysis.budget
    assert len(budget) == 13 and budget.columns[:3] == ["category", "ns", "share"]
    assert budget[0]["category"] == "compute" and budget["ns"] == list(analysis.budget_ns.values())
    assert sum(budget["share"]) == pytest.approx(1)
    assert [row["rank"] for row in analysis.ranks] == [0, 1]
    assert (
        analysis.operators.to_dicts()[0]["name"]
        == analysis.to_dict()["ranks"][0]["operators"][0]["name"]
    )
    with pytest.raises(KeyError):
        budget["nothing"]
    with pytest.raises(IndexError):
        budget[13]


def test_a_replay_takes_the_steps_of_the_analysis():
    whole = ss.analyze(EXAMPLE)
    part = ss.analyze(EXAMPLE, steps=(6, 7))
    for analysis in (whole, part):
        answer = analysis.whatif("rank_as_peers:data@1")
        assert answer.baseline_ns == analysis.explanation.baseline_ns
    assert part.explanation.baseline_ns != whole.explanation.baseline_ns
    assert len(whole.whatif().scenarios) > 3


def test_pages_and_notebooks_show_the_answer(analysis, tmp_path):
    analysis.save_html(tmp_path / "report.html")
    assert analysis.sentence.split(".")[0] in analysis._repr_html_().replace("&#x27;", "'")
    assert (tmp_path / "report.html").stat().st_size > 100_000
    assert "<script" not in analysis._repr_html_()
    assert analysis.budget._repr_html_().count("<tr>") == 14
    assert repr(analysis) == analysis.text()
    with pytest.raises(ss.Error) as error:
        analysis.save_html(tmp_path / "none" / "report.html")
    assert error.value.file.endswith("report.html") and error.value.remedy
    assert not list(tmp_path.glob("report.html.*"))


def test_a_summary_is_flat(analysis):
    summary = analysis.summary()
    assert all(isinstance(value, (int, float, str)) for value in summary.values())
    assert (
        summary["stepscope/verdict"] == "data_loader" and summary["stepscope/verdict_ranks"] == "1"
    )
    assert sum(value for key, value in summary.items() if "/share/" in key) == pytest.approx(1)


def test_traces_are_tables_on_the_memory_of_the_reader():
    run = ss.read_traces(EXAMPLE)
    assert run.ranks == [0, 1]
    slices = run[0].slices
    assert len(slices) > 1000 and "ProfilerStep#5" in slices["name"]
    assert {row["category"] for row in slices} <= {
        "cpu_op",
        "user_annotation",
        "other",
        "trace_window",
        "overhead",
    }
    assert ss.read_trace(EXAMPLE, rank=1).rank == 1
    with pytest.raises(ss.Error, match="the list of inputs is empty"):
        ss.read_traces([])
    with pytest.raises(ss.UsageError, match="2 ranks"):
        ss.read_trace(EXAMPLE)


def test_errors_say_what_where_and_what_to_do(tmp_path):
    with pytest.raises(ss.Error) as error:
        ss.analyze(tmp_path / "nothing")
    assert error.value.file.endswith("nothing") and error.value.remedy
    cut = tmp_path / "rank0.json"
    cut.write_text('{"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": ')
    with pytest.raises(ss.Error) as error:
        ss.analyze(cut)
    assert error.value.file == str(cut) and str(cut) in str(error.value)
    assert pickle.loads(pickle.dumps(error.value)).file == str(cut)
    with pytest.raises(ss.UsageError, match="^steps"):
        ss.analyze(EXAMPLE, steps="last")
    with pytest.raises(
        ss.UsageError, match="the machine, .* are missing; .*machine=NAME gpus=N global_batch=N"
    ):
        ss.predict("llama-3-8b")
    with pytest.raises(ss.UsageError):
        ss.analyze(3)
    with pytest.raises(TypeError):
        ss.analyze(EXAMPLE, model_name="gpt2")
    with pytest.raises(ss.Error, match="llama-3-8b"):
        ss.predict("llama-3-8c", machine="h100_sxm_80gb", gpus=8, global_batch=8)


def test_an_input_that_fails_beside_others_is_a_warning(tmp_path):
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    with pytest.warns(ss.InputWarning, match="broken.json"):
        analysis = ss.analyze([EXAMPLE, broken])
    assert [failure.file for failure in analysis.failures] == [str(broken)]
    assert len(analysis.ranks) == 2


def test_models_and_plans_may_be_dicts():
    model = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 512, "num_hidden_layers": 4,
             "num_attention_heads": 8, "intermediate_size": 1024, "vocab_size": 1000, "max_position_embeddings": 256}  # fmt: skip
    job = {"machine": "h100_sxm_80gb", "gpus": 8, "global_batch": 8, "seq": 128}
    prediction = ss.predict(model, plan={"zero": 1}, **job)
    assert (
        prediction.step_time == pytest.approx(prediction.step_time_ns / 1e9)
        and prediction.plan.zero == 1
    )
    assert prediction.memory_bytes.total > 0


def test_flags_without_a_parameter_are_those_of_the_text_and_of_files():
    known = {"json", "html", "csv", "perfetto", "write-machine", "brief", "verbose", "timeline", "list", "chakra", "goal",
             "goal-recorded-times", "inconclusive", "reproducer", "help", "quiet"}  # fmt: skip
    for verb in ("analyze", "whatif", "project", "compare", "runs", "sweep", "check", "hang", "digest", "memory",
                 "stacks", "predict", "plan"):  # fmt: skip
        flags = [flag for flag in _core.flags(verb)["flags"] if not flag["argument"]]
        left_out = {flag["name"] for flag in flags if flag["parameter"] is None}
        if verb == "runs":
            left_out -= {"restore", "out"}  # Runs.restore
        assert left_out <= known, verb


def test_verbs_are_written_from_the_flags():
    package = pathlib.Path(ss.__file__).parents[1]
    done = subprocess.run(
        [
            sys.executable,
            ROOT / "tools/write_python_verbs.py",
            package,
            ROOT / "python/stepscope",
            "--check",
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_calls_from_several_threads_give_equal_answers(analysis):
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(ss.analyze(EXAMPLE).to_json()))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [analysis.to_json()] * 8


def test_other_threads_run_during_a_call():
    ticks = []
    done = threading.Event()

    def tick():
        while not done.wait(0.001):
            ticks.append(1)

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        ss.plan(
            "llama-3-70b",
            machine="h100_sxm_80gb",
            gpus=512,
            global_batch=1024,
            seq=8192,
            search=ss.Search(threads=1),
        )
    finally:
        done.set()
        thread.join()
    assert len(ticks) > 20


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_stops_a_call_within_a_second():
    code = (
        "import stepscope as ss, time\n"
        "print('begin', flush=True)\n"
        "try:\n"
        "    ss.plan('megatron-1t', machine='h100_sxm_80gb', gpus=(64, 16384), global_batch=4096, seq=2048, search=ss.Search(threads=1))\n"
        "    print('finished')\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begin\n"
    time.sleep(0.5)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.stdout.read() == "interrupted\n"
    assert process.wait() == 0
    assert time.monotonic() - begin < 5  # a second on a quiet machine


def test_what_the_handler_of_a_signal_raises_ends_the_call():
    def ring(*_):
        raise TimeoutError("too long")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(TimeoutError, match="too long"):
            ss.plan(
                "megatron-1t",
                machine="h100_sxm_80gb",
                gpus=(64, 16384),
                global_batch=4096,
                seq=2048,
                search=ss.Search(threads=1),
            )
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_results_outlive_what_they_were_made_of(analysis):
    table = ss.read_traces(EXAMPLE)[0].slices  # the set and the rank are gone
    assert table[0]["dur_ns"] > 0


def test_a_history_gives_its_digests_back(tmp_path):
    folder = tmp_path / "runs" / "nightly"
    shutil.copytree(EXAMPLE, folder)
    expected = ss.analyze(folder).to_dict()["ranks"]
    runs = ss.runs(tmp_path / "runs")
    shutil.rmtree(folder)
    assert runs.restore("nightly", tmp_path / "out") == 2
    assert ss.analyze(tmp_path / "out").to_dict()["ranks"] == expected
    with pytest.raises(ss.Error, match="no run has the name"):
        runs.restore("weekly", tmp_path / "other")
