// SPDX-License-Identifier: Apache-2.0
// For any plan that check_plan accepts, operations of every published model are sane numbers.
#include <gtest/gtest.h>

#include <cmath>

#include "stepscope/cost/layer/layer_table.h"
#include "stepscope/cost/layer/operations_test_models.h"
#include "stepscope/cost/layer/recompute.h"
#include "stepscope/cost/model/model_json.h"
#include "stepscope/cost/model/random_test_draw.h"
#include "stepscope/cost/plan/tensor_grid.h"

namespace stepscope {
namespace {

using namespace operations_test;

Plan any_plan(const Transformer& m, Draw& draw) {
  Plan p{.tp = draw.of({1, 2, 3, 4, 8, 16, 27, 64}),
         .cp = draw.of({1, 1, 2, 4}),
         .context_exchange = static_cast<ContextExchange>(draw.of({0, 1, 2})),
         .ep = draw.of({1, 1, 2, 8}),
         .pp = draw.of({1, 2}),
         .dp = draw.of({1, 4, 8}),
         .tensor = {.layout = static_cast<TensorLayout>(draw.of({0, 0, 1, 2, 3})),
                    .sequence_parallel = draw.coin()},
         .batch = {.sequence = draw.of({128, 512, 1024, 4096}), .micro = draw.of({1, 2, 3, 8})},
         .kernels = {.fused_attention = draw.coin(), .fused_pointwise = draw.coin()}};
  if (p.tensor.layout == TensorLayout::two_and_half_d) p.tensor.depth = draw.of({1, 2, 4});
  if (p.tensor.layout != TensorLayout::one_d && draw.coin()) {
    p.tensor.sequence_parallel = false;
    p.tensor.rows = draw.of({1, 2, 4, 8});
    p.tensor.columns = draw.of({1, 2, 4});
    p.tensor.depth = p.tensor.layout == TensorLayout::two_d ? 1 : draw.of({1, 2, 4});
    p.tp = p.tensor.rows * p.tensor.columns * p.tensor.depth;
  }
  if (p.tensor.sequence_parallel && draw.coin())
    p.tensor.sequence_degree = draw.of({1, 2, 4, 8, 16});
  if (m.patches) p.batch.sequence = image_tokens(*m.patches);
  p.devices = tensor_ranks(p) * p.cp * p.pp * p.dp;
  p.batch.global = p.dp * p.batch.micro * 4;
  return p;
}

void expect_sane(double n, std::string_view what) {
  EXPECT_TRUE(std::isfinite(n) && n >= 0) << what << ": " << n;
}

void expect_sane(const Pass& pass, const Plan& plan, std::string_view name) {
  for (const double n : {pass.matrix.value, pass.vector.value, pass.input_bytes, pass.weight_bytes,
                         pass.output_bytes, pass.other_bytes}) {
    expect_sane(n, name);
  }
  EXPECT_EQ(pass.matmuls.empty(), pass.matrix.value == 0) << name;
  for (const MatmulShape& s : pass.matmuls) {
    EXPECT_GT(std::min({s.batch, s.m, s.n, s.k}), 0) << name;
  }
  for (const Communication& c : pass.communications) {
    EXPECT_GT(c.bytes, 0) << name;
    EXPECT_GT(c.count, 0) << name;
    EXPECT_GT(group_size(plan, c.dim), 1) << name;
  }
}

void expect_sane(const Operations& ops, const Plan& plan) {
  for (const Operation& op : ops) {
    expect_sane(op.forward, plan, op.name);
    expect_sane(op.backward, plan, op.name);
    expect_sane(op.parameters, op.name);
    expect_sane(op.core_input_bytes, op.name);
    EXPECT_LE(op.core_input_bytes, op.kept_bytes) << op.name;
    expect_sane(op.kept_bytes, op.name);
  }
}

TEST(AnyPlan, GivesSaneOperations) {
  Draw draw(11);
  std::size_t accepted = 0;
  std::array<std::size_t, tensor_layout_names.size()> by_layout{};
  for (const Transformer& m : model_catalogue()) {
    for (int round = 0; round < 150; ++round) {
      const Plan p = any_plan(m, draw);
      if (!check_plan(m, p)) continue;
      ++accepted;
      ++by_layout[static_cast<std::size_t>(p.tensor.layout)];
      const std::int64_t layer = m.layers - 1;
      const Operations ops = layer_operations(m, p, layer);
      expect_sane(ops, p);
      expect_sane(embedding_operations(m, p), p);
      expect_sane(head_operations(m, p), p);
      const double input = layer_input_bytes(m, p);
      for (const Recompute how : {Recompute::none, Recompute::selective, Recompute::full}) {
        EXPECT_GE(recomputed_bytes(ops, how, input), 0);
      }
      if (HasFailure()) {
        FAIL() << m.name << " tp " << p.tp << " layout "
               << tensor_layout_names[static_cast<std::size_t>(p.tensor.layout)] << " cp " << p.cp
               << " ep " << p.ep << " sequence " << p.batch.sequence << " micro-batch "
               << p.batch.micro;
      }
    }
  }
  EXPECT_GT(accepted, 300U);
  for (const std::size_t n : by_layout) EXPECT_GT(n, 10U);
}

// All devices of tensor and context ranks together do the work of one device.
TEST(AnyPlan, SharesMatmulsOutWithoutLossOrWaste) {
  Draw draw(5);
  std::size_t compared = 0;
  for (const Transformer& m : model_catalogue()) {
    if (m.latent || m.compressed) continue;  // down-projections are whole on each rank
    for (int round = 0; round < 60; ++round) {
      const Plan p = any_plan(m, draw);
      if (!check_plan(m, p) || m.kv_heads % p.tp != 0) continue;
      const bool routed = m.experts && p.tp > 1;  // the router may be whole on each rank
      if (routed) continue;
      Plan one = p;
      one.tp = one.cp = one.ep = one.tensor.depth = 1;
      one.tensor.rows = one.tensor.columns = one.tensor.sequence_degree = 0;
      one.tensor.sequence_parallel = false;
      one.tensor.layout = TensorLayout::one_d;
      one.batch.micro = p.batch.micro;
      const double whole = forward_matrix(layer_operations(m, one, 0));
      const double part = forward_matrix(layer_operations(m, p, 0));
      EXPECT_NEAR(static_cast<double>(p.tp * p.cp) * part / whole, 1, 0.01)
          << m.name << " tp " << p.tp << " cp " << p.cp;
      ++compared;
    }
  }
  EXPECT_GT(compared, 100U);
}

}  // namespace
}  // namespace stepscope
