// SPDX-License-Identifier: Apache-2.0
// Shapes, FLOPs and bytes of a layer's operations. layer_communication_test.cc tests communication,
// and korthikanti_test.cc Korthikanti's formulas.
#include "stepscope/cost/layer/layer_operations.h"

#include <gtest/gtest.h>

#include <random>

#include "stepscope/cost/layer/operations_test_models.h"

namespace stepscope {
namespace {

using namespace operations_test;

double flops_of(const MatmulShape& p) {
  return 2.0 * static_cast<double>(p.batch) * static_cast<double>(p.m) * static_cast<double>(p.n) *
         static_cast<double>(p.k);
}

TEST(LayerOperations, ALlamaLayerIsWhatItsMatricesAsk) {
  const Operations ops = layer_operations(llama(), plan_of(1), 0);
  const double tokens = 2048;
  const double matrices = 4096.0 * (32 + 2 * 8) * 128 + 32 * 128 * 4096.0 + 3 * 4096.0 * 14336;
  const double core = 2 * 32 * 128 * tokens * tokens;  // two products, causal half
  EXPECT_DOUBLE_EQ(forward_matrix(ops), 2 * tokens * matrices + core);
  // The fused core recomputes scores: five products for two.
  EXPECT_DOUBLE_EQ(backward_matrix(ops), 4 * tokens * matrices + 2.5 * core);
  EXPECT_DOUBLE_EQ(parameters(ops), matrices + 2 * 4096.0);
}

TEST(LayerOperations, MatmulsListEveryProduct) {
  Plan plan = plan_of(1);
  plan.kernels.fused_attention = false;
  for (const Operation& op : layer_operations(gpt(), plan, 0)) {
    double forward = 0;
    double backward = 0;
    for (const MatmulShape& p : op.forward.matmuls) forward += flops_of(p);
    for (const MatmulShape& p : op.backward.matmuls) backward += flops_of(p);
    EXPECT_DOUBLE_EQ(forward, op.forward.matrix.value) << op.name;
    EXPECT_DOUBLE_EQ(backward, op.backward.matrix.value) << op.name;
  }
}

TEST(LayerOperations, LinearLayersMoveTheirOperandsOnceForEachProduct) {
  const Operations ops = layer_operations(llama(), plan_of(1), 0);
  const Operation& fc2 = named(ops, "fc2");
  const double x = 2 * 2048.0 * 14336;
  const double y = 2 * 2048.0 * 4096;
  const double w = 2 * 14336.0 * 4096;
  EXPECT_DOUBLE_EQ(fc2.forward.bytes(), x + w + y);
  EXPECT_DOUBLE_EQ(fc2.backward.bytes(), (y + w + x) + (x + y + w));
  EXPECT_DOUBLE_EQ(fc2.kept_bytes, x);
}

TEST(LayerOperations, FusedAttentionNeverTouchesScores) {
  Plan plan = plan_of(1);
  const Operation fused = named(layer_operations(llama(), plan, 0), "attention");
  const double q = 2 * 2048.0 * 4096;
  const double kv = 2 * q / 4;
  EXPECT_DOUBLE_EQ(fused.forward.bytes(), 2 * q + kv + 4 * 32 * 2048.0);
  plan.kernels.fused_attention = false;
  const Operations ops = layer_operations(llama(), plan, 0);
  EXPECT_FALSE(has(ops, "attention"));
  const double scores = 2 * 32.0 * 2048 * 2048;
  EXPECT_DOUBLE_EQ(named(ops, "softmax").kept_bytes, scores);
  EXPECT_FALSE(has(ops, "attention_dropout"));
  EXPECT_DOUBLE_EQ(
      named(ops, "logits").forward.matrix.value,
      2 * named(layer_operations(llama(), plan_of(1), 0), "attention").forward.matrix.value / 2);
}

TEST(LayerOperations, MasksHalveWindowsCutAndBidirectionalAttentionPaysAll) {
  Transformer m = llama();
  const auto core = [&m](std::int64_t layer) {
    return named(layer_operations(m, plan_of(1), layer), "attention").forward.matrix.value;
  };
  const double all = 4.0 * 32 * 128 * 2048 * 2048;
  EXPECT_DOUBLE_EQ(core(0), all / 2);
  m.window = 512;
  m.window_every = 2;
  EXPECT_DOUBLE_EQ(core(0), 4.0 * 32 * 128 * (512.0 * 2048 - 512.0 * 512 / 2));
  EXPECT_DOUBLE_EQ(core(1), all / 2);
  m.window = 100000;  // wider than the sequence
  EXPECT_DOUBLE_EQ(core(0), all / 2);
  m.causal = false;
  EXPECT_DOUBLE_EQ(core(0), all);
}

TEST(LayerOperations, FewerKeyValueHeadsThanRanksAreCopied) {
  const auto columns = [](std::int64_t tp) {
    return named(layer_operations(llama(), plan_of(tp), 0), "qkv_proj").forward.matmuls[0].n;
  };
  EXPECT_EQ(columns(1), (32 + 16) * 128);
  EXPECT_EQ(columns(8), (4 + 2) * 128);
  EXPECT_EQ(columns(32), (1 + 2) * 128);  // not (1 + 0.5) * 128
  Transformer mqa = llama();
  mqa.kv_heads = 1;
  EXPECT_EQ(named(layer_operations(mqa, plan_of(4), 0), "qkv_proj").forward.matmuls[0].n,
            (8 + 2) * 128);
}

TEST(LayerOperations, LatentAttentionPassesThroughItsRanks) {
  Transformer m = llama();
  m.latent = LatentAttention{.query_rank = 1536,
                             .kv_rank = 512,
                             .rope_head_size = 64,
                             .nope_head_size = 128,
                             .value_head_size = 128};
  m.kv_heads = m.heads;
  m.head_size = 192;
  const Operations ops = layer_operations(m, plan_of(1), 0);
  const double heads = 32;
  const double matrices = 4096.0 * 1536 + 1536 * heads * 192 + 4096.0 * (512 + 64) +
                          512 * heads * (128 + 128) + heads * 128 * 4096 + 3 * 4096.0 * 14336;
  const double pairs = 2048.0 * 2048 / 2;
  EXPECT_DOUBLE_EQ(forward_matrix(ops), 2 * 2048 * matrices + 2 * heads * pairs * (192 + 128));
  EXPECT_DOUBLE_EQ(parameters(ops), matrices + 2 * 4096.0 + 1536 + 512);
  EXPECT_DOUBLE_EQ(named(ops, "attention").core_input_bytes, 2 * 2048 * heads * (192 + 192 + 128));
  // The projections to the latents are whole on each rank; the projections from them are divided.
  const Operations cut = layer_operations(m, plan_of(4), 0);
  EXPECT_DOUBLE_EQ(named(cut, "kv_down").parameters, named(ops, "kv_down").parameters);
  EXPECT_DOUBLE_EQ(named(cut, "kv_up").parameters, named(ops, "kv_up").parameters / 4);
}

Transformer mixture_of_experts() {
  Transformer m = llama();
  m.experts = Experts{.count = 8, .top_k = 2, .feed_forward = 14336, .first_dense_layers = 1};
  return m;
}

TEST(LayerOperations, ExpertsWorkOnTopKCopiesOfTheTokens) {
  const Transformer m = mixture_of_experts();
  EXPECT_TRUE(has(layer_operations(m, plan_of(1), 0), "fc1"));
  const Operations ops = layer_operations(m, plan_of(1), 1);
  EXPECT_FALSE(has(ops, "fc1"));
  const Operation& fc1 = named(ops, "expert_fc1");
  EXPECT_DOUBLE_EQ(fc1.forward.matrix.value, 2.0 * 2 * 2048 * 4096 * 2 * 14336);
  EXPECT_DOUBLE_EQ(fc1.parameters, 8.0 * 4096 * 2 * 14336);
  EXPECT_TRUE(fc1.expert);
  EXPECT_EQ(fc1.forward.matmuls[0].batch, 8);
  EXPECT_EQ(fc1.forward.matmuls[0].m, 2 * 2048 / 8);
  EXPECT_DOUBLE_EQ(named(ops, "router").forward.matrix.value, 2.0 * 2048 * 4096 * 8);
}

TEST(LayerOperations, ExpertRanksShareTheExpertsAndKeepTheWork) {
  Plan plan = plan_of(1);
  plan.dp = 4;
  plan.devices = 4;
  const Operations alone = layer_operations(mixture_of_experts(), plan, 1);
  plan.ep = 4;
  const Operations ops = layer_operations(mixture_of_experts(), plan, 1);
  EXPECT_DOUBLE_EQ(named(ops, "expert_fc2").parameters, named(alone, "expert_fc2").parameters / 4);
  EXPECT_DOUBLE_EQ(forward_matrix(ops), forward_matrix(alone));
}

TEST(LayerOperations, CapacityPadsOrDrops) {
  Transformer m = mixture_of_experts();
  const auto rows = [&m] {
    const MatmulShape p =
        named(layer_operations(m, plan_of(1), 1), "expert_fc1").forward.matmuls[0];
    return p.batch * p.m;
  };
  EXPECT_EQ(rows(), 2 * 2048);
  m.experts->capacity_factor = 1.25;
  EXPECT_EQ(rows(), 2 * 2560);
  m.experts->capacity_factor = 0.5;
  EXPECT_EQ(rows(), 2048);
}

TEST(LayerOperations, SharedExpertsSeeEveryToken) {
  Transformer m = mixture_of_experts();
  m.experts->shared_feed_forward = 2048;
  m.experts->shared_gate = true;
  const Operations ops = layer_operations(m, plan_of(1), 1);
  EXPECT_DOUBLE_EQ(named(ops, "shared_fc1").forward.matrix.value, 2.0 * 2048 * 4096 * 2 * 2048);
  EXPECT_DOUBLE_EQ(named(ops, "shared_gate").parameters, 4096);
  // The router keeps the input for all of them.
  EXPECT_EQ(named(ops, "shared_fc1").kept_bytes, 0);
}

TEST(LayerOperations, EagerPointwiseOperationsPassMemoryMoreOften) {
  Plan plan = plan_of(1);
  const auto bytes = [&plan](const Transformer& m) {
    return sum(layer_operations(m, plan, 0),
               [](const Operation& op) { return op.forward.bytes() + op.backward.bytes(); });
  };
  const double fused_gpt = bytes(gpt());
  const double fused_llama = bytes(llama());
  plan.kernels.fused_pointwise = false;
  EXPECT_GT(bytes(gpt()), fused_gpt);
  EXPECT_GT(bytes(llama()), fused_llama);
}

TEST(LayerOperations, ActivationsMayBeDroppedToo) {
  Transformer m = gpt();
  m.activation_dropout = 0.1;
  const Operations ops = layer_operations(m, plan_of(4), 0);
  const double elements = 2048 * 4 * 12288.0 / 4;
  EXPECT_DOUBLE_EQ(named(ops, "activation_dropout").kept_bytes, elements);
  EXPECT_DOUBLE_EQ(kept(ops) - kept(layer_operations(gpt(), plan_of(4), 0)), elements);
}

TEST(LayerOperations, ParallelBlocksShareTheirNorm) {
  Transformer m = gpt();
  m.dropout = 0;
  m.parallel_block = true;
  m.norms_per_layer = 1;
  const Operations ops = layer_operations(m, plan_of(1), 0);
  EXPECT_FALSE(has(ops, "feed_forward_norm"));
  EXPECT_EQ(named(ops, "fc1").kept_bytes, 0);
}

TEST(LayerOperations, NormsStandWhereTheModelHasThem) {
  Transformer m = llama();
  m.norms_per_layer = 4;
  m.qk_norm = true;
  const Operations ops = layer_operations(m, plan_of(1), 0);
  EXPECT_TRUE(has(ops, "attention_post_norm"));
  EXPECT_TRUE(has(ops, "feed_forward_post_norm"));
  EXPECT_DOUBLE_EQ(named(ops, "qk_norm").parameters, 2 * 128);
  EXPECT_DOUBLE_EQ(named(ops, "qk_norm").kept_bytes, 2048.0 * 40 * (128 * 2 + 4));
}

// For any split, all devices together do the work of one.
TEST(LayerOperations, TensorLayoutsShareTheProductsOut) {
  std::mt19937 random(7);
  const auto pick = [&random](std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(1, most)(random);
  };
  for (int round = 0; round < 20; ++round) {
    Transformer m = gpt(64 * 27 * pick(3), 64);
    m.heads = m.kv_heads = 64;
    m.head_size = m.hidden / 64;
    Plan one = plan_of(1);
    one.batch.sequence = 64 * pick(4);
    one.batch.micro = pick(16);
    one.kernels.fused_attention = pick(2) == 1;
    const Operations whole = layer_operations(m, one, 0);
    for (const auto& [layout, tp, depth] : {std::tuple{TensorLayout::one_d, 16, 1},
                                            {TensorLayout::two_d, 16, 1},
                                            {TensorLayout::two_and_half_d, 32, 2},
                                            {TensorLayout::three_d, 64, 1}}) {
      Plan plan = one;
      plan.tp = plan.devices = tp;
      plan.tensor.layout = layout;
      plan.tensor.depth = depth;
      const Operations part = layer_operations(m, plan, 0);
      EXPECT_NEAR(tp * forward_matrix(part) / forward_matrix(whole), 1, 1e-12);
      EXPECT_NEAR(tp * backward_matrix(part) / backward_matrix(whole), 1, 1e-12);
      if (layout == TensorLayout::one_d) continue;
      EXPECT_NEAR(tp * kept(part) / kept(whole), 1, 1e-3);  // except statistics of rows
    }
  }
}

TEST(LayerOperations, SmallerElementsMoveFewerBytes) {
  Plan plan = plan_of(1);
  const double half = kept(layer_operations(llama(), plan, 0, {.statistics = false}));
  plan.precision.activation_bytes = 1;
  EXPECT_DOUBLE_EQ(kept(layer_operations(llama(), plan, 0, {.statistics = false})), half / 2);
}

TEST(Ends, TheVocabularyIsPaddedForItsRanks) {
  Transformer m = gpt();
  m.vocabulary = 50257;
  EXPECT_EQ(padded_vocabulary(m, plan_of(1)), 50304);
  EXPECT_EQ(padded_vocabulary(m, plan_of(8)), 51200);
  Plan exact = plan_of(1);
  exact.kernels.vocabulary_multiple = 1;
  EXPECT_EQ(padded_vocabulary(m, exact), 50257);
}

TEST(Ends, EmbeddingAndHeadHaveTheirTables) {
  const Operations before = embedding_operations(gpt(), plan_of(4));
  const Operations after = head_operations(gpt(), plan_of(4));
  EXPECT_DOUBLE_EQ(named(before, "token_embedding").parameters, 51200.0 * 12288 / 4);
  EXPECT_DOUBLE_EQ(named(before, "position_embedding").parameters, 2048.0 * 12288);
  EXPECT_EQ(forward_matrix(before), 0);
  EXPECT_DOUBLE_EQ(forward_matrix(after), 2.0 * 2048 * 12288 * 51200 / 4);
  EXPECT_EQ(named(after, "lm_head").parameters, 0);  // tied
  Plan stages = plan_of(4);
  stages.pp = 2;
  EXPECT_DOUBLE_EQ(named(head_operations(gpt(), stages), "lm_head").parameters,
                   51200.0 * 12288 / 4);  // the last stage has a copy
}

TEST(Ends, AVisionModelStartsWithPatchesAndEndsWithClasses) {
  Transformer vit = gpt(1024, 16);
  vit.vocabulary = 0;
  vit.classes = 1000;
  vit.causal = false;
  vit.patches = Patches{.image = 224, .patch = 14};
  vit.max_positions = image_tokens(*vit.patches);
  Plan plan = plan_of(1);
  plan.batch.sequence = vit.max_positions;
  plan.batch.micro = 8;
  const Operations before = embedding_operations(vit, plan);
  EXPECT_FALSE(has(before, "token_embedding"));
  const Operation& patches = named(before, "patch_embedding");
  EXPECT_DOUBLE_EQ(patches.forward.matrix.value, 2.0 * 8 * 256 * 588 * 1024);
  // Pixels need no gradient.
  EXPECT_DOUBLE_EQ(patches.backward.matrix.value, patches.forward.matrix.value);
  EXPECT_DOUBLE_EQ(named(head_operations(vit, plan), "lm_head").forward.matrix.value,
                   2.0 * 8 * 1024 * 1000);
}

TEST(Ends, AHeadlessModelEndsWithItsNorm) {
  Transformer m = llama();
  m.head = false;
  const Operations ops = head_operations(m, plan_of(1));
  ASSERT_EQ(ops.size(), 1U);
  EXPECT_EQ(ops[0].name, "final_norm");
}

TEST(LayerOperations, KeepsInputsInTheFormatOfTheirProducts) {
  const Plan wide = operations_test::plan_of(1);
  Plan narrow = wide;
  narrow.precision.matmul = Dtype::fp8;
  const Transformer m = llama();
  const auto kept = [&](const Plan& plan, std::string_view name) {
    return named(layer_operations(m, plan, 0), name).kept_bytes;
  };
  for (const std::string_view name : {"qkv_proj", "fc1", "fc2"})
    EXPECT_DOUBLE_EQ(kept(narrow, name), kept(wide, name) / 2) << name;
  // Attention's backward reads its output in 16 bits, and the product reads it in 8.
  EXPECT_DOUBLE_EQ(kept(narrow, "attention_proj"), kept(wide, "attention_proj") * 1.5);
  for (const std::string_view name : {"attention_norm", "attention", "activation"})
    EXPECT_DOUBLE_EQ(kept(narrow, name), kept(wide, name)) << name;
  EXPECT_DOUBLE_EQ(named(head_operations(m, narrow), "lm_head").kept_bytes,
                   named(head_operations(m, wide), "lm_head").kept_bytes);
  // In fp4, 16 elements share a scale of 8 bits.
  narrow.precision.matmul = Dtype::fp4;
  EXPECT_DOUBLE_EQ(kept(narrow, "fc1"), kept(wide, "fc1") * 4.5 / 16);
  narrow.memory.torch_buffers = true;  // float8 casts again in backward
  EXPECT_DOUBLE_EQ(kept(narrow, "fc2"), kept(wide, "fc2"));
  // Weights held in 8 bits are read in 8 bits, not in 4.
  narrow = wide;
  narrow.precision.matmul = Dtype::fp8;
  const double read = named(layer_operations(m, narrow, 0), "fc1").forward.weight_bytes;
  narrow.precision.parameter_bytes = 1;
  EXPECT_DOUBLE_EQ(named(layer_operations(m, narrow, 0), "fc1").forward.weight_bytes, read);
}

TEST(LayerOperations, KeepsNarrowCopiesOfSwiGluInputsAndOfAttentionsOutput) {
  Plan wide = operations_test::plan_of(1);
  wide.precision.matmul = Dtype::fp8;
  Plan narrow = wide;
  narrow.memory.narrow_swiglu = narrow.memory.narrow_attention_output = true;
  Transformer m = llama();
  m.experts = Experts{.count = 8, .top_k = 2, .feed_forward = 1024, .first_dense_layers = 1};
  const auto op = [&](const Plan& plan, std::int64_t layer, std::string_view name) {
    return named(layer_operations(m, plan, layer), name);
  };
  const double inputs = 2.0 * 2048 * 14336;  // of the dense layer's SwiGLU
  EXPECT_DOUBLE_EQ(op(wide, 0, "activation").kept_bytes, 2 * inputs);
  EXPECT_DOUBLE_EQ(op(narrow, 0, "activation").kept_bytes, inputs);
  EXPECT_DOUBLE_EQ(op(narrow, 1, "expert_activation").kept_bytes, 2.0 * 2048 * 2 * 1024);
  // The copies are written once more, and backward reads them in place of the inputs.
  EXPECT_DOUBLE_EQ(op(narrow, 0, "activation").forward.bytes(),
                   op(wide, 0, "activation").forward.bytes() + inputs);
  EXPECT_DOUBLE_EQ(op(narrow, 0, "activation").backward.bytes(),
                   op(wide, 0, "activation").backward.bytes() - inputs);
  // Eager: the activated gate is kept in 16 bits as before.
  wide.kernels.fused_pointwise = narrow.kernels.fused_pointwise = false;
  EXPECT_DOUBLE_EQ(op(wide, 0, "activation").kept_bytes - op(narrow, 0, "activation").kept_bytes,
                   inputs);
  // 12 bits and a scale of 4 bytes for 128 elements, in place of 16 and 8 bits.
  const double output = 2048.0 * 4096;
  EXPECT_DOUBLE_EQ(op(wide, 0, "attention_proj").kept_bytes, 3 * output);
  EXPECT_DOUBLE_EQ(op(narrow, 0, "attention_proj").kept_bytes, output * (1.5 + 1.0 / 32));
}

}  // namespace
}  // namespace stepscope
