// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/steps/steps.h"

#include <gtest/gtest.h>

#include "stepscope/analysis/steps/trace_test_builder.h"

namespace stepscope {
namespace {

std::vector<Step> steps_of(TraceBuilder& b, const StepOptions& options = {}) {
  const Trace trace = b.sealed();
  return find_steps(trace, index_rank(trace), options);
}

TEST(Steps, AStepRunsFromItsFirstDeviceOperationToThatOfTheNext) {
  TraceBuilder b;
  b.step("ProfilerStep#5", 0, 100);
  b.step("ProfilerStep#6", 100, 200);
  b.launch(1, 10, 12);
  b.launch(2, 20, 22);
  b.launch(3, 110, 112);
  b.kernel("a", 40, 60, 1);
  b.kernel("b", 70, 130, 2);
  b.kernel("c", 130, 260, 3);
  const std::vector<Step> steps = steps_of(b);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].index, 5);
  EXPECT_EQ(steps[0].name, "ProfilerStep#5");
  EXPECT_EQ(steps[0].host_start, Ns{0});
  EXPECT_EQ(steps[0].host_end, Ns{100});
  EXPECT_EQ(steps[0].start, Ns{40});
  EXPECT_EQ(steps[0].end, Ns{130});
  EXPECT_EQ(steps[1].index, 6);
  EXPECT_EQ(steps[1].start, Ns{130});
  EXPECT_EQ(steps[1].end, Ns{260}) << "its last device operation outlives its annotation";
}

TEST(Steps, MarksWithoutALaunchTellNothingIfTheDeviceWorksElsewhere) {
  const auto steps_until = [](std::int64_t end, const StepOptions& options = {}) {
    TraceBuilder b;
    b.step("ProfilerStep#0", 0, 100);
    b.kernel("a", 50, 80);
    b.kernel("b", 100, end);
    return steps_of(b, options);
  };
  const std::vector<Step> steps = steps_until(900);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].name, "window");
  EXPECT_EQ(steps[0].end, Ns{900});
  EXPECT_EQ(steps_until(900, {.annotation = "ProfilerStep"})[0].name, "ProfilerStep#0");
  EXPECT_EQ(steps_until(120)[0].name, "ProfilerStep#0") << "most of the work is in the mark";
}

TEST(Steps, TheLastStepEndsWithItsAnnotationWhereThatIsLater) {
  TraceBuilder b;
  b.step("ProfilerStep#1", 0, 100);
  b.launch(1, 10, 12);
  b.kernel("a", 40, 60, 1);
  const std::vector<Step> steps = steps_of(b);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].start, Ns{40});
  EXPECT_EQ(steps[0].end, Ns{100});
}

TEST(Steps, WorkLaunchedByAnotherThreadBelongsToTheStepOfItsLaunch) {
  TraceBuilder b;
  b.step("ProfilerStep#1", 0, 100);
  b.step("ProfilerStep#2", 100, 200);
  b.row(b.thread(2), Category::runtime, "cudaLaunchKernel", 99, 101, 8);
  b.launch(9, 150, 151);
  b.kernel("late", 105, 140, 8);
  b.kernel("own", 152, 153, 9);
  const std::vector<Step> steps = steps_of(b);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].start, Ns{105});
  EXPECT_EQ(steps[1].start, Ns{152});
}

TEST(Steps, AStepWithoutDeviceWorkStartsWithItsAnnotation) {
  TraceBuilder b;
  b.step("ProfilerStep#1", 0, 100);
  b.step("ProfilerStep#2", 110, 200);
  b.launch(1, 10, 12);
  b.kernel("a", 40, 60, 1);
  const std::vector<Step> steps = steps_of(b);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].end, Ns{110});
  EXPECT_EQ(steps[1].start, Ns{110});
  EXPECT_EQ(steps[1].end, Ns{200});
}

// The host is two steps ahead when the profiler is stopped, just after step() began another one.
TEST(Steps, AStepThatTheProfilerWasStoppedInIsNone) {
  TraceBuilder b;
  b.step("ProfilerStep#1", 0, 100);
  b.step("ProfilerStep#2", 100, 200);
  b.step("ProfilerStep#3", 200, 203);
  b.launch(1, 10, 12);
  b.launch(2, 110, 112);
  b.kernel("a", 300, 390, 1);
  b.kernel("b", 390, 480, 2);
  const std::vector<Step> steps = steps_of(b);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[1].start, Ns{390});
  EXPECT_EQ(steps[1].end, Ns{480});
}

TEST(Steps, StepsNeverRunBackwardsInTime) {
  TraceBuilder b;
  b.step("ProfilerStep#1", 0, 100);
  b.step("ProfilerStep#2", 100, 200);
  b.launch(1, 10, 12);
  b.launch(2, 110, 112);
  b.kernel("clock error", 300, 310, 1);
  b.kernel("b", 120, 130, 2);
  const std::vector<Step> steps = steps_of(b);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].start, Ns{300});
  EXPECT_EQ(steps[0].end, Ns{300});
  EXPECT_EQ(steps[1].start, Ns{300});
  EXPECT_GE(steps[1].end, steps[1].start);
}

TEST(Steps, WhatLiesBetweenStepsOfDistantNumbersBelongsToNone) {
  TraceBuilder b;
  b.step("ProfilerStep#3", 0, 100);
  b.step("ProfilerStep#13", 1000, 1100);
  const std::vector<Step> steps = steps_of(b);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].end, Ns{100});
  EXPECT_EQ(steps[1].start, Ns{1000});
}

TEST(Steps, WhatLiesBetweenTwoWindowsOfTheProfilerBelongsToNone) {
  TraceBuilder b;
  b.row(b.thread(9), Category::trace_window, "PyTorch Profiler (0)", 0, 200);
  b.row(b.thread(9), Category::trace_window, "PyTorch Profiler (0)", 900, 1100);
  b.step("ProfilerStep#5", 0, 100);
  b.step("ProfilerStep#6", 110, 200);
  b.step("ProfilerStep#7", 910, 1000);
  const std::vector<Step> steps = steps_of(b);
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[0].end, Ns{110});
  EXPECT_EQ(steps[1].end, Ns{200}) << "the trace was written until 900";
  EXPECT_EQ(steps[2].start, Ns{910});
}

TEST(Steps, CopiesOfTheAnnotationOnTheDeviceAndOnOtherThreadsAreIgnored) {
  TraceBuilder b;
  b.step("ProfilerStep#1", 0, 100);
  b.row(b.stream(0, 7), Category::gpu_annotation, "ProfilerStep#1", 50, 500);
  b.row(b.thread(2), Category::user_annotation, "ProfilerStep#1", 2, 90);
  b.kernel("orphan", 60, 70);
  const std::vector<Step> steps = steps_of(b);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].start, Ns{0}) << "no operation is known to be launched inside";
  EXPECT_EQ(steps[0].end, Ns{100});
}

TEST(Steps, RowsWithoutACategoryNameStepsToo) {
  TraceBuilder b;
  b.row(b.thread(1), Category::other, "ProfilerStep#0", 107, 400);
  b.row(b.thread(1), Category::other, "ProfilerStep#1", 410, 900);
  const std::vector<Step> steps = steps_of(b);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].start, Ns{107});
  EXPECT_EQ(steps[0].end, Ns{410});
  EXPECT_EQ(steps[1].index, 1);
}

TEST(Steps, AnAnnotationOfTheUserCountsFromZeroAndHoldsItsNestedNamesakes) {
  TraceBuilder b;
  b.step("train", 0, 50);
  b.step("train", 10, 20);
  b.step("train", 60, 90);
  b.step("training", 95, 99);
  const std::vector<Step> steps = steps_of(b, {.annotation = "train"});
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].index, 0);
  EXPECT_EQ(steps[0].start, Ns{0});
  EXPECT_EQ(steps[1].index, 1);
  EXPECT_EQ(steps[1].start, Ns{60});
}

TEST(Steps, NumbersThatRepeatAreReplacedByOrdinals) {
  TraceBuilder b;
  b.step("ProfilerStep#7", 0, 50);
  b.step("ProfilerStep#7", 60, 90);
  const std::vector<Step> steps = steps_of(b);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].index, 0);
  EXPECT_EQ(steps[1].index, 1);
}

TEST(Steps, NumbersThatNoCounterReachesAreReplacedToo) {
  TraceBuilder b;
  b.step("ProfilerStep#9223372036854775807", 0, 100);
  b.step("ProfilerStep#9007199254740992", 100, 200);
  const std::vector<Step> steps = steps_of(b);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].index, 0);
  EXPECT_EQ(steps[1].index, 1);
}

TEST(Steps, WithoutAnnotationsTheDeviceWindowIsTheStep) {
  TraceBuilder b;
  b.op("aten::mm", 0, 1000);
  b.kernel("a", 40, 90);
  b.row(b.stream(1, 7), Category::kernel, "b", 30, 60);
  const std::vector<Step> steps = steps_of(b);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].name, "window");
  EXPECT_EQ(steps[0].start, Ns{30});
  EXPECT_EQ(steps[0].end, Ns{90});
  EXPECT_EQ(steps[0].host_end, Ns{1000});
}

TEST(Steps, WithoutDeviceWorkTheMainThreadIsTheStep) {
  TraceBuilder b;
  b.op("aten::mm", 20, 70);
  b.op("aten::add", 80, 90);
  b.row(b.thread(2), Category::user_annotation, "gloo:all_reduce", 0, 200);
  const std::vector<Step> steps = steps_of(b);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].start, Ns{20});
  EXPECT_EQ(steps[0].end, Ns{90});
  EXPECT_EQ(steps[0].host_start, Ns{20});
  EXPECT_EQ(steps[0].host_end, Ns{90});
}

TEST(Steps, StepsAndWhatLiesOutsideThemAreTheWholeTrace) {
  TraceBuilder b;
  b.op("aten::randn", 0, 10);
  b.step("ProfilerStep#3", 20, 100);
  b.launch(1, 30, 31);
  b.kernel("a", 40, 60, 1);
  b.step("ProfilerStep#13", 1000, 1100);
  b.op("aten::save", 1200, 1300);
  const Trace trace = b.sealed();
  const RankIndex rank = index_rank(trace);
  const std::vector<Step> steps = find_steps(trace, rank);
  const OutsideSteps outside = outside_steps(rank, steps);
  EXPECT_EQ(outside.before, Ns{40});
  EXPECT_EQ(outside.between, Ns{900});
  EXPECT_EQ(outside.after, Ns{200});
  Ns all = outside.before + outside.between + outside.after;
  for (const Step& step : steps) all += step.end - step.start;
  EXPECT_EQ(all, Ns{1300});
}

TEST(Steps, ATraceWithoutSlicesHasNone) {
  TraceBuilder b;
  EXPECT_TRUE(steps_of(b).empty());
}

TEST(Steps, NumbersStandBehindTheNameInSeveralWays) {
  for (const char* form : {"iteration %", "iteration_%", "iteration%", "iteration: %/100",
                           "iteration [%]", "iteration#%"}) {
    TraceBuilder b;
    for (const int n : {7, 8}) {
      std::string name = form;
      name.replace(name.find('%'), 1, std::to_string(n));
      b.step(name, 100 * n, 100 * n + 90);
    }
    const std::vector<Step> steps = steps_of(b, {.annotation = "iteration"});
    ASSERT_EQ(steps.size(), 2u) << form;
    EXPECT_EQ(steps[0].index, 7) << form;
    EXPECT_EQ(steps[1].index, 8) << form;
  }
}

TEST(Steps, ANameThatEndsInASignIsFollowedByItsNumberAndAnything) {
  TraceBuilder b;
  b.step("FSDP::pre_forward (blocks.3.wrapped)", 0, 90);
  b.step("FSDP::pre_forward (blocks.4.wrapped)", 100, 190);
  b.step("FSDP::pre_forward (head)", 200, 290);
  EXPECT_EQ(steps_of(b, {.annotation = "FSDP::pre_forward (blocks."}).size(), 2u);
}

TEST(Steps, WithoutProfilerStepsRangesNamedAsIterationsAreTheSteps) {
  TraceBuilder b;
  b.step("Train Step 3", 0, 100);
  b.step("forward", 0, 50);
  b.step("Train Step 4", 100, 200);
  const std::vector<Step> steps = steps_of(b);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].name, "Train Step 3");
  EXPECT_EQ(steps[1].index, 4);

  TraceBuilder with_profiler;
  with_profiler.step("ProfilerStep#1", 0, 100);
  with_profiler.step("step 1", 0, 40);
  with_profiler.step("step 2", 40, 100);
  EXPECT_EQ(steps_of(with_profiler).size(), 1u) << "ProfilerStep goes first";
}

TEST(Steps, NumberedRangesOfXlaAreStepsUnderAnyName) {
  for (const char* format : {"kineto", "xplane"}) {
    TraceBuilder b;
    b.trace().metadata.format = format;
    for (const int n : {3, 4}) b.step("train#" + std::to_string(n), 100 * n, 100 * n + 90);
    const std::vector<Step> steps = steps_of(b);
    if (std::string_view(format) != "xplane") {
      ASSERT_EQ(steps.size(), 1u);
      EXPECT_EQ(steps[0].name, "window");
      continue;
    }
    ASSERT_EQ(steps.size(), 2u);
    EXPECT_EQ(steps[0].index, 3);
    EXPECT_EQ(steps[1].index, 4);
  }
}

TEST(Steps, OneRangeAndRangesThatOnlyBeginLikeAnIterationAreNoSteps) {
  TraceBuilder once;
  once.step("iteration 1", 0, 100);
  EXPECT_EQ(steps_of(once)[0].name, "window");
  TraceBuilder other;
  for (const int n : {0, 1}) {
    other.step("optimizer step " + std::to_string(n), 100 * n, 100 * n + 10);
    other.step("step 1 of 2 parts", 100 * n + 20, 100 * n + 30);
    other.step("Optimizer.step#AdamW.step", 100 * n + 40, 100 * n + 50);
  }
  EXPECT_EQ(steps_of(other)[0].name, "window");
}

TEST(Steps, OfSeveralIterationNamesThatWithMostTimeCounts) {
  TraceBuilder b;
  for (const int n : {0, 1, 2}) {
    b.step("iteration " + std::to_string(n), 100 * n, 100 * n + 90);
    b.step("batch " + std::to_string(n), 100 * n + 10, 100 * n + 20);
  }
  const std::vector<Step> steps = steps_of(b);
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[2].name, "iteration 2");
}

// PyTorch marks each update of the parameters, also where nobody calls profiler.step().
TEST(Steps, WithoutRowsOfTheirOwnLieBetweenUpdates) {
  TraceBuilder b;
  b.op("aten::mm", 80, 90);  // the recording began within a step
  b.step("Optimizer.step#AdamW.step", 90, 100);
  for (std::int64_t begin = 100; begin < 400; begin += 100) {
    b.op("aten::mm", begin + 10, begin + 80);
    b.step("Optimizer.step#Muon.step", begin + 85, begin + 88);
    b.step("Optimizer.step#AdamW.step", begin + 90, begin + 100);
  }
  b.op("aten::mm", 410, 450);
  const std::vector<Step> steps = steps_of(b);
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[0].name, "update 1");
  EXPECT_EQ(steps[0].index, 1);
  EXPECT_EQ(steps[0].start, Ns{100});
  EXPECT_EQ(steps[0].end, Ns{200});
  EXPECT_EQ(steps[2].end, Ns{400});
}

TEST(Steps, TwoUpdatesAreTooFewToTellSteps) {
  TraceBuilder b;
  b.op("aten::mm", 10, 80);
  b.step("Optimizer.step#SGD.step", 90, 100);
  b.op("aten::mm", 110, 180);
  b.step("Optimizer.step#SGD.step", 190, 200);
  const std::vector<Step> steps = steps_of(b);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].name, "window");
}

}  // namespace

}  // namespace stepscope
