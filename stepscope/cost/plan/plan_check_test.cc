// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "stepscope/cost/model/model_json.h"
#include "stepscope/cost/plan/plan_fields.h"

namespace stepscope {
namespace {

Transformer llama3_8b() { return *find_model("llama-3-8b"); }

Transformer mixture() {
  Transformer m = llama3_8b();
  m.experts = Experts{.count = 8, .top_k = 2, .feed_forward = 14336};
  return m;
}

// 64 devices: 4 * 2 * 4 * 2.
Plan good() {
  return {.devices = 64,
          .tp = 4,
          .cp = 2,
          .pp = 4,
          .dp = 2,
          .tensor = {.sequence_parallel = true},
          .batch = {.sequence = 8192, .micro = 1, .global = 32}};
}

std::string complaint(const Plan& plan, const Transformer& model = llama3_8b()) {
  const Result<Done> checked = check_plan(model, plan);
  return checked ? "" : checked.error().message();
}

template <class Change>
std::string after(Change change, const Transformer& model = llama3_8b()) {
  Plan plan = good();
  change(plan);
  return complaint(plan, model);
}

TEST(CheckPlan, TakesAPlanThatCanRun) {
  EXPECT_EQ(complaint(good()), "");
  EXPECT_EQ(complaint(Plan{}), "") << "one device";
}

TEST(CheckPlan, WantsDegreesThatMultiplyToTheDevices) {
  EXPECT_EQ(after([](Plan& p) { p.dp = 4; }),
            "--tp * --cp * --pp * --dp = 4 * 2 * 4 * 4 = 128, not the 64 devices; with this --tp, "
            "--cp and --pp, --dp must be 2");
  EXPECT_NE(after([](Plan& p) { p.pp = 5; }).find("40 does not"), std::string::npos);
}

TEST(CheckPlan, RefusesNumbersOutOfRangeWithoutOverflow) {
  constexpr auto huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(after([](Plan& p) { p.devices = 0; }),
            "devices = 0 is out of range; it must be 1 to 10000000");
  EXPECT_EQ(after([](Plan& p) { p.tp = -4; }), "--tp -4 is out of range; it must be 1 to 64");
  EXPECT_EQ(after([](Plan& p) { p.tp = 65; }),
            "--tp 65 is out of range; it must be 1 to 64, the devices");
  EXPECT_NE(after([](Plan& p) { p.zero = 4; }).find("--zero 4"), std::string::npos);
  for (const PlanField& field : plan_table()) {
    for (const std::int64_t n : {huge, -huge - 1, std::int64_t{-1}}) {
      Plan plan = good();
      const FieldRef place = field.in(plan);
      const auto* number = std::get_if<std::int64_t*>(&place);
      if (number == nullptr) continue;
      **number = n;
      EXPECT_NE(complaint(plan).find("is out of range"), std::string::npos) << field.key << n;
    }
  }
  Plan wide{.devices = 10'000'000};
  wide.tp = wide.cp = wide.pp = wide.dp = 10'000'000;
  EXPECT_NE(complaint(wide).find("far more"), std::string::npos);
}

TEST(CheckPlan, SplitsHeadsEvenlyAndReplicatesFewKeyValueHeads) {
  Plan plan{.devices = 3, .tp = 3};
  EXPECT_EQ(complaint(plan),
            "32 heads cannot be split over --tp 3; --tp may be 1, 2, 4, 8, 16 or 32");
  plan = {.devices = 16, .tp = 16};
  EXPECT_EQ(complaint(plan), "") << "8 key-value heads, each on two ranks";
  Transformer odd = llama3_8b();
  odd.heads = 24;
  odd.kv_heads = 6;
  plan = {.devices = 4, .tp = 4};
  EXPECT_EQ(complaint(plan, odd),
            "6 key-value heads can be neither split nor replicated over --tp 4; --tp must divide "
            "them or be a multiple of them: 1, 2, 3, 6, 12 or 24");
}

TEST(CheckPlan, SplitsTheFeedForwardEvenly) {
  Transformer odd = llama3_8b();
  odd.feed_forward = 14335;
  EXPECT_NE(complaint({.devices = 2, .tp = 2}, odd).find("feed_forward = 14335"),
            std::string::npos);
  odd = mixture();
  odd.experts->feed_forward = 1407;
  EXPECT_NE(complaint({.devices = 2, .tp = 2}, odd).find("experts.feed_forward = 1407"),
            std::string::npos);
}

TEST(CheckPlan, CutsTheSequenceForContextAndSequenceParallel) {
  EXPECT_EQ(after([](Plan& p) { p.batch.sequence = 8190; }),
            "--seq 8190 cannot be cut into 4 chunks (--cp 2, two a rank to balance the causal "
            "mask); it must be a multiple of 4");
  EXPECT_EQ(
      after([](Plan& p) { p.batch.sequence = 8196; }),
      "--seq / --cp = 4098 cannot be split over --tp 4 (--sequence-parallel); --tp must divide it");
}

TEST(CheckPlan, GivesEachRankOfAnAllToAllWholeHeads) {
  const auto exchange = [](std::int64_t cp) {
    return Plan{.devices = 4 * cp,
                .tp = 4,
                .cp = cp,
                .context_exchange = ContextExchange::all_to_all,
                .batch = {.sequence = 8192}};
  };
  EXPECT_EQ(complaint(exchange(8)), "");
  EXPECT_EQ(complaint(exchange(16)),
            "32 heads cannot be split over --tp * --cp = 64 (--context-exchange all_to_all); --cp "
            "may be 1, 2, 4 or 8, or take ring or all_gather");
}

TEST(CheckPlan, TakesExpertRanksFromThoseOfContextAndData) {
  EXPECT_EQ(after([](Plan& p) { p.ep = 4; }, mixture()), "");
  EXPECT_EQ(after([](Plan& p) { p.ep = 8; }, mixture()),
            "--ep 8 does not divide --cp * --dp = 4, whose ranks it is taken from; --ep may be 1, "
            "2 or 4");
  EXPECT_EQ(after([](Plan& p) { p.ep = 3; }, mixture()),
            "8 experts cannot be split over --ep 3; --ep may be 1, 2, 4 or 8");
  EXPECT_EQ(after([](Plan& p) { p.ep = 2; }),
            "--ep 2, but llama-3-8b has no experts; leave --ep out");
}

TEST(CheckPlan, WantsUnevenStagesSpelledOut) {
  Transformer odd = llama3_8b();
  odd.layers = 30;
  EXPECT_EQ(after([](Plan&) {}, odd),
            "--pp * --virtual-stages = 4 stages do not divide 30 layers evenly; give "
            "--stage-layers, as even as can be: 7,8,8,7");
  EXPECT_EQ(after([](Plan& p) { p.pipeline.stage_layers = {7, 8, 8, 7}; }, odd), "");
  EXPECT_EQ(after([](Plan& p) { p.pipeline.stage_layers = {0, 15, 15, 0}; }, odd), "");
  EXPECT_NE(
      after([](Plan& p) { p.pipeline.stage_layers = {15, 0, 0, 15}; }, odd).find("0 for stage 1"),
      std::string::npos);
  EXPECT_NE(
      after([](Plan& p) { p.pipeline.stage_layers = {7, 8, 8, 8}; }, odd).find("add up to 31"),
      std::string::npos);
  EXPECT_NE(after([](Plan& p) { p.pipeline.stage_layers = {15, 15}; }, odd).find("2 entries"),
            std::string::npos);
  odd.layers = 3;
  EXPECT_NE(after([](Plan&) {}, odd).find("4 stages for 3 layers"), std::string::npos);
}

TEST(CheckPlan, InterleavesAsMegatronDoes) {
  const auto interleave = [](Plan& p) {
    p.pipeline.schedule = Schedule::interleaved;
    p.pipeline.virtual_stages = 2;
  };
  EXPECT_EQ(after(interleave), "");
  EXPECT_NE(after([](Plan& p) { p.pipeline.virtual_stages = 2; }).find("only interleaved"),
            std::string::npos);
  EXPECT_NE(
      after([](Plan& p) { p.pipeline.schedule = Schedule::interleaved; }).find("2 or more of both"),
      std::string::npos);
  EXPECT_EQ(after([&](Plan& p) {
              interleave(p);
              p.batch.global = 36;
            }),
            "--schedule interleaved with 18 micro-batches on --pp 4; their number must be a "
            "multiple of --pp: --global-batch a multiple of 8");
}

TEST(CheckPlan, CutsTheBatchIntoWholePasses) {
  EXPECT_EQ(after([](Plan& p) { p.batch.global = 33; }),
            "--global-batch 33 is no multiple of --dp * --micro-batch = 2 * 1 = 2; give 32 or 34");
  EXPECT_EQ(after([](Plan& p) { p.batch.global = 1; }),
            "--global-batch 1 is no multiple of --dp * --micro-batch = 2 * 1 = 2; give 2");
}

TEST(CheckPlan, ShardsWithinWholeGroups) {
  EXPECT_EQ(after([](Plan& p) { p.zero = 3; }), "") << "with a pipeline, as FSDP allows";
  EXPECT_NE(after([](Plan& p) { p.shard_group = 2; }).find("--zero 0"), std::string::npos);
  EXPECT_EQ(after([](Plan& p) {
              p.zero = 3;
              p.shard_group = 3;
            }),
            "--shard-group 3 does not divide --dp * --cp = 4; it may be 1, 2 or 4");
}

TEST(CheckPlan, WantsGridsForTheOtherTensorLayouts) {
  const auto layout = [](TensorLayout l, std::int64_t tp, std::int64_t depth) {
    return Plan{.devices = tp, .tp = tp, .tensor = {.layout = l, .depth = depth}};
  };
  EXPECT_EQ(complaint(layout(TensorLayout::two_d, 16, 1)), "");
  EXPECT_EQ(complaint(layout(TensorLayout::two_and_half_d, 8, 2)), "");
  EXPECT_EQ(complaint(layout(TensorLayout::three_d, 8, 1)), "");
  EXPECT_EQ(complaint(layout(TensorLayout::two_d, 8, 1)),
            "--tp 8 is no grid of the 2d layout; it must be a square: 1, 4, 9, 16, ..., or give "
            "--tp-rows and --tp-columns");
  EXPECT_NE(complaint(layout(TensorLayout::three_d, 4, 1)).find("a cube"), std::string::npos);
  EXPECT_NE(complaint(layout(TensorLayout::two_and_half_d, 8, 4)).find("square"),
            std::string::npos);
  EXPECT_NE(complaint(layout(TensorLayout::two_and_half_d, 16, 4)).find("exceeds the side 2"),
            std::string::npos);
  EXPECT_NE(complaint(layout(TensorLayout::two_d, 4, 2)).find("--tp-depth"), std::string::npos);
  EXPECT_NE(complaint(layout(TensorLayout::two_d, 9, 1)).find("heads = 32"), std::string::npos);
}

Plan sides(TensorLayout layout, std::int64_t tp, std::array<std::int64_t, 3> s) {
  return Plan{.devices = tp,
              .tp = tp,
              .tensor = {.layout = layout, .rows = s[0], .columns = s[1], .depth = s[2]}};
}

TEST(CheckPlan, TakesGridsOfAnySides) {
  EXPECT_EQ(complaint(sides(TensorLayout::two_d, 8, {2, 4, 1})), "");
  EXPECT_EQ(complaint(sides(TensorLayout::two_d, 8, {8, 0, 1})), "");
  EXPECT_EQ(complaint(sides(TensorLayout::two_d, 8, {0, 8, 1})), "");
  EXPECT_EQ(complaint(sides(TensorLayout::two_and_half_d, 24, {2, 4, 3})), "");
  EXPECT_EQ(complaint(sides(TensorLayout::two_and_half_d, 16, {2, 2, 4})), "");
  EXPECT_EQ(complaint(sides(TensorLayout::three_d, 16, {2, 4, 2})), "");
  EXPECT_EQ(complaint(sides(TensorLayout::three_d, 4, {2, 2, 1})), "");
  EXPECT_EQ(complaint(sides(TensorLayout::three_d, 8, {0, 0, 2})), "") << "2 x 2 x 2";
}

TEST(CheckPlan, NamesTheSidesThatDoNotFit) {
  EXPECT_EQ(complaint(sides(TensorLayout::two_d, 8, {2, 2, 1})),
            "--tp-rows * --tp-columns = 2 * 2 = 4, not --tp 8; the sides of the grid must multiply "
            "to --tp");
  EXPECT_EQ(complaint(sides(TensorLayout::three_d, 8, {2, 2, 1})),
            "--tp-rows * --tp-columns * --tp-depth = 2 * 2 * 1 = 4, not --tp 8; the sides of the "
            "grid must multiply to --tp");
  EXPECT_EQ(complaint(sides(TensorLayout::two_d, 8, {3, 0, 1})),
            "--tp-rows = 3 does not divide --tp 8; the sides of the grid must multiply to --tp");
  EXPECT_EQ(complaint(sides(TensorLayout::one_d, 8, {0, 4, 1})),
            "--tp-columns 4 belongs to the 2d, 2.5d and 3d layouts, not to 1d; leave it out or "
            "take --tensor-layout 2d");
  Plan parallel = sides(TensorLayout::two_d, 8, {2, 4, 1});
  parallel.tensor.sequence_parallel = true;
  EXPECT_EQ(complaint(parallel),
            "--sequence-parallel belongs to the 1d layout; 2d splits every activation "
            "itself; leave it out, or give --sequence-parallel=false");
  EXPECT_EQ(complaint(sides(TensorLayout::two_d, 6, {2, 3, 1})),
            "heads = 32 cannot be cut into 3 parts by --tp-columns of the 2d grid 2 x 3 x 1; "
            "--tp-columns must divide it");
  EXPECT_EQ(complaint(sides(TensorLayout::two_d, 6, {3, 2, 1})),
            "hidden = 4096 cannot be cut into 6 parts by --tp-rows and --tp-columns of the 2d grid "
            "3 x 2 x 1; the least common multiple of --tp-rows and --tp-columns must divide it");
  EXPECT_EQ(complaint(sides(TensorLayout::three_d, 12, {2, 2, 3})),
            "hidden = 4096 cannot be cut into 3 parts by --tp-depth of the 3d grid 2 x 2 x 3; "
            "--tp-depth must divide it");
  EXPECT_EQ(complaint(sides(TensorLayout::three_d, 12, {3, 2, 2})),
            "tokens of a pass = 2048 cannot be cut into 3 parts by --tp-rows of the 3d grid 3 x 2 "
            "x 2; --tp-rows must divide it");
}

TEST(CheckPlan, CutsTheSequenceIntoItsOwnDegree) {
  const auto degree = [](std::int64_t devices, std::int64_t tp, std::int64_t s) {
    return Plan{
        .devices = devices, .tp = tp, .tensor = {.sequence_parallel = true, .sequence_degree = s}};
  };
  EXPECT_EQ(complaint(degree(2, 1, 2)), "");
  EXPECT_EQ(complaint(degree(4, 4, 1)), "");
  EXPECT_EQ(complaint(degree(4, 2, 4)), "");
  EXPECT_EQ(complaint(degree(8, 8, 2)), "");
  EXPECT_EQ(complaint(degree(4, 2, 3)),
            "lcm(--tp, --sequence-degree) * --cp * --pp * --dp = 6 * 1 * 1 * 1 = 6, not the 4 "
            "devices; lcm(--tp, --sequence-degree) * --cp * --pp must divide 4, and 6 does not");
  EXPECT_EQ(complaint(degree(8, 2, 4)),
            "lcm(--tp, --sequence-degree) * --cp * --pp * --dp = 4 * 1 * 1 * 1 = 4, not the 8 "
            "devices; with this --tp, --sequence-degree, --cp and --pp, --dp must be 2");
  EXPECT_EQ(complaint(degree(6, 2, 3)),
            "--seq / --cp = 2048 cannot be split over --sequence-degree 3; it may be 1, 2, 4, 8, "
            "16, 32, 64, 128, 256, 512, 1024 or 2048");
  Plan off = degree(4, 4, 2);
  off.tensor.sequence_parallel = false;
  EXPECT_EQ(complaint(off),
            "--sequence-degree 2 without --sequence-parallel, which splits nothing; give "
            "--sequence-parallel, or leave it out");
}

TEST(CheckPlan, KeepsWithinTheModelsPositions) {
  Transformer gpt = llama3_8b();
  gpt.positions = Positions::learned;
  gpt.max_positions = 1024;
  EXPECT_NE(complaint(Plan{}, gpt).find("exceeds the 1024 learned positions"), std::string::npos);
  Transformer vision = llama3_8b();
  vision.patches = Patches{.image = 224, .patch = 16};
  EXPECT_NE(complaint(Plan{}, vision).find("give --seq 197"), std::string::npos);
}

TEST(CheckPlan, TakesKOnlyWhereEveryKthLayerIsRecomputed) {
  EXPECT_NE(after([](Plan& p) { p.memory.recompute_every = 2; }).find("--recompute every:K"),
            std::string::npos);
  EXPECT_EQ(after([](Plan& p) {
              p.memory.recompute = Recompute::every_k;
              p.memory.recompute_every = 2;
            }),
            "");
}

TEST(CheckPlan, KeepsNarrowCopiesOnlyOfWhatThereIs) {
  Transformer gelu = llama3_8b();
  gelu.activation = Activation::gelu;
  Plan swiglu;
  swiglu.memory.narrow_swiglu = true;
  EXPECT_NE(complaint(swiglu, gelu).find("no SwiGLU"), std::string::npos);
  EXPECT_EQ(complaint(swiglu, llama3_8b()), "");
  Plan output;
  output.memory.narrow_attention_output = true;
  EXPECT_NE(complaint(output, llama3_8b()).find("with --dtype bf16"), std::string::npos);
  output.precision.matmul = Dtype::fp8;
  EXPECT_EQ(complaint(output, llama3_8b()), "");
  output.kernels.fused_attention = false;
  EXPECT_NE(complaint(output, llama3_8b()).find("materialised"), std::string::npos);
}

TEST(CheckPlan, AsksOfExpertsAndOfFp8OnlyWhatThereIs) {
  const Transformer dense = llama3_8b();
  Transformer mixture = dense;
  mixture.experts = Experts{.count = 8, .top_k = 2, .feed_forward = 4096};
  Plan plan;
  plan.experts.load = 120;
  EXPECT_NE(complaint(plan, dense).find("--expert-load"), std::string::npos);
  EXPECT_EQ(complaint(plan, mixture), "");
  mixture.experts->capacity_factor = 1.0;
  EXPECT_NE(complaint(plan, mixture).find("capacity"), std::string::npos);
  mixture.experts->capacity_factor.reset();
  plan = {};
  plan.experts.sms = 20;
  EXPECT_NE(complaint(plan, mixture).find("--ep-overlap"), std::string::npos);
  plan.overlap.experts = true;
  EXPECT_EQ(complaint(plan, mixture), "");
  plan = {};
  plan.kernels.fused_experts = true;
  EXPECT_NE(complaint(plan, dense).find("--fused-experts"), std::string::npos);
  plan.experts.narrow_dispatch = true;
  EXPECT_NE(complaint(plan, mixture).find("--narrow-dispatch with --dtype bf16"),
            std::string::npos);
  plan.precision.matmul = Dtype::fp4;
  EXPECT_EQ(complaint(plan, mixture), "");
  plan.kernels.fp8_rowwise = true;
  EXPECT_NE(complaint(plan, mixture).find("--fp8-rowwise with --dtype fp4"), std::string::npos);
}

TEST(EvenStages, DifferByOneAtMostAndSpareTheEnds) {
  EXPECT_EQ(even_stages(10, 4), (std::vector<std::int64_t>{2, 3, 3, 2}));
  EXPECT_EQ(even_stages(8, 4), (std::vector<std::int64_t>{2, 2, 2, 2}));
  for (std::int64_t layers = 1; layers < 40; ++layers) {
    for (std::int64_t n = 1; n <= layers; ++n) {
      const auto list = even_stages(layers, n);
      EXPECT_EQ(std::accumulate(list.begin(), list.end(), std::int64_t{0}), layers);
      EXPECT_LE(*std::ranges::max_element(list) - *std::ranges::min_element(list), 1);
    }
  }
}

TEST(CheckPlan, MirrorsTheStagesOfDualPipe) {
  const auto dual = [](std::int64_t pp, std::int64_t batch) {
    return after([&](Plan& p) {
      p.devices = p.pp = pp;
      p.pipeline.schedule = Schedule::dualpipe;
      p.tp = p.cp = p.dp = p.batch.micro = 1;
      p.batch.global = batch;
    });
  };
  EXPECT_EQ(dual(4, 8), "");
  EXPECT_NE(dual(4, 6).find("must be even, and 2 * --pp or more"), std::string::npos);
  EXPECT_NE(dual(4, 9).find("must be even"), std::string::npos);
  EXPECT_NE(dual(1, 8).find("pp must be even"), std::string::npos);
}

}  // namespace
}  // namespace stepscope
