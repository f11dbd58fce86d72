// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/steps/host_waits.h"

#include <gtest/gtest.h>

#include <array>

#include "stepscope/analysis/steps/trace_test_builder.h"

namespace stepscope {
namespace {

struct OneRank {
  Trace trace;
  RankIndex rank;
  std::vector<Step> steps;
  explicit OneRank(TraceBuilder& b)
      : trace(b.sealed()), rank(index_rank(trace)), steps(find_steps(trace, rank)) {}
  [[nodiscard]] RankView view() const { return {0, &trace, &rank, steps}; }
};

// Steps of 10 ms. Each launches a kernel at its start and at its end.
TraceBuilder four_steps() {
  TraceBuilder b;
  for (int s = 0; s < 4; ++s) {
    const std::int64_t at = 10'000 * us * s;
    const auto id = static_cast<std::uint32_t>(2 * s + 1);
    b.step("ProfilerStep#" + std::to_string(s), at, at + 10'000 * us);
    b.op("aten::first", at, at + 100 * us);
    b.launch(id, at + 10 * us, at + 20 * us);
    b.kernel("k", at + 30 * us, at + 90 * us, id);
    b.op("aten::last", at + 8'000 * us, at + 10'000 * us);
    b.launch(id + 1, at + 9'000 * us, at + 9'010 * us);
    b.kernel("k", at + 9'020 * us, at + 9'080 * us, id + 1);
  }
  return b;
}

TEST(UnseenHost, IsBetweenTheRowsOfAStep) {
  TraceBuilder b = four_steps();
  const OneRank r(b);
  const std::vector<HostSpan> unseen = unseen_host(r.view());
  ASSERT_EQ(unseen.size(), 4U);
  EXPECT_EQ(unseen[1].start, Ns{10'100 * us});
  EXPECT_EQ(unseen[1].end, Ns{18'000 * us});
  const auto work = unseen_work(std::array{r.view()});
  ASSERT_TRUE(work);
  EXPECT_EQ(work->of_step, Ns{7'900 * us});
  EXPECT_EQ(work->between, "between aten::first and aten::last");
}

TEST(UnseenHost, IsNotWhatAnotherThreadOrAnInnermostAnnotationShows) {
  TraceBuilder b = four_steps();
  b.row(b.thread(2), Category::cpu_op, "autograd", 5'000 * us, 8'000 * us);
  b.row(b.thread(1), Category::user_annotation, "checkpoint", 10'100 * us, 18'000 * us);
  const OneRank r(b);
  const std::vector<HostSpan> unseen = unseen_host(r.view());
  ASSERT_EQ(unseen.size(), 3U);
  EXPECT_EQ(unseen[0].end, Ns{5'000 * us});
  EXPECT_EQ(unseen[1].start, Ns{20'100 * us});
}

TEST(UnseenHost, AnnotationsAroundOtherRowsTellNothing) {
  TraceBuilder b = four_steps();
  for (int s = 0; s < 4; ++s)
    b.row(b.thread(1), Category::user_annotation, "forward", 10'000 * us * s,
          10'000 * us * s + 9'990 * us);
  const OneRank r(b);
  EXPECT_EQ(unseen_host(r.view()).size(), 4U);
  EXPECT_EQ(unseen_work(std::array{r.view()})->between,
            "between aten::first and aten::last in forward");
}

TEST(UnseenHost, WhatALoaderDoesIsLoading) {
  TraceBuilder b = four_steps();
  b.row(b.thread(1), Category::user_annotation,
        "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 40'000 * us);
  const OneRank r(b);
  EXPECT_TRUE(unseen_host(r.view()).empty());
}

// One long stretch in one step is a pause, not what each step does.
TEST(UnseenHost, OfFewStepsIsNoWorkOfEachStep) {
  TraceBuilder b = four_steps();
  for (int s = 0; s < 2; ++s)
    b.row(b.thread(2), Category::cpu_op, "autograd", 10'000 * us * s, 10'000 * us * (s + 1));
  const OneRank r(b);
  EXPECT_EQ(unseen_host(r.view()).size(), 2U);
  EXPECT_FALSE(unseen_work(std::array{r.view()}));
}

TEST(UnseenHost, OfFewViewsIsNoWorkOfTheJob) {
  TraceBuilder b = four_steps();
  const OneRank with(b);
  TraceBuilder c = four_steps();
  c.row(c.thread(2), Category::cpu_op, "autograd", 0, 40'000 * us);
  const OneRank without(c);
  RankView other = without.view();
  other.rank = 1;
  const auto half = unseen_work(std::array{with.view(), other});
  ASSERT_TRUE(half);
  EXPECT_EQ(half->ranks, std::vector<int>{0});
  EXPECT_EQ(half->of_step, Ns{7'900 * us});
  EXPECT_FALSE(unseen_work(std::array{with.view(), other, other}));
  // Two windows of one rank are its work, not twice its work.
  const auto windows = unseen_work(std::array{with.view(), with.view()});
  EXPECT_EQ(windows->of_step, Ns{7'900 * us});
  EXPECT_TRUE(windows->ranks.empty());
}

TEST(UnseenHost, PlacesOfWhichNoneHasHalfAreNotNamed) {
  TraceBuilder b;
  for (int s = 0; s < 4; ++s) {
    const std::int64_t at = 10'000 * us * s;
    b.step("ProfilerStep#" + std::to_string(s), at, at + 10'000 * us);
    for (int k = 0; k < 3; ++k)
      b.op("aten::op" + std::to_string(k), at + 3'300 * us * k, at + (3'300 * k + 100) * us);
    b.op("aten::end", at + 9'900 * us, at + 10'000 * us);
  }
  const OneRank r(b);
  const auto work = unseen_work(std::array{r.view()});
  ASSERT_TRUE(work);
  EXPECT_EQ(work->between, "");
}

TEST(UnseenHost, WithoutStepsOrHostRowsThereIsNone) {
  TraceBuilder b;
  b.kernel("k", 0, 100);
  const OneRank r(b);
  EXPECT_TRUE(unseen_host(r.view()).empty());
}

// Work on streams 20 and 21 and a kernel "waiting" on stream 7, all launched by thread 1.
class EventWaitsTest : public ::testing::Test {
 protected:
  void kernel(std::int64_t stream, std::string_view name, std::int64_t launched, std::int64_t start,
              std::int64_t end) {
    b.launch(++correlation, launched, launched + 1);
    b.row(b.stream(0, stream), Category::kernel, name, start, end, correlation);
  }
  std::uint32_t record(std::int64_t called) {
    b.row(b.thread(1), Category::runtime, "cudaEventRecord", called, called + 1, ++correlation);
    return correlation;
  }
  void wait(std::int64_t called, std::int32_t on, std::int32_t recorded) {
    b.row(b.thread(1), Category::runtime, "cudaStreamWaitEvent", called, called + 1, ++correlation);
    const SliceId row =
        b.row(b.stream(0, 7), Category::sync, "Stream Wait Event", called, called + 1, correlation);
    SyncDetails& syncs = b.trace().syncs;
    b.trace().slices.detail[index(row)] = static_cast<std::uint32_t>(syncs.size());
    syncs.stream.push_back(7);
    syncs.wait_on_stream.push_back(on);
    syncs.wait_on_record_correlation.push_back(recorded);
  }
  std::string producer_of_waiting() {
    const Trace trace = b.sealed();
    const RankIndex rank = index_rank(trace);
    const SliceId producer =
        producer_of(event_waits(trace, rank), trace, rank, find_slice(trace, "waiting"));
    return producer == no_slice ? "none" : std::string(trace.name(producer));
  }
  TraceBuilder b;
  std::uint32_t correlation = 0;
};

TEST_F(EventWaitsTest, TheProducerIsTheLastWorkLaunchedBeforeTheRecord) {
  kernel(20, "first", 0, 10, 20);
  kernel(20, "second", 2, 20, 50);
  const auto recorded = static_cast<std::int32_t>(record(4));
  kernel(20, "after the record", 6, 50, 90);
  wait(8, 20, recorded);
  kernel(7, "waiting", 12, 60, 70);
  EXPECT_EQ(producer_of_waiting(), "second");
}

TEST_F(EventWaitsTest, OfSeveralWaitsTheOneThatEndsLastCounts) {
  kernel(20, "short", 0, 10, 20);
  kernel(21, "long", 2, 10, 50);
  const auto recorded = static_cast<std::int32_t>(record(4));
  wait(6, 21, recorded);
  wait(8, 20, recorded);
  kernel(7, "waiting", 12, 60, 70);
  EXPECT_EQ(producer_of_waiting(), "long");
}

TEST_F(EventWaitsTest, AWaitBeforeThePredecessorOfTheStreamDelaysOnlyThat) {
  kernel(20, "producer", 0, 10, 20);
  wait(4, 20, -1);
  kernel(7, "predecessor", 6, 20, 30);
  kernel(7, "waiting", 12, 60, 70);
  EXPECT_EQ(producer_of_waiting(), "none");
}

TEST_F(EventWaitsTest, WithoutItsRecordAnEventWasRecordedBeforeItIsWaitedFor) {
  kernel(20, "producer", 0, 10, 20);
  wait(4, 20, -1);
  kernel(20, "later", 8, 20, 40);
  kernel(7, "waiting", 12, 60, 70);
  EXPECT_EQ(producer_of_waiting(), "producer");
}

TEST_F(EventWaitsTest, AnUnknownStreamProvesNothing) {
  kernel(20, "producer", 0, 10, 20);
  wait(4, -1, -1);
  kernel(7, "waiting", 12, 60, 70);
  EXPECT_EQ(producer_of_waiting(), "none");
}

// The calls of a host without rows of the streams' waits.
class CalledWaitsTest : public ::testing::Test {
 protected:
  void launch(std::string_view kernel, std::int64_t called) {
    b.launch(++correlation, called, called + 1);
    const bool communication = kernel.starts_with("nccl");
    b.row(b.stream(0, communication ? 20 : 7), Category::kernel, kernel, 10 * called,
          10 * called + 5, correlation);
  }
  void wait(std::int64_t called) {
    b.row(b.thread(1), Category::runtime, "cudaStreamWaitEvent", called, called + 1, ++correlation);
  }
  // "communication before kernel", in the order of launch.
  std::vector<std::string> waits() {
    const Trace trace = b.sealed();
    std::vector<std::string> found;
    for (const CalledWait& w : called_waits(trace, index_rank(trace)))
      found.push_back(std::string(trace.name(w.communication)) + " before " +
                      std::string(trace.name(w.kernel)));
    return found;
  }
  TraceBuilder b;
  std::uint32_t correlation = 0;
};

TEST_F(CalledWaitsTest, AWaitAfterTheOperatorHoldsTheNextKernel) {
  b.op("c10d::allreduce_", 10, 20);
  wait(12);  // of the communication for the computation
  launch("ncclDevKernel_AllReduce()", 14);
  wait(30);
  launch("gemm", 40);
  launch("softmax", 50);
  EXPECT_EQ(waits(), std::vector<std::string>{"ncclDevKernel_AllReduce() before gemm"});
}

TEST_F(CalledWaitsTest, AWaitWithinTheOperatorOrAfterOtherLaunchesTellsNothing) {
  b.op("c10d::allreduce_", 10, 20);
  launch("ncclDevKernel_AllReduce()", 14);
  wait(16);  // NCCL's own
  launch("gemm", 30);
  wait(40);  // for some earlier event
  launch("softmax", 50);
  EXPECT_TRUE(waits().empty());
}

TEST_F(CalledWaitsTest, CopiesDoNotTakeTheWait) {
  launch("ncclDevKernel_AllReduce()", 14);
  wait(30);
  b.launch(++correlation, 35, 36);
  b.row(b.stream(0, 9), Category::memcpy, "Memcpy HtoD", 400, 410, correlation);
  launch("gemm", 40);
  EXPECT_EQ(waits(), std::vector<std::string>{"ncclDevKernel_AllReduce() before gemm"});
}

}  // namespace

}  // namespace stepscope
