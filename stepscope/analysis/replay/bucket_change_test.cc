// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/bucket_change.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "stepscope/analysis/runs/replayed_test_job.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

constexpr std::int64_t kb = 1000;

constexpr std::string_view reduce_scatter_kernel = "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL()";

// A transfer takes 50 µs plus 1 µs per KB.
std::int64_t time_of(std::int64_t bytes) { return (50 + bytes / kb) * us; }

struct Gradients {
  std::vector<std::int64_t> messages;  // bytes, in backward order
  std::int64_t compute = 50 * us;      // before each message
  std::int64_t late = 0;               // added to the third piece of compute
  std::int64_t slow = 0;               // added to the second transfer
  bool gradual = false;                // two parameters' AccumulateGrad before each message
  bool probes = true;                  // messages of 10 and 400 KB in the forward pass
  std::string_view probe_kernel = all_reduce_kernel;
  std::string_view kernel = all_reduce_kernel;  // of the gradients
  std::string_view description = "undefined";
  std::size_t micro_batches = 1;
};

// All launches are in the first 200 µs. The forward pass and the probes end at 1 ms. Then backward
// computes, and each message starts when its compute is done and the stream is free.
class RankWriter {
 public:
  // `ready`: of each message on the last rank.
  TestRank write(const Gradients& g, const std::vector<std::int64_t>& ready) {
    launch_compute("stepscope::forward", 10 * us, 20 * us);
    if (g.probes) {
      launch_message(g, 10 * kb, 100 * us, 160 * us, true);
      launch_message(g, 400 * kb, 200 * us, 650 * us, true);
    }
    std::int64_t done = 1000 * us;
    std::int64_t free = done;
    std::size_t number = 0;
    for (std::size_t batch = 0; batch < g.micro_batches; ++batch) {
      if (batch > 0) {
        launch_compute("stepscope::forward", done, done + 10 * us);
        done += 10 * us;
      }
      const std::int64_t from = host_;
      for (std::size_t i = 0; i < g.messages.size(); ++i, ++number) {
        const std::int64_t work = g.compute + (i == 2 ? g.late : 0);
        launch_compute("", done, done + work);
        done += work;
        const std::int64_t begin = std::max(done, free);
        free = std::max(begin, std::max(ready[number], free)) + time_of(g.messages[i]) +
               (i == 1 ? g.slow : 0);
        if (g.gradual) accumulate_grad();
        const std::int64_t hook = host_;
        launch_message(g, g.messages[i], begin, free);
        if (g.gradual) row(Category::cpu_op, "torch::autograd::AccumulateGrad", hook, host_++);
      }
      row(Category::cpu_op, "stepscope::backward", from, host_);
      host_ += 1;
    }
    launch_compute("stepscope::optimizer_step", std::max(free, done),
                   std::max(free, done) + 100 * us);
    rank_.rows().step("ProfilerStep#1", 0, std::max(free, done) + 100 * us);
    return std::move(rank_);
  }

 private:
  void row(Category category, std::string_view name, std::int64_t start, std::int64_t end) {
    rank_.rows().row(rank_.rows().thread(1), category, name, start, end);
  }
  void launch(std::uint32_t correlation) {
    rank_.rows().launch(correlation, host_, host_ + 1);
    host_ += 2;
  }
  void accumulate_grad() {
    row(Category::cpu_op, "torch::autograd::AccumulateGrad", host_, host_ + 2);
    host_ += 3;
  }
  void launch_compute(std::string_view phase, std::int64_t start, std::int64_t end) {
    const std::int64_t from = host_;
    launch(++correlation_);
    if (!phase.empty()) row(Category::cpu_op, phase, from, host_++);
    rank_.rows().kernel("sgemm", start, end, correlation_);
  }
  void launch_message(const Gradients& g, std::int64_t bytes, std::int64_t start, std::int64_t end,
                      bool probe = false) {
    launch(++correlation_);
    const std::string_view kernel = probe ? g.probe_kernel : g.kernel;
    const std::string_view name = kernel == all_gather_kernel       ? "_allgather_base"
                                  : kernel == reduce_scatter_kernel ? "_reduce_scatter_base"
                                                                    : "allreduce";
    rank_.annotate(
        rank_.comm(kernel, start, end, correlation_),
        {.name = name, .elements = bytes / 4, .seq = seq_++, .description = g.description});
  }

  TestRank rank_;
  std::int64_t host_ = 0;
  std::uint32_t correlation_ = 0;
  std::int64_t seq_ = 0;
};

// When each message of the later rank is ready.
std::vector<std::int64_t> ready_times(const Gradients& g) {
  std::vector<std::int64_t> ready;
  std::int64_t done = 1000 * us;
  for (std::size_t batch = 0; batch < g.micro_batches; ++batch) {
    if (batch > 0) done += 10 * us;
    for (std::size_t i = 0; i < g.messages.size(); ++i)
      ready.push_back(done += g.compute + (i == 2 ? g.late : 0));
  }
  return ready;
}

// Two ranks that differ only in `late`.
std::vector<TestRank> ranks_of(const Gradients& rank0, std::int64_t late_on_rank1) {
  Gradients rank1 = rank0;
  rank1.late = late_on_rank1;
  std::vector<std::int64_t> ready = ready_times(rank0);
  const std::vector<std::int64_t> other = ready_times(rank1);
  for (std::size_t i = 0; i < ready.size(); ++i) ready[i] = std::max(ready[i], other[i]);
  std::vector<TestRank> ranks;
  ranks.push_back(RankWriter().write(rank0, ready));
  ranks.push_back(RankWriter().write(rank1, ready));
  return ranks;
}

struct Asked : ReplayedTestJob {
  explicit Asked(const Gradients& rank0, std::int64_t late_on_rank1 = 0)
      : ReplayedTestJob(ranks_of(rank0, late_on_rank1)) {}
  [[nodiscard]] BucketAnswer with(std::int64_t size) const {
    return change_buckets(inputs(), find_gradient_buckets(inputs()), Bytes{size});
  }
  [[nodiscard]] std::int64_t saved(std::int64_t size) const {
    const BucketAnswer answer = with(size);
    EXPECT_TRUE(answer.refused.empty());
    return (replay.step - answer.step).count() / us;
  }
};

const Gradients four_messages = {.messages = {100 * kb, 100 * kb, 100 * kb, 100 * kb}};

TEST(GradientTraffic, IsWhatBackwardWorkIsFollowedBy) {
  const Asked a(four_messages);
  EXPECT_EQ(a.replay.error, 0);
  const GradientTraffic traffic = find_gradient_traffic(a.inputs());
  ASSERT_EQ(traffic.passes.size(), 1U);  // without the probes of the forward pass
  const auto& messages = traffic.passes[0].messages;
  ASSERT_EQ(messages.size(), 4U);
  for (std::uint32_t m = 0; m < messages.size(); ++m) {
    EXPECT_EQ(messages[m].bytes, Bytes{100 * kb});
    EXPECT_EQ(messages[m].members.size(), 2U);
    EXPECT_EQ(messages[m].handed_over, m);
    EXPECT_FALSE(messages[m].gradual);
  }
}

TEST(GradientTraffic, KnowsGradientsThatCameOneByOne) {
  Gradients g = four_messages;
  g.gradual = true;
  const Asked a(g);
  const GradientTraffic traffic = find_gradient_traffic(a.inputs());
  ASSERT_EQ(traffic.passes.size(), 1U);
  for (const GradientMessage& m : traffic.passes[0].messages) EXPECT_TRUE(m.gradual);
}

TEST(GradientTraffic, LeavesTensorParallelSumsOut) {
  Gradients g = four_messages;
  g.description = "TENSOR_MODEL_PARALLEL_GROUP";
  const Asked a(g);
  EXPECT_TRUE(find_gradient_traffic(a.inputs()).passes.empty());
  EXPECT_NE(say(a.with(200 * kb).refused).find("no collective of gradients"), std::string::npos);
}

TEST(BucketChange, TheRecordedSizeChangesNothing) {
  const Asked a(four_messages);
  const BucketAnswer answer = a.with(100 * kb);
  EXPECT_EQ(answer.step, a.replay.step);
  EXPECT_EQ(answer.nodes, 0U);
  EXPECT_EQ(answer.before, 4U);
  EXPECT_EQ(answer.after, 4U);
}

// Recorded: ready after 50, 100, 150, 200 µs; each takes 150; the end is after 650.
TEST(BucketChange, MergedMessagesGoWhenTheLastOfThemIsReady) {
  const Asked a(four_messages);
  EXPECT_EQ(a.saved(200 * kb), 50);  // 100 to 350, 350 to 600
  EXPECT_EQ(a.saved(400 * kb), 0);   // 200 to 650
  EXPECT_EQ(a.saved(1000 * kb), 0);  // never more than the total
  EXPECT_EQ(a.with(200 * kb).after, 2U);
}

// Two of 300 KB: ready after 300 and 600 µs, 350 µs each: 300 to 650, 650 to 1000.
TEST(BucketChange, WhatIsHandedOverAtOnceIsReadyAtOnce) {
  const Asked a({.messages = {300 * kb, 300 * kb}, .compute = 300 * us});
  EXPECT_EQ(a.saved(150 * kb), -100);  // 300, 500, 700, 900; end after 1100
  EXPECT_EQ(a.with(150 * kb).notes.size(), 0U);
  // A piece of 200 and the rest of 100: 250 + 150 each.
  EXPECT_EQ(a.saved(200 * kb), -100);
  EXPECT_EQ(a.with(200 * kb).after, 4U);
}

TEST(BucketChange, GradientsThatComeOneByOneAreReadyEarlier) {
  const Asked a({.messages = {300 * kb, 300 * kb}, .compute = 300 * us, .gradual = true});
  // 150 to 350, 350 to 550, 550 to 750, 750 to 950.
  EXPECT_EQ(a.saved(150 * kb), 50);
  ASSERT_EQ(a.with(150 * kb).notes.size(), 1U);
  EXPECT_NE(say(a.with(150 * kb).notes[0]).find("evenly"), std::string::npos);
  // Cut at 200 and 400 KB: 200 to 450, 450 to 700, 700 to 950.
  EXPECT_EQ(a.saved(200 * kb), 50);
}

// The third piece of rank 1 takes 400 µs more: ready after 50, 100, 550, 600 on the last rank.
TEST(BucketChange, AllRanksAreWaitedFor) {
  const Asked a(four_messages, 400 * us);
  EXPECT_EQ(a.replay.step, Ns{(550 + 150 + 150 + 100 + 990) * us});
  EXPECT_EQ(a.saved(200 * kb), 0);     // 600 to 850
  EXPECT_EQ(a.saved(400 * kb), -200);  // 600 to 1050
}

// The second message took twice its time, so half of a merged message is equally slow.
TEST(BucketChange, WhatMadeAMessageSlowStays) {
  Gradients g = four_messages;
  g.slow = 150 * us;  // end after 800
  const Asked a(g);
  EXPECT_EQ(a.saved(200 * kb), 800 - (100 + 375 + 250));
}

TEST(BucketChange, MicroBatchesAreNotMerged) {
  Gradients g = {.messages = {100 * kb}};
  g.micro_batches = 2;
  const Asked a(g);
  EXPECT_EQ(find_gradient_traffic(a.inputs()).passes.size(), 2U);
  EXPECT_EQ(a.with(200 * kb).nodes, 0U);
}

TEST(BucketChange, SizesFarFromThoseMeasuredAreRefused) {
  const Asked a({.messages = {500 * kb, 500 * kb, 500 * kb, 500 * kb}});
  EXPECT_EQ(say(a.with(2 * kb).refused),
            "all_reduce of 2 KB is more than 4 times beyond what was measured (10 KB to 500 KB)");
  EXPECT_TRUE(a.with(3 * kb).refused.empty());
  EXPECT_TRUE(a.with(2000 * kb).refused.empty());
  const Asked b({.messages = {900 * kb, 900 * kb, 900 * kb, 900 * kb, 900 * kb}});
  EXPECT_FALSE(b.with(4000 * kb).refused.empty());
}

// Four messages of 100 KB take 150 µs each: 50 µs of latency and 100 of bytes, which one size does
// not separate.
TEST(BucketChange, OneSizeGivesBounds) {
  Gradients g = four_messages;
  g.probes = false;
  const Asked a(g);
  const BucketAnswer merged = a.with(200 * kb);
  EXPECT_TRUE(merged.refused.empty());
  EXPECT_EQ(a.replay.step - merged.step, Ns{-50 * us});  // 300 µs each: 100 to 700
  ASSERT_TRUE(merged.shortest);
  EXPECT_EQ(a.replay.step - *merged.shortest, Ns{250 * us});  // 150 µs each: 100 to 400
  ASSERT_EQ(merged.notes.size(), 1U);
  EXPECT_NE(say(merged.notes[0]).find("about one size (100 KB)"), std::string::npos);
  EXPECT_EQ(*a.with(100 * kb).shortest, a.replay.step);  // the recorded size
  EXPECT_EQ(a.with(100 * kb).step, a.replay.step);
  EXPECT_FALSE(search_buckets(a.inputs(), find_gradient_buckets(a.inputs()), 1));
  g.messages.back() = 200 * kb;  // two sizes are enough
  EXPECT_TRUE(Asked(g).with(200 * kb).refused.empty());
  EXPECT_FALSE(Asked(g).with(200 * kb).shortest);
}

// Probes of other sizes show the latency. Without them the step lies within the bounds.
TEST(BucketChange, TheBoundsHoldTheStepThatOtherSizesTell) {
  for (const std::vector<std::int64_t>& messages :
       {std::vector<std::int64_t>(4, 100 * kb), std::vector<std::int64_t>(7, 300 * kb),
        std::vector<std::int64_t>(2, 50 * kb)}) {
    for (const std::int64_t size : {20, 50, 70, 120, 200, 450, 600, 5000}) {
      for (const bool gradual : {false, true}) {
        Gradients g{.messages = messages, .gradual = gradual};
        const BucketAnswer known = Asked(g).with(size * kb);
        if (!known.refused.empty()) continue;  // beyond the measured sizes
        g.probes = false;
        const BucketAnswer bounds = Asked(g).with(size * kb);
        EXPECT_TRUE(bounds.refused.empty());
        ASSERT_TRUE(bounds.shortest);
        EXPECT_LE(*bounds.shortest, known.step) << size << " KB";
        EXPECT_GE(bounds.step, known.step) << size << " KB";
      }
    }
  }
}

// Reduce-scatters of one size, all-gathers of 10 and 400 KB on the same links.
TEST(BucketChange, AllGathersTellWhatReduceScattersOfOtherSizesTake) {
  Gradients g = four_messages;
  g.kernel = reduce_scatter_kernel;
  g.probe_kernel = all_gather_kernel;
  const Asked a(g);
  EXPECT_EQ(a.saved(200 * kb), 50);
  EXPECT_EQ(a.saved(400 * kb), 0);
  EXPECT_EQ(a.with(100 * kb).nodes, 0U);
  ASSERT_EQ(a.with(200 * kb).notes.size(), 1U);
  EXPECT_NE(say(a.with(200 * kb).notes[0]).find("all_gather"), std::string::npos);
  g.messages.back() = 200 * kb;  // with two sizes of its own it needs no others
  EXPECT_EQ(Asked(g).with(200 * kb).notes.size(), 0U);
  g.messages.back() = 100 * kb;
  g.probes = false;
  EXPECT_TRUE(Asked(g).with(200 * kb).shortest);
}

// A machine whose messages take twice as long: the ratio between sizes is the same.
TEST(BucketChange, ANamedMachineTellsWhatOtherSizesTake) {
  Gradients g = four_messages;
  g.probes = false;
  const Asked a(g);
  const MessageModel twice = [](const CollectiveMatches& matches, CollectiveKind kind,
                                std::uint32_t group, Bytes bytes) -> std::optional<double> {
    EXPECT_EQ(kind, CollectiveKind::all_reduce);
    EXPECT_LT(group, matches.groups.size());
    return 2.0 * (50.0 * us + static_cast<double>(bytes.value));
  };
  WhatIfInputs inputs = a.inputs();
  inputs.messages = &twice;
  const BucketAnswer answer = change_buckets(inputs, find_gradient_buckets(inputs), {200 * kb});
  EXPECT_TRUE(answer.refused.empty());
  EXPECT_EQ(a.replay.step - answer.step, Ns{50 * us});
  ASSERT_EQ(answer.notes.size(), 1U);
  EXPECT_NE(say(answer.notes[0]).find("machine"), std::string::npos);
  // A model without an answer.
  const MessageModel none = [](const CollectiveMatches&, CollectiveKind, std::uint32_t,
                               Bytes) -> std::optional<double> { return std::nullopt; };
  inputs.messages = &none;
  EXPECT_TRUE(change_buckets(inputs, find_gradient_buckets(inputs), {200 * kb}).shortest);
}

// The latency of another kind of collective does not apply.
TEST(BucketChange, AllReducesDoNotTellWhatReduceScattersTake) {
  Gradients g = four_messages;
  g.kernel = reduce_scatter_kernel;
  EXPECT_TRUE(Asked(g).with(200 * kb).shortest);
}

TEST(BucketSearch, FindsFewerLargerMessages) {
  Gradients g;
  g.messages.assign(20, 10 * kb);
  g.compute = 10 * us;
  const Asked a(g);
  const auto found = search_buckets(a.inputs(), find_gradient_buckets(a.inputs()), 1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->usual, Bytes{10 * kb});
  EXPECT_EQ(found->before, 20U);
  // Recorded: 10 + 20 × 60 = 1210. Two of 100 KB: 100 to 250, 250 to 400.
  EXPECT_EQ(found->best.scenario.size, Bytes{100 * kb});
  EXPECT_EQ(found->after, 2U);
  EXPECT_EQ(found->best.saved, Ns{(1210 - 400) * us});
}

TEST(BucketSearch, FindsSmallerMessagesThatBeginEarlier) {
  const Asked a({.messages = {400 * kb}, .compute = 1000 * us, .gradual = true});
  const auto found = search_buckets(a.inputs(), find_gradient_buckets(a.inputs()), 1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->usual, Bytes{400 * kb});
  // Recorded: end after 1450. Eight of 50 KB, one every 125 µs: the last from 1000 to 1100.
  EXPECT_EQ(found->best.scenario.size, Bytes{50 * kb});
  EXPECT_EQ(found->best.saved, Ns{350 * us});
}

TEST(BucketSearch, FindsNothingWhereCommunicationIsHidden) {
  Gradients g = four_messages;
  g.compute = 2000 * us;
  g.messages.back() = 10 * kb;
  const Asked a(g);
  const auto found = search_buckets(a.inputs(), find_gradient_buckets(a.inputs()), 1);
  EXPECT_TRUE(!found || found->best.saved < a.replay.step / 100);
}

}  // namespace
}  // namespace stepscope
