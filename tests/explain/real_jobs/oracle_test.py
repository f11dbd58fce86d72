# SPDX-License-Identifier: Apache-2.0
"""The score, on answers that are made up, and the oracle, on three small jobs."""

import copy
import glob
import json
import os
import random
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import score  # noqa: E402
from truth import measured  # noqa: E402

STEP = 100_000_000


def truth(fault="forward", **fields):
    """A calm capture of four ranks and six steps of 100 ms; a fault of 30 ms on rank 2."""
    times = {
        "traced": {
            "wall_ns": [STEP] * 6,
            "run_queue_ns": [1_000_000] * 6,
            "run_queue_all_ns": [2_000_000] * 6,
        }
    }
    result = {
        "job": "ddp4",
        "family": "DDP",
        "world": 4,
        "fault": fault,
        "options": {"record_shapes": True, "numbered": True},
        "drawn": {"kind": fault},
        "step_ns": STEP,
        "mean_step_ns": STEP,
        "noise_ns": 1_000_000,
        "starved": False,
        "healthy_medians_ns": [STEP, STEP],
        "ranks_times": [copy.deepcopy(times) for _ in range(4)],
    }
    if fault != "healthy":
        result["cost_ns"] = 30_000_000
        result["right"] = {
            "kind": fault,
            "ranks": [2],
            "stages": [],
            "steps": [],
            "all_ranks": False,
        }
    right = {
        k: fields.pop(k)
        for k in list(fields)
        if k in ("ranks", "stages", "steps", "all_ranks", "main_ranks")
    }
    result.update(fields)
    if right:
        result["right"].update(right)
    return result


def said(kind, **fields):
    return {"kind": kind, "ranks": [], "stage": None, "steps": [], "gain_ns": 30_000_000, **fields}


@pytest.mark.parametrize(
    "t, verdict, judged",
    [
        (truth(), said("slow_rank", ranks=[2]), "right"),
        (truth(), said("late_host", ranks=[2]), "right"),  # the culprit; the cause is counted apart
        (truth(), said("slow_rank", ranks=[1]), "another"),
        (truth(), said("slow_rank", ranks=[1, 2]), "another"),
        (truth(), said("sync_calls"), "another"),
        (truth(), said("compute_bound", ranks=[2]), "bound"),
        (truth(), said(None), "none"),
        (truth(), said("error"), "error"),
        (truth(stages=[2]), said("stage_imbalance", stage=2), "right"),
        (truth(stages=[2]), said("stage_imbalance", stage=1), "another"),
        (truth(), said("stage_imbalance", stage=2), "another"),
        (
            truth("outlier_step", steps=[5], ranks=[0, 1, 2, 3], all_ranks=True),
            said("outlier_step", steps=[5]),
            "right",
        ),
        (truth("outlier_step", steps=[5]), said("outlier_step", steps=[4]), "another"),
        (
            truth("outlier_step", steps=[5], ranks=[0, 1, 2, 3], all_ranks=True),
            said("sync_calls"),
            "another",
        ),
        (truth("loader_all", ranks=[0, 1, 2, 3], all_ranks=True), said("data_loader"), "right"),
        (
            truth("loader_all", ranks=[0, 1, 2, 3], all_ranks=True),
            said("data_loader", ranks=[0, 1, 2, 3]),
            "right",
        ),
        (
            truth("loader_all", ranks=[0, 1, 2, 3], all_ranks=True),
            said("data_loader", ranks=[1]),
            "another",
        ),
        (truth("loader_all", ranks=[0, 1, 2, 3], all_ranks=True), said("sync_calls"), "another"),
        (
            truth("pauses", ranks=[1, 3], main_ranks=[3], steps=[4, 5, 9]),
            said("pauses", ranks=[1, 3]),
            "right",
        ),
        (
            truth("pauses", ranks=[1, 3], main_ranks=[3], steps=[4, 5, 9]),
            said("pauses", ranks=[3]),
            "right",
        ),
        (
            truth("pauses", ranks=[1, 3], main_ranks=[3], steps=[4, 5, 9]),
            said("pauses", ranks=[1]),
            "another",
        ),
        (
            truth("pauses", ranks=[1, 3], main_ranks=[3], steps=[4, 5, 9]),
            said("pauses", ranks=[0, 3]),
            "another",
        ),
        (truth("healthy"), said("slow_rank", ranks=[0]), "accused"),
        (truth("healthy"), said("sync_calls"), "accused"),
        (truth("healthy"), said("exposed_communication"), "quiet"),
        (truth("healthy"), said(None), "quiet"),
    ],
)
def test_an_answer_is_judged(t, verdict, judged):
    assert score.made_row(t, verdict, "x")["judged"] == judged


def test_a_small_fault_does_not_count():
    assert score.counts(truth())
    assert not score.counts(truth(cost_ns=7_900_000))
    assert not score.counts(truth(noise_ns=15_000_001))
    assert not score.counts(truth(starved=True))


def test_the_cause_is_counted_apart():
    rows = [
        score.made_row(truth(), said(kind, ranks=[2]), "x") for kind in ("slow_rank", "late_host")
    ]
    assert [r["cause"] for r in rows] == [True, False]
    two = truth("two_faults")
    two["drawn"]["parts"] = [{"kind": "loader_one"}, {"kind": "forward"}]
    assert score.made_row(two, said("data_loader", ranks=[2]), "x")["cause"]


def test_a_disturbed_capture_is_told_by_its_own_times():
    calm = truth("healthy")
    assert score.disturbance(calm) is None
    late = copy.deepcopy(calm)
    late["ranks_times"][1]["traced"]["run_queue_ns"] = [8_000_000] * 6
    assert score.disturbance(late) == "run queue of rank 1"
    once = copy.deepcopy(calm)
    once["ranks_times"][3]["traced"]["run_queue_ns"][2] = 22_000_000
    assert score.disturbance(once) == "run queue of rank 3 in one step"
    long = copy.deepcopy(calm)
    for r in long["ranks_times"]:
        r["traced"]["wall_ns"][4] = 140_000_000
    assert score.disturbance(long) == "step 4 is longer"
    slow = truth("healthy", healthy_medians_ns=[90_000_000, STEP])
    assert score.disturbance(slow) == "slower than other healthy captures"
    all_wait = copy.deepcopy(
        calm
    )  # the job's own ranks share the cores: nobody is slower than his peers
    for r in all_wait["ranks_times"]:
        r["traced"]["run_queue_ns"] = [20_000_000] * 6
    assert score.disturbance(all_wait) is None


def times(wall, queue=1_000_000, last=None):
    """Two ranks, four steps; the last step takes `last`."""
    walls = [wall] * 3 + [last or wall]
    traced = {"wall_ns": walls, "run_queue_ns": [queue] * 4}
    return [{"traced": traced, "untraced": {"wall_ns": [wall - 1_000_000] * 4}} for _ in range(2)]


def test_a_cost_is_the_difference_to_the_healthy_captures_of_the_session():
    session = [
        ("healthy", times(100_000_000)),
        ("forward", times(130_000_000)),
        ("healthy", times(104_000_000)),
        ("pauses", times(102_000_000, last=182_000_000)),
        ("healthy", times(900_000_000, queue=600_000_000)),  # starved: no base of a cost
    ]
    m = measured(session)
    assert [f["starved"] for f in m] == [False] * 4 + [True]
    assert m[1]["cost_ns"] == 28_000_000 and m[1]["untraced_cost_ns"] == 28_000_000
    assert m[3]["cost_ns"] == 20_000_000  # of a mean step; the median has no pause
    assert m[1]["noise_ns"] == 4_000_000 and "cost_ns" not in m[0]
    session[2] = ("healthy", times(800_000_000, queue=600_000_000))  # one calm capture is no spread
    assert measured(session)[1]["noise_ns"] == 800_000_000


def test_the_summary_counts_what_it_says():
    disturbed = truth("healthy", healthy_medians_ns=[80_000_000, STEP])
    rows = [
        score.made_row(
            truth(), said("slow_rank", ranks=[2], confidence="high", gain_ns=33_000_000), "right"
        ),
        score.made_row(truth(), said("slow_rank", ranks=[1], confidence="high"), "another"),
        score.made_row(truth(), said("compute_bound", confidence="high"), "bound"),
        score.made_row(truth(), said(None), "none"),
        score.made_row(
            truth(cost_ns=1_000_000), said("slow_rank", ranks=[1], confidence="high"), "small"
        ),
        score.made_row(truth("healthy"), said("sync_calls", confidence="high"), "accused"),
        score.made_row(disturbed, said("slow_rank", ranks=[1], confidence="high"), "disturbed"),
        score.made_row(truth("healthy"), said("bubble", confidence="high"), "quiet"),
    ]
    s = score.summary(rows)
    assert (s["faulty"], s["count"], s["right"], s["another"], s["bound"], s["none"]) == (
        5,
        4,
        1,
        1,
        1,
        1,
    )
    assert (s["high"], s["high_right"]) == (4, 1)
    assert (s["healthy"], s["accused"], s["calm"], s["calm_accused"]) == (3, 2, 2, 1)
    assert s["gain_errors"] == 1 and s["gain_error"] == pytest.approx(0.1)
    assert "culprit named: 1 of 4 (25 %)" in "\n".join(score.report(rows))


@pytest.fixture(scope="module")
def oracle():
    pytest.importorskip("torch")
    import oracle as module

    module.run_job.torch.set_num_threads(1)
    return module


@pytest.mark.torch
def test_a_seed_gives_the_draws_again(oracle):
    words = type(
        "Words",
        (),
        {
            "seed": 3,
            "draws": 60,
            "kinds": None,
            "faults": None,
            "faults_a_job": 3,
            "first_draw": 0,
            "small": False,
            "healthy_a_job": 3,
        },
    )
    plans = oracle.plans(words)
    assert plans == oracle.plans(words)
    assert len({p["kind"] for p in plans}) >= 20
    drawn = {c["fault"]["kind"] for p in plans for c in p["captures"] if c["fault"]}
    assert drawn == set(oracle.faults.KINDS)


@pytest.mark.torch
def test_a_fault_sleeps_where_it_says(oracle):
    faults, r = oracle.faults, random.Random(1)
    job = copy.copy(oracle.kinds.KINDS["gpipe2_dp2"])
    assert job.ranks_of_stage(1) == [1, 3] and job.layers_of(3) == [2, 3]
    stage = faults.drawn(r, "slow_stage", job, 8)
    injector = faults.Injector(stage["ranks"][0])
    layer = job.layers_of_stage(stage["stage"])[0]
    injector.calls = {("mlp", layer, False): 4, ("mlp", layer, True): 4}
    injector.activate({**stage, "size_s": 0.08, "layers": job.layers_of_stage(stage["stage"])})
    assert injector.operator("mlp", layer, True) == pytest.approx(0.01)
    assert faults.truth_of(stage, job, 3)["stages"] == [stage["stage"]]
    one = {"kind": "forward", "share": 0.2, "ranks": [1]}
    assert faults.truth_of(one, job, 3)["stages"] == []  # one of the two ranks of its stage
    alone = copy.copy(oracle.kinds.KINDS["gpipe2"])
    assert faults.truth_of(one, alone, 3)["stages"] == [1]
    zbv = oracle.kinds.KINDS["zbv2"]
    assert [zbv.ranks_of_stage(s) for s in range(4)] == [[0], [1], [1], [0]]
    pauses = {
        "kind": "pauses",
        "ranks": [0, 1],
        "pauses": [[2, 0], [4, 1], [5, 1]],
        "place": "before",
        "size_s": 0.1,
    }
    injector = faults.Injector(1)
    injector.activate(pauses)
    slept = []
    for injector.step in range(6):
        slept.append(injector.at("before"))
    assert slept == [0, 0, 0, 0, 0.1, 0.1]
    assert faults.truth_of(pauses, alone, 3)["main_ranks"] == [1]


@pytest.mark.torch
@pytest.mark.parametrize(
    "name, fault", [("ddp2", "backward"), ("tp2", "late_between"), ("gpipe2", "loader_one")]
)
def test_a_job_is_recorded(oracle, tmp_path, name, fault):
    """Each rank's file is there, and the fault costs what it sleeps, if the machine is calm enough to show it."""
    plan = oracle.plan_of(1, name, 0, [fault], 2, small=True)
    plan["captures"][1]["fault"]["share"] = 0.5
    spread = oracle.record(plan, str(tmp_path), tries=2)
    folders = sorted(glob.glob(str(tmp_path / "*")))
    assert len(folders) == 3
    for folder in folders:
        with open(os.path.join(folder, "truth.json"), encoding="utf-8") as f:
            t = json.load(f)
        assert len(glob.glob(os.path.join(folder, "traces", "*.json.gz"))) == t["world"] == 2
        assert [len(r["traced"]["wall_ns"]) for r in t["ranks_times"]] == [6, 6]
        if t["fault"] != "healthy" and spread < oracle.CALM:
            assert 0.5 * t["injected_ns"][0] < t["cost_ns"] < 2 * t["injected_ns"][0]
    program = os.environ.get("STEPSCOPE_COMMAND")
    if program:
        rows = [score.row_of(program, folder) for folder in folders]
        assert not [r for r in rows if r["judged"] == "error"]
