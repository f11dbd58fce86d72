# SPDX-License-Identifier: Apache-2.0
"""The optimizer shard and the statistics of a training loop of one's own."""

import copy
import json
import pickle
import time

import pytest

import stepscope as ss


def test_a_shard_is_the_range_of_the_contract():
    shard = ss.OptimizerShard.for_rank(1, 4, 9)
    assert (shard.rank, shard.world_size, shard.total_params) == (1, 4, 9)
    assert (shard.param_start, shard.param_end, shard.size) == (3, 5, 2)
    assert shard.range == range(3, 5)
    assert [shard.owns(i) for i in (2, 3, 4, 5)] == [False, True, True, False]
    assert shard.shard_memory_bytes() == 16
    assert shard.full_memory_bytes() == 72
    assert shard.shard_memory_bytes(bytes_per_parameter=12) == 24
    assert shard.memory_savings == pytest.approx(7 / 9)
    assert ss.OptimizerShard.for_rank(0, 2, 10).memory_savings == 0.5
    assert repr(shard) == "<OptimizerShard of rank 1 of 4: [3, 5) of 9 parameters>"


@pytest.mark.parametrize("world", [1, 2, 3, 7, 16])
@pytest.mark.parametrize("parameters", [0, 1, 6, 9, 131_584])
def test_shards_cover_all_parameters_once(world, parameters):
    shards = [ss.OptimizerShard.for_rank(r, world, parameters) for r in range(world)]
    assert [s.param_start for s in shards] == [0, *(s.param_end for s in shards[:-1])]
    assert shards[-1].param_end == parameters
    assert all(0 <= s.size - parameters // world <= 1 for s in shards)
    for i in {0, parameters // 2, parameters - 1} & set(range(parameters)):
        owner = ss.OptimizerShard.owner(i, world, parameters)
        assert [s.rank for s in shards if s.owns(i)] == [owner]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((4, 4, 9), "rank 4 of 4: ranks are 0 to 3"),
        ((-1, 4, 9), "rank -1 of 4"),
        ((0, 0, 9), "a world size of 0"),
        ((0, 1, -1), "-1 parameters"),
    ],
)
def test_what_is_no_shard_is_a_usage_error(arguments, says):
    with pytest.raises(ss.UsageError, match=says):
        ss.OptimizerShard.for_rank(*arguments)
    with pytest.raises(TypeError):
        ss.OptimizerShard.for_rank("0", 1, 1)
    with pytest.raises(ss.UsageError, match="parameter 9 of 9"):
        ss.OptimizerShard.owner(9, 4, 9)


def test_shards_are_values():
    shard = ss.OptimizerShard.for_rank(1, 4, 9)
    assert shard == copy.copy(shard) == copy.deepcopy(shard) == ss.OptimizerShard.for_rank(1, 4, 9)
    assert shard != ss.OptimizerShard.for_rank(2, 4, 9)
    assert len({shard, copy.copy(shard)}) == 1
    with pytest.raises(AttributeError):
        shard.rank = 2


def step(stats, sync=0.0004):
    time.sleep(0.004)
    stats.record_forward_pass(0.001, 512)
    stats.record_backward_pass(0.002, 512)
    stats.record_layer_execution("block 0", 0.0005)
    stats.record_layer_recompute("block 0", 0.0004)
    stats.record_layer_backward("block 0", 0.001)
    stats.record_gradient_sync(sync, 1000, 2, dtype="f16", waited_for_peers=sync / 2)
    stats.record_flops(1e6)
    stats.record_optimizer_step(0.0002, 1000)


def test_the_figures_are_those_of_the_recorded_durations():
    stats = ss.Zero3PerformanceStats(rank=1, world_size=2)
    stats.set_references(
        peak_flops=1e9,
        peak_source="data sheet",
        links=[("world", "reduce_scatter", 0.01, 0.0)],
        transfers={"nvme_to_host": 2.0},
    )
    for _ in range(3):
        step(stats)
    stats.record_parameter_transfer(0.001, 1_000_000, "nvme_to_host")
    assert (stats.forward_passes, stats.backward_passes, stats.optimizer_steps) == (3, 3, 3)
    assert stats.average_forward_time == pytest.approx(0.001)
    assert stats.average_backward_time == pytest.approx(0.002)
    assert stats.average_optimizer_time == pytest.approx(0.0002)
    assert 0 < stats.tokens_per_second <= 512 / 0.004
    assert stats.memory_bandwidth_gb_per_s == pytest.approx(1.0)
    # 2000 bytes, half of them on the bus, by 10 MB/s: 0.1 ms of the 0.2 ms after the last arrival.
    assert stats.communication_efficiency == pytest.approx(0.5)
    assert 0 < stats.training_efficiency < 1
    figures = stats.summary()
    assert json.loads(json.dumps(figures)) == figures
    assert figures["passes"]["forward"]["items"] == 1536
    assert figures["layers"][0]["recompute_mean_ns"] == 400_000
    assert figures["communication"]["collectives"][0]["bus_bytes"] == 3000
    assert [r["gb_per_s"] for r in figures["references"]] == [0.01, 2.0]
    assert sum(t["share"] for t in figures["efficiency"]["terms"]) == pytest.approx(1)
    # The thirteen members of the C++ object: times in seconds, the parts as in the summary.
    assert stats.total_forward_time == pytest.approx(0.003)
    assert stats.total_backward_time == pytest.approx(0.006)
    assert stats.total_optimizer_time == pytest.approx(0.0006)
    assert stats.parameter_transfer_time == pytest.approx(0.001)
    assert stats.gradient_sync_time == pytest.approx(figures["gradient_sync_ns"] / 1e9)
    assert stats.layer_timings == {"block 0": figures["layers"][0]}
    assert stats.throughput_metrics["tokens"] == figures["throughput"]["tokens"]
    assert stats.memory_transfer_metrics == figures["memory_transfers"]
    assert stats.communication_stats == figures["communication"]
    assert stats.optimization_efficiency["mfu"] == pytest.approx(stats.training_efficiency)
    words = "ranks 1, forward passes 3, backward passes 3, optimizer steps 3"
    assert repr(stats) == f"<Zero3PerformanceStats: {words}>"
    stats.reset()
    assert stats.forward_passes == 0
    assert stats.tokens_per_second is None


def test_ranks_are_merged_as_they_arrive_from_other_processes():
    ranks = [ss.Zero3PerformanceStats(r, 2) for r in range(2)]
    for _ in range(2):
        for stats in ranks:
            step(stats)
    first = pickle.loads(pickle.dumps(ranks[0]))
    assert first.summary()["passes"] == ranks[0].summary()["passes"]
    first.merge(pickle.loads(pickle.dumps(ranks[1])))
    assert first.summary()["ranks"] == 2
    assert first.summary()["throughput"]["tokens"] == 2 * 2 * 512
    with pytest.raises(ss.UsageError, match="several ranks"):
        first.record_forward_pass(0.1, 1)
    with pytest.raises(ss.Error, match="comes twice"):
        first.merge(ranks[0])
    assert copy.copy(ranks[0]).forward_passes == 2


def test_what_cannot_be_true_is_refused_and_changes_nothing():
    stats = ss.Zero3PerformanceStats()
    for call, says in [
        (lambda: stats.record_forward_pass(-1, 1), "a forward pass"),
        (lambda: stats.record_forward_pass(float("nan"), 1), "seconds"),
        (lambda: stats.record_communication("all_redcue", 1, 1), "all_reduce"),
        (lambda: stats.record_communication("all_reduce", 1, 1, group_size=2), "group"),
        (lambda: stats.record_gradient_sync(1, 1, 1, dtype="f8"), "dtype f8"),
        (lambda: stats.record_parameter_transfer(1, 1, "up"), "direction up"),
        (lambda: stats.record_flops(2, 1), "executed FLOPs"),
        (lambda: stats.set_references(peak_flops=0), "peak"),
        (lambda: ss.Zero3PerformanceStats(2, 2), "rank 2 of 2"),
    ]:
        with pytest.raises(ss.UsageError, match=says):
            call()
    assert stats.forward_passes == 0
    assert stats.summary()["communication"]["collectives"] == []
