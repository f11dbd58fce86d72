// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/steps/phases.h"

#include <gtest/gtest.h>

#include <map>

#include "stepscope/analysis/steps/trace_test_builder.h"

namespace stepscope {
namespace {

using enum Phase;
using Expected = std::map<Phase, std::int64_t>;

struct Case {
  Trace trace;
  RankIndex rank;
  std::vector<Step> steps;
  HostPhases phases;
  explicit Case(TraceBuilder& b) : trace(b.sealed()), rank(index_rank(trace)) {
    steps = find_steps(trace, rank);
    phases = host_phases(trace, rank, steps);
  }
  [[nodiscard]] PhaseBudget budget() const { return phase_budget(trace, rank, steps, phases); }
  [[nodiscard]] std::optional<Phase> host_at(std::int64_t t) const {
    return phase_at(phases.host, Ns{t});
  }
};

void expect_phases(const StepPhases& phases, const Expected& expected) {
  for (std::size_t p = 0; p < phase_count; ++p) {
    const auto at = expected.find(static_cast<Phase>(p));
    EXPECT_EQ(phases.time[p].count(), at == expected.end() ? 0 : at->second) << phase_names[p];
  }
}

// An operator with an autograd sequence number.
void differentiated(TraceBuilder& b, TrackId thread, std::string_view name, std::int64_t start,
                    std::int64_t end, std::int32_t forward_thread = 0) {
  const SliceId row = b.row(thread, Category::cpu_op, name, start, end);
  OpDetails& ops = b.trace().ops;
  b.trace().slices.detail[index(row)] = static_cast<std::uint32_t>(ops.size());
  ops.input_dims.push_back(empty_string);
  ops.input_types.push_back(empty_string);
  ops.concrete_inputs.push_back(empty_string);
  ops.sequence.push_back(4);
  ops.forward_thread.push_back(forward_thread);
}

TEST(HostPhases, AnnotationsNameThePhasesAndSilenceBetweenDifferentOnesIsNeither) {
  TraceBuilder b;
  b.step("ProfilerStep#0", 0, 100);
  b.step("## forward ##", 10, 30);
  b.step("## backward ##", 40, 60);
  b.step("Optimizer.step#Adam.step", 60, 80);
  const Case c(b);
  EXPECT_EQ(c.host_at(5), std::nullopt);
  EXPECT_EQ(c.host_at(10), forward);
  EXPECT_EQ(c.host_at(35), std::nullopt);
  EXPECT_EQ(c.host_at(40), backward);
  EXPECT_EQ(c.host_at(60), optimizer);
  EXPECT_EQ(c.host_at(80), std::nullopt);
}

TEST(HostPhases, SilenceInsideAPhaseBelongsToItButNotAcrossSteps) {
  TraceBuilder b;
  b.step("ProfilerStep#0", 0, 100);
  b.step("ProfilerStep#1", 100, 200);
  differentiated(b, b.thread(1), "aten::linear", 10, 20);
  differentiated(b, b.thread(1), "aten::relu", 50, 60);
  differentiated(b, b.thread(1), "aten::linear", 120, 130);
  const Case c(b);
  EXPECT_EQ(c.host_at(35), forward);
  EXPECT_EQ(c.host_at(90), std::nullopt);
}

TEST(HostPhases, OperatorsBeforeTheLastBackwardOfAStepAreForwardWhereNothingElseIsKnown) {
  TraceBuilder b;
  b.step("ProfilerStep#0", 0, 100);
  b.op("aten::linear", 10, 20);
  b.row(b.thread(2), Category::cpu_op, "autograd::engine::evaluate_function: AddmmBackward0", 30,
        50);
  b.op("aten::isnan", 60, 70);
  const Case c(b);
  EXPECT_EQ(c.host_at(15), forward);
  EXPECT_EQ(c.host_at(40), backward);
  EXPECT_EQ(c.host_at(65), std::nullopt);
}

TEST(HostPhases, AWaitBetweenTwoBackwardsIsBackward) {
  TraceBuilder b;
  b.step("ProfilerStep#0", 0, 100);
  b.op("of the step before", 0, 2);
  b.step("## data_load ##", 3, 5);
  b.step("block.forward", 5, 10);
  b.op("before", 10, 14);
  b.step("block.backward", 20, 30);
  b.op("wait", 30, 70);
  b.step("block.backward", 70, 80);
  const Case c(b);
  EXPECT_EQ(c.host_at(1), std::nullopt);
  EXPECT_EQ(c.host_at(12), forward);
  EXPECT_EQ(c.host_at(17), std::nullopt);
  EXPECT_EQ(c.host_at(50), backward);
}

TEST(HostPhases, OperatorsOfATraceWithoutBackwardAreNotGuessed) {
  TraceBuilder b;
  b.step("ProfilerStep#0", 0, 100);
  b.op("aten::linear", 10, 20);
  EXPECT_EQ(Case(b).host_at(15), std::nullopt);
}

TEST(HostPhases, ForwardInsideBackwardIsRecomputeAndItsOwnBackwardIsNot) {
  TraceBuilder b;
  const TrackId autograd = b.thread(2);
  b.step("ProfilerStep#0", 0, 100);
  b.row(autograd, Category::cpu_op, "CheckpointFunctionBackward", 10, 60);
  b.row(autograd, Category::cpu_op, "autograd::engine::evaluate_function: MmBackward0", 30, 50);
  b.row(autograd, Category::cpu_op, "autograd::engine::evaluate_function: PackedBackward0", 70, 95);
  differentiated(b, autograd, "aten::mm", 75, 80);
  differentiated(b, autograd, "PackedBackward0", 85, 90, 1);
  const Case c(b);
  EXPECT_EQ(c.host_at(20), recompute);
  EXPECT_EQ(c.host_at(40), backward);
  EXPECT_EQ(c.host_at(55), recompute);
  EXPECT_EQ(c.host_at(72), backward);
  EXPECT_EQ(c.host_at(77), recompute);
  EXPECT_EQ(c.host_at(87), backward);
}

TEST(HostPhases, ALossInsideTheUsersBackwardRangeIsNoRecompute) {
  TraceBuilder b;
  b.step("ProfilerStep#0", 0, 100);
  b.step("## backward ##", 0, 100);
  differentiated(b, b.thread(1), "aten::cross_entropy_loss", 10, 20);
  b.step("block.forward", 30, 40);
  const Case c(b);
  EXPECT_EQ(c.host_at(15), backward);
  EXPECT_EQ(c.host_at(35), recompute) << "said outright";
}

TEST(HostPhases, AFunctionThatIsItsOwnGradientIsNoRecompute) {
  TraceBuilder b;
  b.step("ProfilerStep#0", 0, 100);
  b.op("_AlltoAllSingleBackward", 0, 50);
  differentiated(b, b.thread(1), "_AlltoAllSingle", 10, 20);
  EXPECT_EQ(Case(b).host_at(15), backward);
}

TEST(HostPhases, AFunctionInANodeThatRecomputesIsRecompute) {
  TraceBuilder b;
  b.step("ProfilerStep#0", 0, 100);
  b.op("autograd::engine::evaluate_function: MmBackward0", 0, 50);
  b.op("MmBackward0", 1, 49);
  differentiated(b, b.thread(1), "FlashAttention", 5, 15);
  differentiated(b, b.thread(1), "aten::mm", 20, 30);
  b.op("autograd::engine::evaluate_function: _ToTorchTensorBackward", 60, 90);
  b.op("_ToTorchTensorBackward", 61, 89);
  differentiated(b, b.thread(1), "_FromTorchTensor", 65, 75);
  const Case c(b);
  EXPECT_EQ(c.host_at(10), recompute);
  EXPECT_EQ(c.host_at(25), recompute);
  EXPECT_EQ(c.host_at(40), backward);
  EXPECT_EQ(c.host_at(70), backward) << "DTensor's functions have numbers without gradients too";
}

TEST(HostPhases, TheMainThreadThatWaitsInBackwardGivesWayToWhatTheOtherDoes) {
  TraceBuilder b;
  b.step("ProfilerStep#0", 0, 100);
  b.step("## backward ##", 0, 100);
  b.row(b.thread(2), Category::cpu_op, "autograd::engine::evaluate_function: XBackward0", 5, 90);
  b.row(b.thread(2), Category::user_annotation, "Optimizer.step#SGD.step", 40, 50);
  b.row(b.thread(3), Category::user_annotation, "Optimizer.step#SGD.step", 60, 70);
  const Case c(b);
  EXPECT_EQ(c.host_at(30), backward);
  EXPECT_EQ(c.host_at(45), optimizer);
  EXPECT_EQ(c.host_at(65), backward) << "a thread without backward is none of the step's";
}

TEST(HostPhases, ACollectiveHasANumberWithoutABackward) {
  TraceBuilder b;
  b.step("ProfilerStep#0", 0, 100);
  b.step("ProfilerStep#1", 100, 200);
  differentiated(b, b.thread(1), "aten::linear", 10, 20);
  b.op("autograd::engine::evaluate_function: AddmmBackward0", 30, 40);
  differentiated(b, b.thread(1), "c10d::allreduce_", 50, 52);
  differentiated(b, b.thread(1), "c10d::allreduce_", 60, 62);
  differentiated(b, b.thread(1), "_c10d_functional::all_reduce", 110, 120);
  differentiated(b, b.thread(1), "_c10d_functional_autograd::all_to_all_single", 130, 140);
  const Case c(b);
  EXPECT_EQ(c.host_at(15), forward);
  EXPECT_EQ(c.host_at(51), std::nullopt);
  EXPECT_EQ(c.host_at(55), std::nullopt);
  EXPECT_EQ(c.host_at(115), std::nullopt);
  EXPECT_EQ(c.host_at(135), forward) << "this one is part of a graph";
}

TEST(HostPhases, ANumberAfterTheLastBackwardOfItsStepIsNoForward) {
  TraceBuilder b;
  b.step("ProfilerStep#0", 0, 100);
  differentiated(b, b.thread(1), "aten::linear", 10, 20);
  b.op("autograd::engine::evaluate_function: AddmmBackward0", 30, 40);
  differentiated(b, b.thread(1), "aten::div_", 50, 60);
  differentiated(b, b.thread(1), "aten::div_", 70, 80);
  const Case c(b);
  EXPECT_EQ(c.host_at(55), std::nullopt) << "the mean of the gradients";
  EXPECT_EQ(c.host_at(65), std::nullopt);
}

TEST(HostPhases, OutsideTheProgramsOwnRangesOfAPhaseNothingIsOfIt) {
  TraceBuilder b;
  b.step("ProfilerStep#0", 0, 100);
  b.step("Optimizer.zero_grad#SGD.zero_grad", 1, 3);
  differentiated(b, b.thread(1), "aten::to", 4, 5);
  b.step("forward", 10, 20);
  differentiated(b, b.thread(1), "aten::linear", 12, 18);
  b.step("allreduce", 40, 60);
  differentiated(b, b.thread(1), "aten::div_", 42, 44);
  b.op("aten::copy_", 50, 55);
  b.step("forward", 62, 64);
  b.step("backward", 65, 75);
  b.row(b.thread(2), Category::cpu_op, "autograd::engine::evaluate_function: MmBackward0", 66, 80);
  b.step("optimizer_step", 85, 90);
  b.step("ProfilerStep#1", 100, 200);
  differentiated(b, b.thread(1), "aten::linear", 110, 120);
  b.step("Optimizer.step#SGD.step", 130, 140);
  const Case c(b);
  EXPECT_EQ(c.host_at(2), std::nullopt) << "the step has a range of its optimizer";
  EXPECT_EQ(c.host_at(4), std::nullopt);
  EXPECT_EQ(c.host_at(15), forward);
  EXPECT_EQ(c.host_at(43), std::nullopt);
  EXPECT_EQ(c.host_at(52), std::nullopt);
  EXPECT_EQ(c.host_at(61), std::nullopt) << "between two ranges of forward";
  EXPECT_EQ(c.host_at(63), forward);
  EXPECT_EQ(c.host_at(70), backward);
  EXPECT_EQ(c.host_at(77), std::nullopt) << "another thread's rows outside, too";
  EXPECT_EQ(c.host_at(87), optimizer);
  EXPECT_EQ(c.host_at(115), forward) << "a step without such ranges";
  EXPECT_EQ(c.host_at(135), optimizer);
}

TEST(Phases, OfAHandWrittenLoopAreItsRanges) {
  TraceBuilder b;
  b.step("ProfilerStep#0", 0, 100);
  b.step("step_0", 0, 100);
  b.step("forward", 0, 20);
  differentiated(b, b.thread(1), "aten::linear", 5, 15);
  b.step("backward", 20, 50);
  b.op("AddmmBackward0", 25, 45);
  b.step("allreduce", 50, 80);
  differentiated(b, b.thread(1), "c10d::allreduce_", 51, 52);
  differentiated(b, b.thread(1), "c10d::allreduce_", 70, 72);
  b.step("optimizer", 80, 95);
  const PhaseBudget budget = Case(b).budget();
  ASSERT_EQ(budget.steps.size(), 1u);
  expect_phases(budget.steps[0], {{forward, 20}, {backward, 30}, {optimizer, 15}, {other, 35}});
}

TEST(HostPhases, RowsThatOverlapWithoutNestingEndWhereTheyEnd) {
  TraceBuilder b;
  b.step("ProfilerStep#0", 0, 100);
  b.step("## forward ##", 10, 40);
  b.step("## backward ##", 30, 60);
  const Case c(b);
  EXPECT_EQ(c.host_at(20), forward);
  EXPECT_EQ(c.host_at(35), backward);
  EXPECT_EQ(c.host_at(59), backward);
  EXPECT_EQ(c.host_at(60), std::nullopt);
}

TEST(Phases, DeviceTimeBelongsToTheLaunchAndIdleTimeToTheHost) {
  TraceBuilder b;
  b.step("ProfilerStep#0", 0, 100);
  b.step("## forward ##", 0, 20);
  b.launch(1, 5, 6);
  b.step("## backward ##", 20, 60);
  b.launch(2, 25, 26);
  b.kernel("f", 10, 40, 1);
  b.kernel("b", 50, 70, 2);
  b.kernel("unknown", 80, 90);
  const PhaseBudget budget = Case(b).budget();
  expect_phases(budget.total, {{forward, 30}, {backward, 30}, {other, 30}});
}

TEST(Phases, ComputeDecidesBeforeCommunicationBeforeCopies) {
  TraceBuilder b;
  b.step("## forward ##", 0, 10);
  b.launch(1, 1, 2);
  b.launch(2, 2, 3);
  b.step("## backward ##", 10, 20);
  b.launch(3, 11, 12);
  b.step("Optimizer.step#A", 20, 30);
  b.launch(4, 21, 22);
  b.row(b.stream(0, 20), Category::kernel, "ncclDevKernel_AllGather", 30, 60, 1);
  b.row(b.stream(0, 21), Category::memcpy, "Memcpy DtoD", 30, 70, 4);
  b.kernel("gemm", 40, 50, 3);
  const StepPhases total = Case(b).budget().total;
  expect_phases(total, {{forward, 20}, {backward, 10}, {optimizer, 10}});
  // From 30 to 40 and from 50 to 60: compute hides the rest, and the copy is no communication.
  EXPECT_EQ(total.communication[static_cast<std::size_t>(forward)], Ns{20});
  EXPECT_EQ(total.communication[static_cast<std::size_t>(backward)], Ns{0});
  EXPECT_EQ(total.communication[static_cast<std::size_t>(optimizer)], Ns{0});
}

TEST(Phases, ACpuOnlyTraceIsTheHosts) {
  TraceBuilder b;
  b.step("ProfilerStep#0", 0, 100);
  b.op("forward", 10, 40);
  b.op("aten::mm", 15, 35);
  b.op("backward", 40, 80);
  b.op("AddmmBackward0", 45, 75);
  const PhaseBudget budget = Case(b).budget();
  ASSERT_EQ(budget.steps.size(), 1u);
  expect_phases(budget.steps[0], {{forward, 30}, {backward, 40}, {other, 30}});
  EXPECT_EQ(budget.steps[0].sum(), Ns{100});
}

TEST(Phases, ASummaryHasARowForEachPhaseWithTime) {
  std::vector<StepPhases> steps(2);
  steps[0][forward] = Ns{10};
  steps[1][forward] = Ns{20};
  steps[1][data] = Ns{4};
  steps[1].communication[static_cast<std::size_t>(forward)] = Ns{6};
  EXPECT_EQ(summarize_phases(steps, false)[0].communication, std::nullopt) << "not recorded";
  const auto rows = summarize_phases(steps, true);
  EXPECT_EQ(rows[0].communication, 3.0);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].phase, forward);
  EXPECT_EQ(rows[0].steps, 2u);
  EXPECT_DOUBLE_EQ(rows[0].mean, 15);
  EXPECT_DOUBLE_EQ(rows[0].min, 10);
  EXPECT_DOUBLE_EQ(rows[0].max, 20);
  EXPECT_NEAR(rows[0].stdev.value_or(0), 7.0710678, 1e-6);
  EXPECT_EQ(rows[1].phase, data);
  EXPECT_EQ(summarize_phases(std::span(steps).first(1), true)[0].stdev, std::nullopt);
}

}  // namespace

}  // namespace stepscope
