// SPDX-License-Identifier: Apache-2.0
// The communication of a layer by its division: closed formulas of the published schemes.
#include <gtest/gtest.h>

#include "stepscope/cost/layer/layer_operations.h"
#include "stepscope/cost/layer/operations_test_models.h"

namespace stepscope {
namespace {

using namespace operations_test;

constexpr double stream = 2 * 2048.0 * 4096;  // bytes of a layer's input

TEST(LayerCommunication, OneDeviceSendsNothing) {
  EXPECT_EQ(calls(layer_operations(llama(), plan_of(1), 0)), 0U);
  EXPECT_EQ(calls(layer_operations(llama(), plan_of(1, true), 0)), 0U);
  EXPECT_EQ(calls(embedding_operations(llama(), plan_of(1))), 0U);
  EXPECT_EQ(calls(head_operations(llama(), plan_of(1))), 0U);
}

TEST(LayerCommunication, TensorParallelAllReducesTwiceEachWay) {
  const Operations ops = layer_operations(llama(), plan_of(4), 0);
  EXPECT_DOUBLE_EQ(sent_forward(ops, CollectiveKind::all_reduce), 2 * stream);
  EXPECT_DOUBLE_EQ(sent_backward(ops, CollectiveKind::all_reduce), 2 * stream);
  EXPECT_EQ(calls(ops), 4U);
}

TEST(LayerCommunication, SequenceParallelGathersAndScattersAndGathersInputsAgain) {
  const Operations ops = layer_operations(llama(), plan_of(4, true), 0);
  EXPECT_DOUBLE_EQ(sent_forward(ops, CollectiveKind::all_gather), 2 * stream);
  EXPECT_DOUBLE_EQ(sent_forward(ops, CollectiveKind::reduce_scatter), 2 * stream);
  EXPECT_DOUBLE_EQ(sent_backward(ops, CollectiveKind::all_gather), 4 * stream);
  EXPECT_DOUBLE_EQ(sent_backward(ops, CollectiveKind::reduce_scatter), 2 * stream);
  EXPECT_EQ(sent_forward(ops, CollectiveKind::all_reduce), 0);
}

TEST(LayerCommunication, KeepingGatheredInputsSavesGatheringThemAgain) {
  const Counting keeps{.keeps_gathered = true};
  const Operations ops = layer_operations(llama(), plan_of(4, true), 0, keeps);
  EXPECT_DOUBLE_EQ(sent_backward(ops, CollectiveKind::all_gather), 2 * stream);
  const double more = kept(ops) - kept(layer_operations(llama(), plan_of(4, true), 0));
  EXPECT_DOUBLE_EQ(more, 2 * stream * 3 / 4);
}

TEST(LayerCommunication, GathersCanBeBookedWhereThePartsAreWritten) {
  const Counting writer{.gather_place = GatherPlace::writer};
  const Operations ops = layer_operations(gpt(), plan_of(4, true), 0, writer);
  const auto gathers = [&ops](std::string_view name) {
    const Operation& op = named(ops, name);
    return std::pair{sent(op.forward, CollectiveKind::all_gather, ParallelDim::tensor),
                     sent(op.backward, CollectiveKind::all_gather, ParallelDim::tensor)};
  };
  const double whole = 2 * 2048.0 * 12288;
  EXPECT_EQ(gathers("attention_norm"), std::pair(whole, 0.0));
  EXPECT_EQ(gathers("feed_forward_norm"), std::pair(whole, 0.0));
  EXPECT_EQ(gathers("attention_output_dropout"), std::pair(0.0, whole));
  EXPECT_EQ(gathers("feed_forward_dropout"), std::pair(0.0, whole));
  EXPECT_EQ(gathers("qkv_proj"), std::pair(0.0, whole));  // its input, again
  const Operations reader = layer_operations(gpt(), plan_of(4, true), 0);
  EXPECT_DOUBLE_EQ(sent_forward(ops, CollectiveKind::all_gather),
                   sent_forward(reader, CollectiveKind::all_gather));
  EXPECT_DOUBLE_EQ(sent_backward(ops, CollectiveKind::all_gather),
                   sent_backward(reader, CollectiveKind::all_gather));
}

TEST(LayerCommunication, ParallelBlocksSendHalf) {
  Transformer m = gpt(4096, 32);
  m.dropout = 0;
  m.parallel_block = true;
  m.norms_per_layer = 1;
  const Operations ops = layer_operations(m, plan_of(4), 0);
  EXPECT_DOUBLE_EQ(sent_forward(ops, CollectiveKind::all_reduce), stream);
  EXPECT_DOUBLE_EQ(sent_backward(ops, CollectiveKind::all_reduce), stream);
  const Operations cut = layer_operations(m, plan_of(4, true), 0);
  EXPECT_DOUBLE_EQ(sent_forward(cut, CollectiveKind::all_gather) +
                       sent_forward(cut, CollectiveKind::reduce_scatter),
                   2 * stream);
  EXPECT_DOUBLE_EQ(sent_backward(cut, CollectiveKind::all_gather), 2 * stream);
  m.norms_per_layer = 2;  // NeoX: one input each, one sum
  EXPECT_DOUBLE_EQ(sent_forward(layer_operations(m, plan_of(4), 0), CollectiveKind::all_reduce),
                   stream);
  EXPECT_DOUBLE_EQ(sent_backward(layer_operations(m, plan_of(4), 0), CollectiveKind::all_reduce),
                   2 * stream);
}

Plan with_context(ContextExchange exchange, std::int64_t cp = 4) {
  Plan plan = plan_of(1);
  plan.devices = plan.cp = cp;
  plan.context_exchange = exchange;
  return plan;
}

TEST(LayerCommunication, ContextRanksShareTheWorkEvenly) {
  const Operations whole = layer_operations(llama(), plan_of(1), 0);
  for (const auto exchange :
       {ContextExchange::all_gather, ContextExchange::ring, ContextExchange::all_to_all}) {
    const Operations ops = layer_operations(llama(), with_context(exchange), 0);
    EXPECT_DOUBLE_EQ(4 * forward_matrix(ops), forward_matrix(whole));
    EXPECT_DOUBLE_EQ(4 * kept(ops), kept(whole));
    EXPECT_DOUBLE_EQ(parameters(ops), parameters(whole));
  }
}

TEST(LayerCommunication, ContextGathersAllKeysAndValues) {
  const Operations ops = layer_operations(llama(), with_context(ContextExchange::all_gather), 0);
  const double kv = 2 * 2048.0 * 2 * 8 * 128;
  EXPECT_DOUBLE_EQ(sent_forward(ops, CollectiveKind::all_gather, ParallelDim::context), kv);
  EXPECT_DOUBLE_EQ(sent_backward(ops, CollectiveKind::all_gather, ParallelDim::context), kv);
  EXPECT_DOUBLE_EQ(sent_backward(ops, CollectiveKind::reduce_scatter, ParallelDim::context), kv);
}

TEST(LayerCommunication, ARingPassesEachPartAroundAndGradientsHome) {
  const Operations ops = layer_operations(llama(), with_context(ContextExchange::ring), 0);
  const double part = 2 * 512.0 * 2 * 8 * 128;
  EXPECT_DOUBLE_EQ(sent_forward(ops, CollectiveKind::send_recv, ParallelDim::context), 3 * part);
  EXPECT_DOUBLE_EQ(sent_backward(ops, CollectiveKind::send_recv, ParallelDim::context),
                   (3 + 4) * part);
  EXPECT_TRUE(named(ops, "attention").forward.communications[0].can_overlap);
}

TEST(LayerCommunication, AnAllToAllSwapsTokensForHeads) {
  const Operations ops = layer_operations(llama(), with_context(ContextExchange::all_to_all), 0);
  const double all = 2 * 512.0 * 128 * (32 + 8 + 8 + 32);
  EXPECT_DOUBLE_EQ(sent_forward(ops, CollectiveKind::all_to_all, ParallelDim::context), all);
  EXPECT_DOUBLE_EQ(sent_backward(ops, CollectiveKind::all_to_all, ParallelDim::context), all);
  // Sixteen ranks: each key-value head goes to two of them.
  const Operations copied =
      layer_operations(llama(), with_context(ContextExchange::all_to_all, 16), 0);
  EXPECT_DOUBLE_EQ(sent_forward(copied, CollectiveKind::all_to_all, ParallelDim::context),
                   2 * 128.0 * 128 * (32 + 16 + 16 + 32));
}

Transformer mixture() {
  Transformer m = llama();
  m.experts = Experts{.count = 8, .top_k = 2, .feed_forward = 14336};
  return m;
}

TEST(LayerCommunication, ExpertsGetTheirTokensByAllToAllAndSendThemBack) {
  Plan plan = plan_of(1);
  plan.devices = plan.dp = plan.ep = 4;
  const Operations ops = layer_operations(mixture(), plan, 0);
  EXPECT_DOUBLE_EQ(sent_forward(ops, CollectiveKind::all_to_all, ParallelDim::expert),
                   2 * 2 * stream);
  EXPECT_DOUBLE_EQ(sent_backward(ops, CollectiveKind::all_to_all, ParallelDim::expert),
                   2 * 2 * stream);
  plan.ep = 1;
  EXPECT_EQ(calls(layer_operations(mixture(), plan, 0)), 0U);
}

TEST(LayerCommunication, ExpertsUnderTensorParallelism) {
  Plan plan = plan_of(2, true);
  plan.ep = plan.dp = 4;
  plan.devices = 8;
  const Operations ops = layer_operations(mixture(), plan, 0);
  // Each rank sends the copies of its own part of the sequence; the experts' parts gather them.
  EXPECT_DOUBLE_EQ(sent_forward(ops, CollectiveKind::all_to_all, ParallelDim::expert),
                   2 * 2 * stream / 2);
  EXPECT_DOUBLE_EQ(
      sent(named(ops, "expert_fc1").forward, CollectiveKind::all_gather, ParallelDim::tensor),
      2 * stream);
  EXPECT_DOUBLE_EQ(
      sent(named(ops, "expert_fc2").forward, CollectiveKind::reduce_scatter, ParallelDim::tensor),
      2 * stream);
  plan.tensor.sequence_parallel = false;
  const Operations whole = layer_operations(mixture(), plan, 0);
  EXPECT_DOUBLE_EQ(
      sent(named(whole, "combine").forward, CollectiveKind::all_reduce, ParallelDim::tensor),
      stream);
  EXPECT_EQ(named(whole, "expert_fc2").forward.communications.size(), 0U);
}

TEST(LayerCommunication, GridsSendWhatTheirLayoutsSay) {
  Plan plan = plan_of(4);
  plan.tensor.layout = TensorLayout::two_d;
  plan.batch.micro = 2;
  const Operations ops = layer_operations(llama(), plan, 0);
  const double x = 2 * stream / 4;
  const double hidden = 2 * 2 * 2048.0 * 14336 / 4;
  const double q = 2;
  // Inputs of four linear layers: the stream twice, attention's output, the hidden layer.
  EXPECT_DOUBLE_EQ(sent_forward(ops, CollectiveKind::broadcast, ParallelDim::tensor_row),
                   q * (3 * x + hidden));
  const double weights = 2 * (4096.0 * 48 * 128 + 4096.0 * 4096 + 3 * 4096.0 * 14336) / 4;
  EXPECT_DOUBLE_EQ(sent_forward(ops, CollectiveKind::broadcast, ParallelDim::tensor_column),
                   q * weights);
  // Root mean squares of rows on two devices.
  EXPECT_DOUBLE_EQ(sent_forward(ops, CollectiveKind::all_reduce, ParallelDim::tensor_row),
                   2 * 4 * 2048.0);
  EXPECT_EQ(sent_forward(ops, CollectiveKind::all_gather, ParallelDim::tensor_column), 0);
}

// expert_tp = 1: the tp ranks are expert ranks too, each with whole experts for its own tokens.
TEST(LayerCommunication, WholeExpertsSendTheSameAndGatherNothing) {
  Plan plan = plan_of(2, true);
  plan.ep = 4;
  plan.dp = 4;
  const Operations cut = layer_operations(mixture(), plan, 0);
  plan.experts.tp = 1;
  ASSERT_TRUE(whole_experts(plan));
  EXPECT_EQ(expert_ranks(plan), 8);
  EXPECT_EQ(expert_replicas(plan), 2);
  const Operations whole = layer_operations(mixture(), plan, 0);
  EXPECT_EQ(sent_forward(whole, CollectiveKind::all_to_all),
            sent_forward(cut, CollectiveKind::all_to_all));
  EXPECT_TRUE(named(whole, "expert_fc1").forward.communications.empty());
  EXPECT_TRUE(named(whole, "expert_fc2").backward.communications.empty());
  EXPECT_FALSE(named(cut, "expert_fc1").forward.communications.empty());
  // Half the rows times the whole width is the same work; there are two times the weights.
  EXPECT_DOUBLE_EQ(forward_matrix(whole), forward_matrix(cut));
  EXPECT_DOUBLE_EQ(named(whole, "expert_fc1").parameters, 2 * named(cut, "expert_fc1").parameters);
}

TEST(LayerCommunication, NarrowDispatchSendsFp8ToTheExpertsAnd16BitsBack) {
  Plan plan = plan_of(1);
  plan.ep = plan.dp = 4;
  plan.precision.matmul = Dtype::fp8;
  const Operations wide = layer_operations(mixture(), plan, 0);
  plan.experts.narrow_dispatch = true;
  const Operations ops = layer_operations(mixture(), plan, 0);
  const double to = (1 + 4.0 / 128) / 2;
  for (const auto& [name, forward, backward] :
       {std::tuple{"dispatch", to, 1.0}, std::tuple{"combine", 1.0, to}}) {
    const Operation& before = named(wide, name);
    const Operation& op = named(ops, name);
    EXPECT_DOUBLE_EQ(op.forward.communications.at(0).bytes,
                     forward * before.forward.communications.at(0).bytes)
        << name;
    EXPECT_DOUBLE_EQ(op.backward.communications.at(0).bytes,
                     backward * before.backward.communications.at(0).bytes)
        << name;
  }
  EXPECT_LT(named(ops, "dispatch").forward.bytes(), named(wide, "dispatch").forward.bytes());
  EXPECT_EQ(named(ops, "dispatch").backward.bytes(), named(wide, "dispatch").backward.bytes());
}

TEST(LayerCommunication, FusedExpertsMoveNoMoreThanTheirProductsWrite) {
  Plan plan = plan_of(1);
  plan.precision.matmul = Dtype::fp8;
  Transformer model = mixture();
  const Operations apart = layer_operations(model, plan, 0);
  plan.kernels.fused_experts = true;
  const Operations fused = layer_operations(model, plan, 0);
  const Operation& act = named(fused, "expert_activation");
  const Operation& before = named(apart, "expert_activation");
  EXPECT_EQ(act.forward.input_bytes, 0);
  EXPECT_DOUBLE_EQ(act.forward.output_bytes,
                   before.forward.output_bytes * 2 * operand_bytes(Dtype::fp8) / 2);
  EXPECT_EQ(act.backward.other_bytes, before.backward.other_bytes);  // the inputs are read
  EXPECT_EQ(act.kept_bytes, before.kept_bytes);
  EXPECT_TRUE(named(fused, "expert_fc2").forward.input_cast);
  EXPECT_TRUE(named(fused, "expert_fc1").backward.input_cast);
  EXPECT_FALSE(named(fused, "expert_fc1").forward.input_cast);
  EXPECT_EQ(forward_matrix(fused), forward_matrix(apart));
}

TEST(LayerCommunication, TheFullestDeviceHasMoreTokensOfAllThatExpertsDo) {
  Plan plan = plan_of(1);
  plan.ep = plan.dp = 4;
  for (const auto way : {ExpertDispatch::all_to_all, ExpertDispatch::forwarded}) {
    plan.experts.dispatch = way;
    plan.experts.load = 100;
    const Operations even = layer_operations(mixture(), plan, 0);
    plan.experts.load = 150;
    const Operations ops = layer_operations(mixture(), plan, 0);
    EXPECT_DOUBLE_EQ(named(ops, "expert_fc1").forward.matrix.value,
                     1.5 * named(even, "expert_fc1").forward.matrix.value);
    EXPECT_DOUBLE_EQ(named(ops, "combine").forward.communications.at(0).bytes,
                     1.5 * named(even, "combine").forward.communications.at(0).bytes);
    EXPECT_EQ(named(ops, "qkv_proj").forward.matrix.value,
              named(even, "qkv_proj").forward.matrix.value);
    plan.experts.load = 900;  // more than all: all
    EXPECT_DOUBLE_EQ(named(layer_operations(mixture(), plan, 0), "expert_fc1").forward.matrix.value,
                     4 * named(even, "expert_fc1").forward.matrix.value);
  }
  plan.ep = 1;
  const Operations alone = layer_operations(mixture(), plan, 0);
  plan.experts.load = 100;
  EXPECT_EQ(named(layer_operations(mixture(), plan, 0), "expert_fc1").forward.matrix.value,
            named(alone, "expert_fc1").forward.matrix.value);
}

TEST(LayerCommunication, GridsThatCutASequenceGatherItsKeysAndValues) {
  Plan plan = plan_of(4);
  plan.tensor.layout = TensorLayout::two_d;
  const Operations ops = layer_operations(llama(), plan, 0);
  const double kv = 2 * 2048.0 * 2 * 8 * 128 / 2;  // half the heads
  EXPECT_DOUBLE_EQ(sent_forward(ops, CollectiveKind::all_gather, ParallelDim::tensor_column), kv);
  EXPECT_DOUBLE_EQ(sent_backward(ops, CollectiveKind::reduce_scatter, ParallelDim::tensor_column),
                   kv);
}

TEST(LayerCommunication, EndsSumLookUpsAndAgreeOnTheLoss) {
  const Operations before = embedding_operations(llama(), plan_of(4));
  EXPECT_DOUBLE_EQ(sent_forward(before, CollectiveKind::all_reduce), stream);
  EXPECT_EQ(sent_backward(before, CollectiveKind::all_reduce), 0);
  const Operations cut = embedding_operations(llama(), plan_of(4, true));
  EXPECT_DOUBLE_EQ(sent_forward(cut, CollectiveKind::reduce_scatter), stream);
  EXPECT_DOUBLE_EQ(sent_backward(cut, CollectiveKind::all_gather), stream);
  const Operations after = head_operations(llama(), plan_of(4));
  EXPECT_DOUBLE_EQ(sent_forward(after, CollectiveKind::all_reduce), 3 * 4 * 2048.0);
  EXPECT_DOUBLE_EQ(sent_backward(after, CollectiveKind::all_reduce), stream);
  const Operations after_cut = head_operations(llama(), plan_of(4, true));
  EXPECT_DOUBLE_EQ(sent_forward(after_cut, CollectiveKind::all_gather), stream);
  EXPECT_DOUBLE_EQ(sent_backward(after_cut, CollectiveKind::reduce_scatter), stream);
}

}  // namespace
}  // namespace stepscope
