// SPDX-License-Identifier: Apache-2.0
// Frozen parts and adapters: parameters, FLOPs and what is kept, over the published models.
#include <gtest/gtest.h>

#include <algorithm>

#include "stepscope/cost/layer/operations_test_models.h"
#include "stepscope/cost/layer/recompute.h"
#include "stepscope/cost/model/model_flops.h"
#include "stepscope/cost/model/model_json.h"
#include "stepscope/cost/model/parameter_count.h"

namespace stepscope {
namespace {

using namespace operations_test;

TrainedParts lora(std::int64_t rank, std::initializer_list<LoraTarget> targets = {}) {
  TrainedParts t{.lora_rank = rank};
  for (const LoraTarget target : targets) t.lora_targets.add(target);
  return t;
}

// What peft's print_trainable_parameters says for these models.
TEST(Adapters, HaveThePublishedNumbersOfParameters) {
  const Transformer llama2 = *find_model("llama-2-7b");
  const Transformer llama3 = *find_model("llama-3-8b");
  using enum LoraTarget;
  EXPECT_EQ(trained_parameters(llama2, lora(8, {q_proj, v_proj})), 4'194'304);
  EXPECT_EQ(trained_parameters(llama2, lora(16, {q_proj, v_proj})), 8'388'608);
  EXPECT_EQ(trained_parameters(
                llama3, lora(16, {q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj})),
            41'943'040);
  // Megatron's one adapter for several matrices shares A.
  const std::int64_t shared = 32 * 16 * (2 * 4096 + 4096);
  EXPECT_EQ(trained_parameters(llama3, lora(16)), 41'943'040 - shared);
}

Plan plan_for(const Transformer& m, const TrainedParts& t) {
  Plan plan = plan_of(1);
  plan.kernels.vocabulary_multiple = 1;
  plan.trained = t;
  if (m.patches) plan.batch.sequence = image_tokens(*m.patches);
  if (m.positions == Positions::learned)
    plan.batch.sequence = std::min(plan.batch.sequence, m.max_positions);
  return plan;
}

std::vector<Operation> all_operations(const Transformer& m, const Plan& plan) {
  std::vector<Operation> all = embedding_operations(m, plan);
  const auto append = [&all](const std::vector<Operation>& more, std::int64_t times = 1) {
    for (std::int64_t i = 0; i < times; ++i) all.insert(all.end(), more.begin(), more.end());
  };
  for (std::int64_t l = 0; l < m.layers; ++l) append(layer_operations(m, plan, l));
  append(head_operations(m, plan));
  if (!m.prediction) return all;
  const std::int64_t modules = m.prediction->modules;
  append(prediction_operations(m, plan), modules);
  append(prediction_head_operations(m, plan), modules);
  return all;
}

std::vector<TrainedParts> choices(const Transformer& m) {
  std::vector<TrainedParts> all = {lora(8), lora(16)};
  all.back().frozen_layers = m.layers / 2;
  all.push_back({.frozen_layers = m.layers / 2});
  if (m.tied_embeddings) return all;
  all.push_back({.frozen_layers = 1});
  all.back().frozen.add(ModelPart::embedding);
  all.push_back({});
  all.back().frozen.add(ModelPart::layers);
  all.push_back({});
  all.back().frozen.add(ModelPart::head);
  return all;
}

TEST(Adapters, TrainedParametersOfOperationsAreThoseOfTheModel) {
  for (const Transformer& m : model_catalogue()) {
    if (m.prediction && m.prediction->one_module) continue;  // operations count each pass
    for (const TrainedParts& t : choices(m)) {
      const Result<Done> can = check_plan(m, plan_for(m, t));
      ASSERT_TRUE(can) << can.error().message();
      double trained = 0;
      for (const Operation& op : all_operations(m, plan_for(m, t)))
        trained += op.trained ? op.parameters : 0;
      EXPECT_EQ(trained, static_cast<double>(trained_parameters(m, t)))
          << m.name << " rank " << t.lora_rank << " frozen " << t.frozen.bits << " layers "
          << t.frozen_layers;
    }
  }
}

// Attention's backward recomputes its scores, so its count is forward's three times.
TEST(Adapters, FlopsOfOperationsAreThoseOfTheModel) {
  for (const Transformer& m : model_catalogue()) {
    // Inputs without gradients, and indexers, which learn from a loss of their own.
    if (m.patches || m.pooler || m.indexer) continue;
    for (const TrainedParts& t : choices(m)) {
      const Plan plan = plan_for(m, t);
      double sum = 0;
      for (const Operation& op : all_operations(m, plan)) {
        const bool product = op.kind == OperationClass::matmul;
        sum += product ? op.forward.matrix.value + op.backward.matrix.value
                       : op.forward.matrix.value * (op.forward_only ? 1 : 3);
      }
      const double model =
          sequence_flops(m, plan.batch.sequence, FlopsConvention::causal_halved, t);
      EXPECT_NEAR(sum / model, 1, 1e-12) << m.name << " rank " << t.lora_rank << " frozen "
                                         << t.frozen.bits << " layers " << t.frozen_layers;
    }
  }
}

TEST(Adapters, TrainedPartsOfAllAreTheUsualCount) {
  const Transformer m = *find_model("llama-3-8b");
  TrainedParts most;
  most.frozen.add(ModelPart::head);
  for (std::size_t c = 0; c < flops_convention_count; ++c) {
    const auto convention = static_cast<FlopsConvention>(c);
    const double all = sequence_flops(m, 2048, convention);
    const double head = 2.0 * 4096 * 128256 * 2048;
    // A frozen head has no gradient of its weights.
    EXPECT_NEAR(all - sequence_flops(m, 2048, convention, most), head, 0.001 * head);
  }
}

TEST(Adapters, FrozenLayersKeepLess) {
  const Transformer m = *find_model("llama-3-8b");
  const Plan whole = plan_for(m, {});
  const Plan frozen = plan_for(m, lora(16));
  TrainedParts before = lora(16);
  before.frozen_layers = 4;
  const auto kept = [&](const Plan& plan, std::int64_t layer) {
    return kept_bytes(layer_operations(m, plan, layer), Recompute::none,
                      layer_input_bytes(m, plan));
  };
  const double tokens = static_cast<double>(whole.batch.micro * whole.batch.sequence);
  // All inputs are kept by adapters instead, and their own narrow outputs.
  EXPECT_DOUBLE_EQ(kept(frozen, 0) - kept(whole, 0), tokens * 4 * 16 * 2);
  // Next to queries alone: no input of the other products. The core keeps its output.
  const Plan queries = plan_for(m, lora(16, {LoraTarget::q_proj}));
  EXPECT_DOUBLE_EQ(kept(whole, 0) - kept(queries, 0), tokens * (4096 + 14336 - 16) * 2);
  EXPECT_EQ(kept(plan_for(m, before), 3), 0);
  EXPECT_EQ(kept(plan_for(m, before), 4), kept(frozen, 0));
  for (const Operation& op : layer_operations(m, plan_for(m, before), 3)) {
    EXPECT_EQ(op.backward.flops().value, 0) << op.name;
    EXPECT_EQ(op.backward.bytes(), 0) << op.name;
    EXPECT_EQ(share_again(op, Recompute::full), 0) << op.name;
  }
}

TEST(Adapters, RefuseWhatIsNotThere) {
  const Transformer llama = *find_model("llama-3-8b");
  const Transformer gpt = *find_model("gpt3-175b");
  const auto refuses = [](const Transformer& m, const TrainedParts& t, std::string_view what) {
    const Result<Done> can = check_plan(m, plan_for(m, t));
    ASSERT_FALSE(can);
    EXPECT_NE(can.error().what.find(what), std::string::npos) << can.error().what;
    EXPECT_FALSE(can.error().hint.empty());
  };
  using enum LoraTarget;
  refuses(llama, lora(0, {q_proj}), "--lora-targets without --lora-rank");
  refuses(llama, lora(8, {q_a_proj}), "q_a_proj, which llama-3-8b has in no layer");
  refuses(gpt, lora(8, {gate_proj}), "gate_proj");
  refuses(llama, lora(8, {linear_qkv, k_proj}), "which is a part of it");
  TrainedParts nothing;
  for (const ModelPart part : {ModelPart::embedding, ModelPart::layers, ModelPart::head})
    nothing.frozen.add(part);
  refuses(llama, nothing, "nothing is left to train");
  TrainedParts one_end;
  one_end.frozen.add(ModelPart::head);
  refuses(gpt, one_end, "one table");
}

}  // namespace
}  // namespace stepscope
