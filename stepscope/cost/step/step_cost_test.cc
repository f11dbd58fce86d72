// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/step/step_cost.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "stepscope/cost/layer/layer_operations.h"
#include "stepscope/cost/layer/operations_test_models.h"
#include "stepscope/cost/machine/ideal_test_machine.h"
#include "stepscope/cost/model/model_json.h"

namespace stepscope {
namespace {

using operations_test::gpt;
using operations_test::llama;

struct Bench {
  Machine machine;
  Network network;
  Transformer model;

  explicit Bench(Transformer of, std::string_view json = ideal_machine)
      : machine(*parse_machine(json, "test.json")),
        network(*make_network(machine)),
        model(std::move(of)) {}

  CostContext context(const Plan& plan) const {
    const auto can = check_plan(model, plan);
    EXPECT_TRUE(can) << (can ? "" : can.error().message());
    auto made = make_cost_context(model, machine, network, plan);
    EXPECT_TRUE(made) << (made ? "" : made.error().message());
    return *std::move(made);
  }
  StepCost cost(const Plan& plan) const {
    CostContext c = context(plan);
    const auto cost = evaluate(c, plan);
    EXPECT_TRUE(cost) << (cost ? "" : cost.error().message());
    return *cost;
  }
};

Plan plan_of(std::int64_t tp, std::int64_t pp, std::int64_t dp, std::int64_t batch) {
  Plan plan;
  plan.devices = tp * pp * dp;
  plan.tp = tp;
  plan.pp = pp;
  plan.dp = dp;
  plan.batch.global = batch;
  return plan;
}

Transformer deep(std::int64_t layers) {
  Transformer model = gpt();
  model.layers = layers;
  return model;
}

TEST(StepCost, OfOneDeviceIsItsOperationsAndTheOptimizer) {
  const Bench bench(gpt(4096, 32));
  Plan plan = plan_of(1, 1, 1, 3);
  const auto model = make_compute_model(bench.machine, Dtype::bf16);
  double pass = 0;
  const auto add = [&](const std::vector<Operation>& ops, double times) {
    double parameters = 0;
    for (const Operation& op : ops) {
      pass += times * (operation_time(*model, op, Direction::forward) +
                       operation_time(*model, op, Direction::backward))
                          .count();
      parameters += times * op.parameters;
    }
    return parameters;
  };
  const double products =
      add(layer_operations(bench.model, plan, 0), 4) + add(head_operations(bench.model, plan), 1);
  const double table = add(embedding_operations(bench.model, plan), 1);
  const double update = (products + table) * (4 + 2 * 12 + 2) / 1555e9;
  for (const bool fused : {false, true}) {
    plan.kernels.fused_gradient_sum = fused;
    const StepCost cost = bench.cost(plan);
    // Into fp32, for each micro-batch: in a pass that also reads the gradient, or instead of the
    // gradient.
    const double each = fused ? 2 * 4 - 2 : 2 + 2 * 4;
    const double summed = (products * each + table * (2 + 2 * 4)) / 1555e9;
    EXPECT_NEAR(cost.step().count() / (3 * (pass + summed) + update), 1, 1e-12);
    EXPECT_NEAR(cost.tokens_per_second * cost.step().count(), 3 * 2048, 1e-6);
  }
}

TEST(StepCost, TermsSumToThePipelineAndWhatComesOnce) {
  const Bench bench(deep(16));
  for (const std::int64_t pp : {1, 2, 4, 8}) {
    for (const int zero : {0, 1, 2, 3}) {
      Plan plan = plan_of(4, pp, 4, 64);
      plan.zero = zero;
      plan.tensor.sequence_parallel = true;
      plan.memory.recompute = Recompute::selective;
      const StepCost cost = bench.cost(plan);
      const StepTail& t = cost.tail;
      const double once = t.reduce_exposed + t.reduce_earlier + t.gather_exposed + t.first_gather +
                          t.last_reduce + t.tie + t.update + t.moves + t.drain_exposed;
      EXPECT_NEAR(cost.step().count() / (cost.pipeline.step.count() + once), 1, 1e-12);
      for (const double s : cost.seconds) EXPECT_GE(s, 0);
      EXPECT_GT(cost.mfu[0], 0);
      EXPECT_LT(cost.mfu[0], 1);
    }
  }
}

TEST(StepCost, DoesNotDependOnWhatWasEvaluatedBefore) {
  const Bench bench(deep(16));
  Plan one = plan_of(4, 2, 4, 64);
  Plan other = plan_of(4, 4, 2, 64);
  other.zero = 1;
  other.pipeline.schedule = Schedule::interleaved;
  other.pipeline.virtual_stages = 2;
  const double alone = bench.cost(one).step().count();
  CostContext context = bench.context(one);
  ASSERT_TRUE(same_shape(one, other));
  ASSERT_TRUE(evaluate(context, other));
  EXPECT_EQ(evaluate(context, one)->step().count(), alone);
  EXPECT_EQ(evaluate(context, other)->step().count(), bench.cost(other).step().count());
}

TEST(StepCost, FullRecomputationCostsAForwardAndSavesActivations) {
  const Bench bench(deep(8));
  Plan plan = plan_of(8, 1, 1, 8);
  const StepCost kept = bench.cost(plan);
  plan.memory.recompute = Recompute::full;
  const StepCost again = bench.cost(plan);
  EXPECT_EQ(kept[StepTerm::recompute], 0);
  EXPECT_GT(again[StepTerm::recompute], 0.25 * again[StepTerm::matmul]);
  EXPECT_EQ(kept[StepTerm::matmul], again[StepTerm::matmul]);
  EXPECT_LT(again.memory[MemoryTerm::activations], 0.2 * kept.memory[MemoryTerm::activations]);
  plan.memory.recompute = Recompute::every_k;
  plan.memory.recompute_every = 2;
  const StepCost half = bench.cost(plan);
  EXPECT_NEAR(half[StepTerm::recompute], again[StepTerm::recompute] / 2, 1e-9);
}

TEST(StepCost, OverlapHidesCommunicationButNeverAllOfIt) {
  const Bench bench(deep(8));
  for (const int zero : {0, 1, 2, 3}) {
    Plan plan = plan_of(1, 1, 16, 64);
    plan.zero = zero;
    const double overlapped = bench.cost(plan)[StepTerm::data];
    plan.overlap.gradient_reduce = false;
    plan.overlap.parameter_gather = false;
    const double bare = bench.cost(plan)[StepTerm::data];
    EXPECT_GT(overlapped, 0) << zero;
    EXPECT_LT(overlapped, bare) << zero;
  }
}

// Experts' calls during another micro-batch, and kernels launched by graphs.
TEST(StepCost, HidesExpertsUnderArithmeticAndTheHostInGraphs) {
  const Transformer m = *find_model("mixtral-8x7b");
  const Machine& machine = *find_machine("H100-80GB SXM");
  const Network network = *make_network(machine, {});
  const auto cost = [&](const Plan& plan) {
    CostContext context = *make_cost_context(m, machine, network, plan);
    return *evaluate(context, plan);
  };
  Plan plan{.devices = 64, .ep = 8, .dp = 64, .batch = {.sequence = 4096, .global = 256}};
  const StepCost plain = cost(plan);
  plan.overlap.experts = true;
  const StepCost hidden = cost(plan);
  EXPECT_LT(hidden[StepTerm::expert], 0.5 * plain[StepTerm::expert]);
  EXPECT_GT(hidden[StepTerm::expert], 0);  // the slowdown of arithmetic
  EXPECT_DOUBLE_EQ(hidden[StepTerm::matmul], plain[StepTerm::matmul]);
  // A single micro-batch has no other to hide under.
  plan.batch.global = 64;
  const double alone = cost(plan)[StepTerm::expert];
  plan.overlap.experts = false;
  EXPECT_DOUBLE_EQ(alone, cost(plan)[StepTerm::expert]);
  plan.batch.global = 256;
  plan.kernels.cuda_graphs = CudaGraphs::layers;
  const StepCost layers = cost(plan);
  plan.kernels.cuda_graphs = CudaGraphs::step;
  const StepCost step = cost(plan);
  EXPECT_LT(layers[StepTerm::host], plain[StepTerm::host]);
  EXPECT_EQ(step[StepTerm::host], 0);
  EXPECT_LT(layers[StepTerm::matmul], plain[StepTerm::matmul]);
}

// The host launches 84 kernels more for a dropless mixture, and two more for each expert of the
// device whose products are single kernels.
TEST(StepCost, AMixtureTakesTheHostItsLaunches) {
  const Transformer m = *find_model("mixtral-8x7b");
  const Plan plan{.devices = 4, .ep = 4, .dp = 4, .kernels = {.grouped_experts = false}};
  const HostWork work = host_work(m, layer_kind(m, 0), plan);
  EXPECT_EQ(work.mixtures, 1);
  EXPECT_EQ(work.products, 4);
  const ComputeModel compute =
      *make_compute_model(*find_machine("H100-80GB SXM"), Dtype::bf16, false);
  const double layer = of(compute, ComputeParameter::host_layer_us) * 1e-6;
  EXPECT_NEAR(host_seconds(compute, plan.kernels, work), layer + (84 + 4) * 45e-6, 1e-12);
  Plan graphs = plan;
  graphs.kernels.cuda_graphs = CudaGraphs::layers;
  EXPECT_NEAR(host_seconds(compute, graphs.kernels, work), 0.4 * layer + (42 + 4) * 45e-6, 1e-12);
  Transformer drops = m;
  drops.experts->capacity_factor = 1.0;
  EXPECT_EQ(host_work(drops, layer_kind(drops, 0), plan).mixtures, 0);
}

TEST(StepCost, PrefetchingNothingExposesEveryGather) {
  const Bench bench(deep(8));
  Plan plan = plan_of(1, 1, 16, 16);
  plan.zero = 3;
  const double ahead = bench.cost(plan)[StepTerm::data];
  plan.overlap.prefetch = 0;
  EXPECT_GT(bench.cost(plan)[StepTerm::data], ahead);
}

TEST(StepCost, AShardGroupWithinADomainGathersFasterAndHoldsMore) {
  const Bench bench(deep(8));
  Plan plan = plan_of(1, 1, 64, 64);
  plan.zero = 3;
  const StepCost all = bench.cost(plan);
  plan.shard_group = 8;
  const StepCost hybrid = bench.cost(plan);
  EXPECT_LT(hybrid.tail.first_gather, all.tail.first_gather);
  EXPECT_NEAR(hybrid.memory[MemoryTerm::optimizer], 8 * all.memory[MemoryTerm::optimizer], 1);
}

// Links between domains are the bottleneck: both ways of hybrid sharding leave them.
TEST(StepCost, HybridShardingSavesTimeWhereTheNetworkIsSlow) {
  const Bench bench(deep(8));
  Plan plan = plan_of(1, 1, 64, 64 * 4);
  plan.zero = 3;
  const StepCost all = bench.cost(plan);
  plan.secondary_group = 8;
  const StepCost second = bench.cost(plan);
  EXPECT_LT(second[StepTerm::data], all[StepTerm::data]);
  EXPECT_GT(second.memory[MemoryTerm::gathered], all.memory[MemoryTerm::gathered]);
  EXPECT_EQ(second.memory[MemoryTerm::optimizer], all.memory[MemoryTerm::optimizer]);
  plan.secondary_group = 0;
  plan.shard_group = 8;
  EXPECT_LT(bench.cost(plan)[StepTerm::data], all[StepTerm::data]);
}

TEST(StepCost, UnevenStagesWaitForTheLongest) {
  const Bench bench(deep(16));
  Plan even = plan_of(4, 4, 1, 32);
  Plan uneven = even;
  uneven.pipeline.stage_layers = {2, 6, 6, 2};
  const StepCost a = bench.cost(even);
  const StepCost b = bench.cost(uneven);
  EXPECT_GT(b.step(), a.step());
  EXPECT_TRUE(b.pipeline.busiest == 1 || b.pipeline.busiest == 2);
}

std::string with(std::string_view from, std::string_view to) {
  std::string text(ideal_machine);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(StepCost, APassOfAStageTakesItsStart) {
  const Bench bench(deep(16));
  const Bench slow(deep(16), with("\"pass_us\": 0", "\"pass_us\": 50"));
  Plan plan = plan_of(1, 4, 1, 32);
  const StepCost before = bench.cost(plan);
  const StepCost after = slow.cost(plan);
  EXPECT_NEAR(after[StepTerm::pipeline] - before[StepTerm::pipeline], 32 * 2 * 50e-6, 1e-9);
  EXPECT_GE(after.step().count() - before.step().count(), 32 * 2 * 50e-6 - 1e-9);
  plan.pipeline.schedule = Schedule::interleaved;
  plan.pipeline.virtual_stages = 4;
  const double chunks = slow.cost(plan)[StepTerm::pipeline] - bench.cost(plan)[StepTerm::pipeline];
  EXPECT_NEAR(chunks, 4 * 32 * 2 * 50e-6, 1e-9);
  plan.pp = 1;
  plan.pipeline.virtual_stages = 1;
  plan.pipeline.schedule = Schedule::one_f_one_b;
  plan.devices = 1;
  EXPECT_EQ(slow.cost(plan).step().count(), bench.cost(plan).step().count());
}

TEST(StepCost, ASendOfAChunkHidesBehindOnePassOnly) {
  const Bench bench(deep(16));
  const Bench narrow(deep(16), with("\"scale_out\": {\"gb_per_s_per_direction\": 25",
                                    "\"scale_out\": {\"gb_per_s_per_direction\": 0.25"));
  Plan plan = plan_of(8, 4, 1, 32);
  plan.pipeline.schedule = Schedule::interleaved;
  plan.pipeline.virtual_stages = 4;
  const StepCost wide = bench.cost(plan);
  const StepCost late = narrow.cost(plan);
  const double send = 2.0 * 2048 * static_cast<double>(bench.model.hidden) / 0.25e9;
  const double compute = wide.pipeline.busy.count();
  EXPECT_GT(late.pipeline.busy.count(), 32 * 4 * 2 * send / 8);
  EXPECT_GT(late.pipeline.busy.count(), compute);
}

TEST(StepCost, BytesSentBesideArithmeticSlowItByTheirTimeOnTheLinks) {
  const Bench bench(deep(16));
  const Bench contended(deep(16), with("\"contention\": 0", "\"contention\": 0.5"));
  Plan plan = plan_of(1, 1, 8, 64);
  plan.zero = 3;
  const double free = bench.cost(plan)[StepTerm::data];
  const double within = contended.cost(plan)[StepTerm::data] - free;
  EXPECT_GT(within, 0);
  // Eight more nodes add no bytes per device, but most of the time is a wait for the network.
  plan.devices = plan.dp = 64;
  plan.batch.global = 512;
  const double across = contended.cost(plan)[StepTerm::data] - bench.cost(plan)[StepTerm::data];
  EXPECT_GT(across, 0);
  EXPECT_LT(across, 1.2 * within);
}

TEST(StepCost, AShardedUnitWaitsForTheLatestOfItsRanks) {
  const Bench even(deep(16));
  const Bench jitters(deep(16), with("\"jitter\": 0", "\"jitter\": 0.01"));
  Plan plan = plan_of(1, 1, 8, 64);
  plan.zero = 3;
  const StepCost before = even.cost(plan);
  const StepCost after = jitters.cost(plan);
  const double compute =
      before[StepTerm::matmul] + before[StepTerm::attention] + before[StepTerm::pointwise];
  const double waited = after[StepTerm::data] - before[StepTerm::data];
  EXPECT_GT(waited, 0.9 * 0.01 * std::sqrt(2 * std::log(8.0)) * compute);
  EXPECT_LT(waited, 0.01 * std::sqrt(2 * std::log(8.0)) * compute * 1.05);
  plan.zero = 2;
  EXPECT_EQ(jitters.cost(plan).step().count(), even.cost(plan).step().count());
}

TEST(StepCost, OffloadNamesTheLinkThatTheMachineLacks) {
  const Bench bench(deep(8));
  Plan plan = plan_of(8, 1, 1, 8);
  plan.memory.optimizer_at = Residence::nvme;
  CostContext context = bench.context(plan);
  const auto cost = evaluate(context, plan);
  ASSERT_FALSE(cost);
  EXPECT_NE(cost.error().what.find("host.gb_per_s_per_direction"), std::string::npos);
}

TEST(StepCost, OffloadTradesDeviceMemoryForTime) {
  std::string json(ideal_machine);
  json.replace(json.find("\"sources\""), 9,
               R"("host": {"gb_per_s_per_direction": 25, "memory_gb_per_s": 20, "memory_gb": 200},
                  "nvme": {"read_gb_per_s": 3, "write_gb_per_s": 1.5}, "sources")");
  const Bench bench(deep(8), json);
  Plan plan = plan_of(8, 1, 1, 8);
  const StepCost here = bench.cost(plan);
  plan.memory.optimizer_at = Residence::host;
  const StepCost host = bench.cost(plan);
  plan.memory.optimizer_at = Residence::nvme;
  const StepCost nvme = bench.cost(plan);
  EXPECT_EQ(here[StepTerm::offload], 0);
  EXPECT_GT(host[StepTerm::offload], 0);
  const double states = host.tail.owned * 12;
  EXPECT_NEAR(nvme[StepTerm::offload] - host[StepTerm::offload], states / 3e9 + states / 1.5e9,
              1e-9);
  EXPECT_NEAR(host.memory.host_bytes, states, 1);
  EXPECT_NEAR(here.memory.total() - host.memory.total(), states, 1);
}

TEST(LayerCost, RingsHideUnderTheAttentionThatDoesNotWaitForThem) {
  const Bench bench(llama());
  Plan plan = plan_of(1, 1, 1, 1);
  plan.devices = plan.cp = 8;
  plan.batch.sequence = 131072;
  const double gathered = bench.cost(plan)[StepTerm::context];
  plan.context_exchange = ContextExchange::ring;
  EXPECT_GT(gathered, 0);
  EXPECT_LT(bench.cost(plan)[StepTerm::context], gathered);
}

TEST(LayerCost, TensorCommunicationHidesOnlyWherePlanned) {
  const Bench bench(deep(8));
  Plan plan = plan_of(8, 1, 1, 8);
  plan.tensor.sequence_parallel = true;
  const double bare = bench.cost(plan)[StepTerm::tensor];
  plan.overlap.tensor = true;
  const double overlapped = bench.cost(plan)[StepTerm::tensor];
  EXPECT_GT(overlapped, bare / 16);
  EXPECT_LT(overlapped, bare / 2);
}

// Four of a layer's ten calls run during the gradients of the two column-parallel products.
TEST(LayerCost, SequenceParallelBackwardGathersAndScattersBesideGradients) {
  const Bench bench(deep(8));
  Plan plan = plan_of(8, 1, 1, 8);
  plan.tensor.sequence_parallel = true;
  const CostContext context = bench.context(plan);
  const LayerCost& layer = context.kinds[0];
  const double call = layer.forward[PassTerm::tensor] / 4;
  EXPECT_NEAR(layer.backward[0][PassTerm::tensor] / (2 * call), 1, 0.05);
}

TEST(StepCost, NarrowAttentionSpeedsUpAttentionAlone) {
  std::string json(ideal_machine);
  json.replace(json.find("\"bf16\": 312"), 11, "\"bf16\": 312, \"fp8\": 624");
  Transformer model = llama();
  const auto attention = [&](const Transformer& m, bool narrow) {
    const Bench bench(m, json);
    Plan plan = plan_of(1, 1, 1, 1);
    plan.precision.matmul = Dtype::fp8;
    plan.kernels.narrow_attention = narrow;
    return bench.cost(plan)[StepTerm::attention];
  };
  EXPECT_LT(attention(model, true), attention(model, false));
  // A scan of states is no attention between all keys.
  const auto nemotron =
      *std::ranges::find(model_catalogue(), "nemotron-3-nano-4b", &Transformer::name);
  Transformer scans = nemotron;
  std::erase_if(scans.pattern, [](char c) { return c == '*'; });
  scans.layers = static_cast<std::int64_t>(scans.pattern.size());
  EXPECT_DOUBLE_EQ(attention(scans, true), attention(scans, false));
}

TEST(StepCost, RowwiseScalesSlowNarrowProductsAlone) {
  std::string json(ideal_machine);
  json.replace(json.find("{\"bf16\": 1}"), 11, "{\"bf16\": 1, \"fp8\": 1}");
  json.replace(json.find("\"bf16\": 312"), 11, "\"bf16\": 312, \"fp8\": 624");
  const Bench bench(llama(), json);
  Plan plan = plan_of(1, 1, 1, 1);
  plan.precision.matmul = Dtype::fp8;
  const double by_tensor = bench.cost(plan)[StepTerm::matmul];
  plan.kernels.fp8_rowwise = true;
  const double by_row = bench.cost(plan)[StepTerm::matmul];
  plan.kernels.narrow_head = true;
  const double all_by_row = bench.cost(plan)[StepTerm::matmul];
  const double head = 6.0 * static_cast<double>(plan.batch.global * plan.batch.sequence *
                                                bench.model.hidden * bench.model.vocabulary);
  const double layers = by_tensor - head / 312e12;
  EXPECT_NEAR(by_row, head / 312e12 + layers / rowwise_rate, 1e-3 * by_row);
  EXPECT_NEAR(all_by_row, (layers + head / 624e12) / rowwise_rate, 1e-3 * by_row);
}

TEST(StepCost, UnitsOfAllToAllsAreLostToArithmeticAndNotToUtilization) {
  const Bench bench(*find_model("mixtral-8x7b"));
  Plan plan = plan_of(1, 1, 8, 64);
  plan.ep = 8;
  plan.overlap.experts = true;
  const StepCost all = bench.cost(plan);
  plan.experts.sms = 27;  // a quarter of 108
  const StepCost rest = bench.cost(plan);
  // The router of few columns also waits for memory.
  EXPECT_NEAR(rest[StepTerm::matmul] / all[StepTerm::matmul], 108.0 / 81, 1e-3);
  EXPECT_NEAR(rest[StepTerm::attention] / all[StepTerm::attention], 108.0 / 81, 1e-3);
  EXPECT_NEAR(rest.mfu[0] * rest.step().count(), all.mfu[0] * all.step().count(), 1e-9);
  plan.experts.sms = 108;
  const auto none = make_cost_context(bench.model, bench.machine, bench.network, plan);
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message().find("expert_sms"), std::string::npos);
}

TEST(StepCost, NarrowHeadMultipliesAtTheRateOfTheLayers) {
  std::string json(ideal_machine);
  json.replace(json.find("{\"bf16\": 1}"), 11, "{\"bf16\": 1, \"fp8\": 1}");
  json.replace(json.find("\"bf16\": 312"), 11, "\"bf16\": 312, \"fp8\": 624");
  const Transformer model = llama();
  const auto products = [&](Dtype dtype, bool narrow) {
    const Bench bench(model, json);
    Plan plan = plan_of(1, 1, 1, 1);
    plan.precision.matmul = dtype;
    plan.kernels.narrow_head = narrow;
    return bench.cost(plan)[StepTerm::matmul];
  };
  EXPECT_DOUBLE_EQ(products(Dtype::bf16, true), products(Dtype::bf16, false));
  // Half of the head's products in bf16: three of [tokens, hidden] x [hidden, vocabulary].
  Plan plan = plan_of(1, 1, 1, 1);
  const double head = 6.0 * static_cast<double>(plan.batch.global * plan.batch.sequence *
                                                model.hidden * model.vocabulary);
  EXPECT_NEAR(products(Dtype::fp8, false) - products(Dtype::fp8, true), head / 624e12,
              0.02 * head / 624e12);
}

TEST(StepCost, WeightsGatheredOneByOneHideNothingAndWaitForEveryRank) {
  const Bench bench(gpt(4096, 32));
  Plan plan = plan_of(1, 1, 64, 64);
  plan.zero = 3;
  const double together = bench.cost(plan)[StepTerm::data];
  plan.overlap.gather_singly = true;
  const double singly = bench.cost(plan)[StepTerm::data];
  EXPECT_GT(singly, 2 * together);
  const auto of_ranks = [&](std::int64_t n) {
    Plan p = plan;
    p.devices = p.dp = p.batch.global = n;
    return bench.cost(p)[StepTerm::data];
  };
  // Every hop of a ring and every piece of a list takes its time.
  EXPECT_GT(of_ranks(512), 1.5 * of_ranks(128));
  plan.memory.recompute = Recompute::full;
  EXPECT_GT(bench.cost(plan)[StepTerm::data], 1.2 * singly);
  plan.zero = 2;
  const double sharded = bench.cost(plan).step().count();
  plan.overlap.gather_singly = false;
  EXPECT_DOUBLE_EQ(bench.cost(plan).step().count(), sharded);
}

// The time of images is that of the tower's operations, for each micro-batch.
TEST(StepCost, ImagesAreEncodedBesideTheEmbedding) {
  Transformer seeing = llama();
  seeing.tower = Tower{.layers = 6,
                       .hidden = 1024,
                       .heads = 16,
                       .feed_forward = 4096,
                       .patch = 16,
                       .merge = 2,
                       .positions = 1024};
  const Bench bench(seeing);
  Plan plan = plan_of(1, 1, 1, 3);
  const StepCost blind = bench.cost(plan);
  plan.batch.images = 2;
  plan.batch.image_patches = 1024;
  const auto model = make_compute_model(bench.machine, Dtype::bf16);
  double forward = 0;
  double backward = 0;
  const auto add = [&](const std::vector<Operation>& ops, double times) {
    for (const Operation& op : ops) {
      forward += times * operation_time(*model, op, Direction::forward).count();
      backward += times * operation_time(*model, op, Direction::backward).count();
    }
  };
  add(tower_layer_operations(bench.model, plan), 6);
  add(tower_end_operations(bench.model, plan), 1);
  const StepCost sees = bench.cost(plan);
  EXPECT_NEAR((sees.step() - blind.step()).count() / (3 * (forward + backward)), 1, 1e-9);
  EXPECT_GT(sees.memory[MemoryTerm::activations], blind.memory[MemoryTerm::activations]);
  EXPECT_DOUBLE_EQ(sees.memory[MemoryTerm::parameters], blind.memory[MemoryTerm::parameters]);
  EXPECT_GT(blind.memory[MemoryTerm::parameters],
            Bench(llama()).cost(plan_of(1, 1, 1, 3)).memory[MemoryTerm::parameters]);
  // Frozen: forward alone, and without states.
  plan.trained.frozen.add(ModelPart::tower);
  const StepCost frozen = bench.cost(plan);
  plan.batch.images = plan.batch.image_patches = 0;
  const StepCost closed = bench.cost(plan);
  EXPECT_NEAR((frozen.step() - closed.step()).count() / (3 * forward), 1, 1e-9);
  EXPECT_DOUBLE_EQ(frozen.memory[MemoryTerm::activations], closed.memory[MemoryTerm::activations]);
  EXPECT_LT(frozen.memory[MemoryTerm::optimizer], sees.memory[MemoryTerm::optimizer]);
}

TEST(StepCost, DualPipeHalvesTheBubbleAndHoldsTwoStages) {
  const Bench bench(deep(16));
  Plan plan = plan_of(1, 8, 1, 32);
  const StepCost one = bench.cost(plan);
  plan.pipeline.schedule = Schedule::dualpipe;
  const StepCost dual = bench.cost(plan);
  EXPECT_LT(dual[StepTerm::bubble], one[StepTerm::bubble] / 2);
  EXPECT_LT(dual.step().count(), one.step().count());
  EXPECT_GT(dual.memory[MemoryTerm::parameters], 1.5 * one.memory[MemoryTerm::parameters]);
  double sum = 0;
  for (const double s : dual.seconds) sum += s;
  EXPECT_DOUBLE_EQ(sum, dual.step().count());
}

TEST(StepCost, ALossInPlaceHoldsItsScoresOnce) {
  const Bench bench(llama());
  Plan plan = plan_of(1, 1, 1, 1);
  const double apart = bench.cost(plan).memory[MemoryTerm::logits];
  plan.kernels.loss_in_place = true;
  const double in_place = bench.cost(plan).memory[MemoryTerm::logits];
  EXPECT_DOUBLE_EQ(apart, 4 * in_place);  // 2 + 4 + 2 bytes, and 2
}

TEST(StepCost, AnIntervalHoldsItsStepAndIsWiderForMixtures) {
  const Bench bench(llama());
  const StepCost one = bench.cost(plan_of(1, 1, 1, 1));
  EXPECT_LT(one.interval().low.count(), one.step().count());
  EXPECT_GT(one.interval().high.count(), one.step().count());
  EXPECT_GT(bench.cost(plan_of(1, 1, 64, 64)).width, one.width);
  Transformer mixture = llama();
  mixture.experts = Experts{.count = 8, .top_k = 2, .feed_forward = 1024};
  EXPECT_GT(Bench(mixture).cost(plan_of(1, 1, 1, 1)).width, one.width);
}

}  // namespace
}  // namespace stepscope
