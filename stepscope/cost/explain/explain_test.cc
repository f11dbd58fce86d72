// SPDX-License-Identifier: Apache-2.0
// Every printed expression, evaluated independently, must equal the value printed after it. Covers
// random plans of every published model on machines of every kind.
#include "stepscope/cost/explain/explain.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "stepscope/cost/explain/explain_test_expression.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/model/model_json.h"
#include "stepscope/cost/model/random_test_draw.h"
#include "stepscope/cost/time/collective_sweep.h"

namespace stepscope {
namespace {

using explain_test::Expression;
using explain_test::Line;
using explain_test::parse_line;
using explain_test::Quantity;

Plan any_plan(const Transformer& m, Draw& draw) {
  Plan p{.tp = draw.of({1, 2, 4, 8}),
         .cp = draw.of({1, 1, 2}),
         .context_exchange = draw.any<ContextExchange>({0, 1, 2}),
         .ep = draw.of({1, 1, 2, 4}),
         .pp = draw.of({1, 1, 2, 4}),
         .dp = draw.of({1, 2, 4, 16}),
         .zero = static_cast<int>(draw.of({0, 1, 2, 3})),
         .shard_group = draw.of({0, 0, 2, 4}),
         .tensor = {.layout = draw.any<TensorLayout>({0, 0, 0, 1, 3}),
                    .sequence_parallel = draw.coin()},
         .pipeline = {.schedule = draw.any<Schedule>({0, 1, 2, 3, 4, 5})},
         .batch = {.sequence = draw.of({512, 2048}),
                   .micro = draw.of({1, 2}),
                   .reduce_each_micro = draw.coin()},
         .memory = {.recompute = draw.any<Recompute>({0, 1, 2, 3, 4}),
                    .recompute_every = draw.of({1, 2, 3}),
                    .narrow_swiglu = draw.of({0, 0, 1}) == 1,
                    .torch_buffers = draw.coin()},
         .kernels = {.fused_attention = draw.coin(),
                     .narrow_attention = draw.coin(),
                     .narrow_head = draw.coin(),
                     .grouped_experts = draw.coin(),
                     .fused_pointwise = draw.coin(),
                     .compiled = draw.coin(),
                     .loss_in_place = draw.coin()},
         .overlap = {.gradient_reduce = draw.of({0, 1, 1}) == 1,
                     .parameter_gather = draw.of({0, 1, 1}) == 1,
                     .prefetch = draw.of({0, 1, 2}),
                     .gather_singly = draw.of({0, 0, 1}) == 1,
                     .tensor = draw.coin()}};
  if (p.pipeline.schedule == Schedule::interleaved && p.pp > 1)
    p.pipeline.virtual_stages = draw.of({1, 2});
  p.precision.accumulated_gradient_bytes = static_cast<int>(draw.of({2, 4}));
  if (draw.of({0, 0, 1}) == 1) {
    p.memory.optimizer_at = draw.any<Residence>({0, 1, 2});
    p.memory.gradients_at = draw.any<Residence>({0, 1});
    p.memory.parameters_at = draw.any<Residence>({0, 1});
  }
  p.overlap.bucket = Bytes{draw.of({25, 200}) * 1024 * 1024};
  if (draw.of({0, 0, 1}) == 1) {
    p.trained.lora_rank = draw.of({0, 8, 16});
    p.trained.frozen_layers = draw.of({0, 0, 1, 3});
    if (draw.coin()) p.trained.frozen.add(ModelPart::embedding);
  }
  if (m.experts && !m.experts->capacity_factor)
    p.experts.load = static_cast<int>(draw.of({100, 100, 130}));
  if (m.patches) p.batch.sequence = image_tokens(*m.patches);
  p.devices = p.tp * p.cp * p.pp * p.dp;
  p.batch.global = p.dp * p.batch.micro * draw.of({1, 4, 8});
  return p;
}

// A machine with all values of host and drives, which few of the catalogue have.
Machine complete(std::string_view name) {
  Machine machine = *machine_named(std::string(name));
  if (!machine.host) machine.host = Host{};
  machine.host->per_direction = ByteRate{25e9};
  machine.host->memory_rate = ByteRate{60e9};
  machine.nvme = Nvme{.read = ByteRate{3e9}, .write = ByteRate{1.5e9}, .capacity = {}};
  return machine;
}

// The expression's value must match the result within the printed digits.
void expect_holds(const std::string& text) {
  try {
    const Line line = parse_line(text);
    const Quantity said = Expression(line.expression).value();
    const Quantity result = Expression(line.result).value();
    EXPECT_EQ(said.dimension, result.dimension) << text;
    // No deviation beyond the digits, except in differences of large numbers.
    EXPECT_LE(said.low, result.high + 1e-12 * std::abs(result.high)) << text;
    EXPECT_GE(said.high, result.low - 1e-12 * std::abs(result.low)) << text;
  } catch (const std::runtime_error& error) {
    ADD_FAILURE() << error.what() << "\n" << text;
  }
}

struct Tally {
  std::size_t plans = 0;
  std::size_t lines = 0;
  std::size_t with_expression = 0;
  std::map<std::string, std::size_t> telling;  // by name: lines with a formula besides the result
};

void check_plan_of(const Transformer& m, const Machine& machine, const Network& network,
                   const Plan& plan, Tally& tally) {
  auto context = make_cost_context(m, machine, network, plan);
  ASSERT_TRUE(context) << context.error().message();
  const auto lines = explain_all(*context, plan);
  ASSERT_TRUE(lines) << lines.error().message();
  ++tally.plans;
  const auto names = explained_names();
  ASSERT_GT(lines->size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i)
    EXPECT_TRUE((*lines)[i].starts_with(std::string(names[i]) + " = ")) << (*lines)[i];
  for (const std::string& text : *lines) {
    expect_holds(text);
    ++tally.lines;
    const Line line = parse_line(text);
    if (line.expression == line.result) continue;
    ++tally.with_expression;
    ++tally.telling[line.name];
  }
}

TEST(Explain, PrintsExpressionsThatAreTheirValues) {
  Draw draw(3);
  Tally tally;
  for (const std::string_view name :
       {"a100_sxm_80gb", "h100_sxm_80gb", "v100_sxm2_16gb", "mi300x", "a100_sxm_40gb_perlmutter"}) {
    const Machine machine = complete(name);
    const auto network = make_network(machine);
    ASSERT_TRUE(network) << network.error().message();
    for (const Transformer& m : model_catalogue()) {
      for (int round = 0; round < 40; ++round) {
        Plan plan = any_plan(m, draw);
        if (name == "v100_sxm2_16gb") plan.precision.matmul = Dtype::fp16;
        if (name == "h100_sxm_80gb" && draw.coin()) plan.precision.matmul = Dtype::fp8;
        if (!check_plan(m, plan)) continue;
        check_plan_of(m, machine, *network, plan, tally);
        if (HasFailure()) FAIL() << m.name << " on " << name;
      }
    }
  }
  EXPECT_GT(tally.plans, 300U);
  EXPECT_GT(tally.with_expression, tally.lines / 2);
  // Lines without an expression are only those of plans without that part.
  for (const std::string_view name : explained_names())
    EXPECT_GT(tally.telling[std::string(name)], 0U) << name;
}

TEST(Explain, FindsAnErrorInAnExpression) {
  const auto value = [](std::string_view text) { return Expression(text).value(); };
  EXPECT_NEAR(value("2 * (3 ms + 1 s) / 4").low, 0.5015, 1e-5);
  EXPECT_NEAR(value("max(2 GB / 10 GB/s, 1 ms)^2").high, 0.04, 1e-5);
  EXPECT_NEAR(value("combined(1 s, 4 s, 1, 1)").low, 9, 1e-3);
  EXPECT_NEAR(value("ceil(2.5) - 1").low, 2, 1e-4);
  EXPECT_NEAR(value("3 * 5 us within + 2 * 1 us across").low, 17e-6, 1e-9);
  EXPECT_NEAR(value("12 TFLOP / 6 TFLOP/s").low, 2, 1e-4);
  EXPECT_THROW((void)value("1 s + 1 B"), std::runtime_error);
  EXPECT_THROW((void)value("1 parsec"), std::runtime_error);
  EXPECT_THROW((void)value("1 s +"), std::runtime_error);
  EXPECT_THROW((void)value("(1 s"), std::runtime_error);
  EXPECT_LT(value("5 s - 4 s").high, 1.0001);
}

TEST(Explain, CollectivesSayWhatTheyTake) {
  const Machine machine = *machine_named("h100_sxm_80gb");
  const Network network = *make_network(machine);
  std::size_t lines = 0;
  for (const CollectiveKind kind :
       {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
        CollectiveKind::broadcast, CollectiveKind::reduce, CollectiveKind::all_to_all,
        CollectiveKind::send_recv, CollectiveKind::gather}) {
    for (const int size : {2, 8, 64, 512}) {
      for (const std::int64_t total : {1'024, 1'000'000, 1'000'000'000}) {
        const auto group = place(size, 1, network);
        for (const AlgorithmTime& a : collective_algorithms(network, kind, Bytes{total}, *group)) {
          expect_holds("collective = its algorithm = " + a.formula);
          ++lines;
        }
      }
    }
  }
  EXPECT_GT(lines, 100U);
}

TEST(Explain, RefusesANameThatIsNone) {
  const Machine machine = *machine_named("a100_sxm_80gb");
  const Network network = *make_network(machine);
  const Transformer model = *find_model("llama-3-8b");
  Plan plan;
  plan.batch.sequence = 512;
  auto context = make_cost_context(model, machine, network, plan);
  ASSERT_TRUE(context);
  for (const std::string_view name : {"buble", "", "qkv_prj"}) {
    const auto lines = explain(*context, plan, name);
    ASSERT_FALSE(lines);
    EXPECT_NE(lines.error().what.find("there is no term"), std::string::npos);
  }
  EXPECT_NE(explain(*context, plan, "qkv_prj").error().hint.find("qkv_proj"), std::string::npos);
  // A term and an operation share a name: the term comes first.
  const auto both = explain(*context, plan, "attention");
  ASSERT_TRUE(both);
  EXPECT_TRUE(both->front().starts_with("attention = m "));
  EXPECT_GT(both->size(), 2U);
}

}  // namespace
}  // namespace stepscope
