// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/collectives/collectives.h"

#include <gtest/gtest.h>

#include "stepscope/analysis/runs/job_test_builder.h"
#include "stepscope/analysis/steps/trace_test_builder.h"
#include "stepscope/analysis/work/work_test_builder.h"

namespace stepscope {
namespace {

using Kind = CollectiveKind;

TEST(Collectives, ARowSumsTheInstancesOfOneNameGroupAndSize) {
  std::vector<TestRank> ranks(2);
  for (int i = 0; i < 3; ++i) {
    const std::int64_t t = 1000 * i;
    ranks[0].all_reduce(t, t + 500, {.elements = 250, .seq = i});
    ranks[1].all_reduce(t + 400, t + 500, {.elements = 250, .seq = i});
  }
  ranks[0].all_reduce(5000, 5100, {.elements = 7, .seq = 3});
  ranks[1].all_reduce(5000, 5100, {.elements = 7, .seq = 3});
  const TestJob job(std::move(ranks));
  const Collectives found = analyze_collectives(job.views());
  ASSERT_EQ(found.rows.size(), 2U);
  const CollectiveRow& row = found.rows[0];
  EXPECT_EQ(row.kind, Kind::all_reduce);
  EXPECT_EQ(row.group, "0");
  EXPECT_EQ(row.group_size, 2);
  EXPECT_EQ(row.count, 3U);
  EXPECT_EQ(row.matched, 3U);
  EXPECT_EQ(row.bytes, Bytes{1000});
  EXPECT_EQ(row.transfer, Ns{300});
  EXPECT_EQ(row.wait, Ns{1200});
  EXPECT_EQ(row.duration, Ns{900});  // medians of 500 and 100
  EXPECT_EQ(row.exposed, Ns{900});   // mean of 1500 and 300
  EXPECT_EQ(row.skew, Ns{400});
  EXPECT_EQ(row.last_rank, 1);
  EXPECT_DOUBLE_EQ(*row.last_rank_share, 1.0);
  EXPECT_EQ(row.clock_uncertainty, Ns{0});
  EXPECT_DOUBLE_EQ(row.algbw->value, 1000 / 100e-9);
  EXPECT_DOUBLE_EQ(row.busbw->value, row.algbw->value);  // factor 2(n-1)/n is 1 for two ranks
}

TEST(Collectives, AGathersSizeIsTheOutput) {
  std::vector<TestRank> ranks(2);
  for (TestRank& rank : ranks) {
    rank.comm(all_gather_kernel, 0, 100,
              {.name = "_allgather_base", .elements = 100, .out = 200, .seq = 1});
  }
  const TestJob job(std::move(ranks));
  const Collectives found = analyze_collectives(job.views());
  ASSERT_EQ(found.rows.size(), 1U);
  EXPECT_EQ(found.rows[0].bytes, Bytes{800});
  EXPECT_DOUBLE_EQ(found.rows[0].busbw->value, 800 / 100e-9 / 2);
}

TEST(Collectives, ExposedIsWhatNoComputeHides) {
  std::vector<TestRank> ranks(2);
  for (TestRank& rank : ranks) {
    rank.all_reduce(100, 200, {.seq = 1});
    rank.rows().kernel("gemm", 50, 130);
    rank.rows().kernel("gemm", 120, 150);
    rank.rows().kernel("gemm", 190, 400);
  }
  const TestJob job(std::move(ranks));
  const Collectives found = analyze_collectives(job.views());
  EXPECT_EQ(found.exposed[0], std::vector<Ns>{Ns{40}});
  EXPECT_EQ(found.rows[0].exposed, Ns{40});
}

TEST(Collectives, CallsThatForwardMakesTooSumActivations) {
  std::vector<TestRank> ranks(2);
  struct Call {
    std::uint32_t number;
    std::int64_t launched, elements;
  };
  for (TestRank& rank : ranks)
    for (const Call c : {Call{1, 100, 64}, Call{2, 600, 64}, Call{3, 800, 128}}) {
      rank.rows().launch(c.number, c.launched, c.launched + 5);
      rank.annotate(rank.comm(all_reduce_kernel, c.launched + 10, c.launched + 60, c.number),
                    {.name = "allreduce", .elements = c.elements, .seq = c.number});
    }
  const TestJob job(std::move(ranks));
  const Collectives found = analyze_collectives(job.views());
  std::vector<HostPhases> phases(2);
  for (HostPhases& p : phases) {
    p.threads.resize(job.views().front().trace->tracks.size());
    p.host = {{Ns{0}, Ns{300}, Phase::forward}, {Ns{300}, Ns{1000}, Phase::backward}};
  }
  const auto activations = find_activations(job.views(), found.matches, phases);
  ASSERT_EQ(activations.size(), 1U);
  EXPECT_EQ(std::get<2>(*activations.begin()), found.matches.ranks[0].calls[0].bytes->value);
}

TEST(Collectives, WithoutComparableClocksThereIsNoWaitAndNoBandwidth) {
  std::vector<TestRank> ranks;
  ranks.emplace_back(Clock::relative);
  ranks.emplace_back(Clock::relative);
  ranks[0].all_reduce(0, 100);
  ranks[0].all_reduce(200, 300);
  ranks[1].all_reduce(0, 140);
  const TestJob job(std::move(ranks));
  const Collectives found = analyze_collectives(job.views());
  ASSERT_EQ(found.rows.size(), 1U);
  EXPECT_EQ(found.rows[0].count, 2U);
  EXPECT_EQ(found.rows[0].matched, 0U);
  EXPECT_EQ(found.rows[0].duration, Ns{170});
  EXPECT_FALSE(found.rows[0].wait);
  EXPECT_FALSE(found.rows[0].transfer);
  EXPECT_FALSE(found.rows[0].algbw);
  EXPECT_FALSE(found.rows[0].last_rank);
  EXPECT_FALSE(found.dimensions.at(0).wait);
}

TEST(Collectives, GroupsOfOneDescriptionShareARow) {
  std::vector<TestRank> ranks(4);
  for (std::size_t r = 0; r < 4; ++r) {
    ranks[r].all_reduce(0, 100,
                        {.group = r < 2 ? "3" : "4",
                         .ranks = r < 2 ? "[0, 1]" : "[2, 3]",
                         .seq = 1,
                         .description = "mesh_tp"});
  }
  const TestJob job(std::move(ranks));
  const Collectives found = analyze_collectives(job.views());
  ASSERT_EQ(found.rows.size(), 1U);
  EXPECT_EQ(found.rows[0].group, "mesh_tp");
  EXPECT_EQ(found.rows[0].dimension, Dimension::tp);
  EXPECT_EQ(found.rows[0].count, 2U);
  ASSERT_EQ(found.rows[0].groups.size(), 2U);
  EXPECT_EQ(found.matches.groups[found.rows[0].groups[0]].ranks, (std::vector{0, 1}));
  EXPECT_EQ(found.matches.groups[found.rows[0].groups[1]].ranks, (std::vector{2, 3}));
  ASSERT_EQ(found.dimensions.size(), 1U);
  EXPECT_EQ(found.dimensions[0].bytes, Bytes{8000});
}

TEST(Collectives, MessagesOfOneFusedKernelShareItsExposedTime) {
  std::vector<TestRank> ranks(2);
  for (int r = 0; r < 2; ++r) {
    TestRank& rank = ranks[static_cast<std::size_t>(r)];
    TraceBuilder& rows = rank.rows();
    const auto message = [&](std::int64_t start, const TestMeta& meta) {
      rank.annotate(
          rows.row(rows.thread(1), Category::cpu_op, "record_param_comms", start, start + 5), meta);
    };
    message(10, {.name = "send", .elements = 100, .dst = 1 - r});
    message(20, {.name = "recv", .elements = 100, .src = 1 - r});
    rows.launch(9, 30, 32);
    rank.comm(send_recv_kernel, 100 + 50 * r, 200, 9);
  }
  const TestJob job(std::move(ranks));
  const Collectives found = analyze_collectives(job.views());
  ASSERT_EQ(found.rows.size(), 1U);
  EXPECT_EQ(found.rows[0].kind, Kind::send_recv);
  EXPECT_EQ(found.rows[0].count, 2U);
  EXPECT_EQ(found.rows[0].matched, 2U);
  EXPECT_EQ(found.rows[0].exposed, Ns{75});
  EXPECT_EQ(found.rows[0].wait, Ns{50}) << "of rank 0, once";
  EXPECT_EQ(found.rows[0].transfer, Ns{50}) << "the kernel moves both";
  EXPECT_EQ(found.rows[0].duration, Ns{76}) << "medians of 50 and 25, rounded, for each";
  EXPECT_EQ(found.splits[0].spans.at(0).transfer_start, Ns{150});
  EXPECT_EQ(found.rows[0].dtype, "Float");
  EXPECT_EQ(found.rows[0].bytes, Bytes{400}) << "each";
  EXPECT_DOUBLE_EQ(found.rows[0].busbw->value, 400 / 50e-9);
}

TEST(Collectives, OfUnequalMessagesBetweenTwoRanksTheSizeIsNotGuessed) {
  std::vector<TestRank> ranks(2);
  for (int r = 0; r < 2; ++r) {
    TestRank& rank = ranks[static_cast<std::size_t>(r)];
    TraceBuilder& rows = rank.rows();
    const auto message = [&](std::int64_t start, const TestMeta& meta) {
      rank.annotate(
          rows.row(rows.thread(1), Category::cpu_op, "record_param_comms", start, start + 5), meta);
    };
    message(10, {.name = "send", .elements = r == 0 ? 100 : 7, .dst = 1 - r});
    message(20, {.name = "recv", .elements = r == 0 ? 7 : 100, .src = 1 - r});
    rows.launch(9, 30, 32);
    rank.comm(send_recv_kernel, 100, 200, 9);
  }
  const TestJob job(std::move(ranks));
  const Collectives found = analyze_collectives(job.views());
  ASSERT_EQ(found.rows.size(), 1U);
  EXPECT_EQ(found.rows[0].matched, 2U);
  EXPECT_FALSE(found.rows[0].bytes);
}

TEST(Collectives, ScatteredSizesOfAnExchangeShareRows) {
  std::vector<TestRank> ranks(2);
  for (TestRank& rank : ranks) {
    for (int i = 0; i < 60; ++i) {
      rank.comm(send_recv_kernel, 100 * i, 100 * i + 50,
                {.name = "all_to_all", .elements = 1024 + i, .seq = i});
    }
  }
  const TestJob job(std::move(ranks));
  const Collectives found = analyze_collectives(job.views());
  ASSERT_EQ(found.rows.size(), 1U);
  EXPECT_EQ(found.rows[0].count, 60U);
  EXPECT_EQ(found.rows[0].bytes, Bytes{4 * 1024 + 4 * 59 / 2});
}

TEST(Collectives, OnACpuOnlyOperatorsOfTheMainThreadHideCommunication) {
  std::vector<TestRank> ranks(1);
  TraceBuilder& rows = ranks[0].rows();
  rows.step("ProfilerStep#0", 0, 1000);
  rows.op("aten::linear", 100, 400);
  rows.op("aten::addmm", 150, 350);       // part of the operator around it
  rows.op("c10d::allreduce_", 500, 900);  // blocked: hides nothing
  rows.op("aten::copy_", 600, 700);
  rows.row(rows.thread(2), Category::user_annotation, "gloo:all_reduce", 200, 900);
  const TestJob job(std::move(ranks));
  const Collectives found = analyze_collectives(job.views());
  ASSERT_EQ(found.exposed[0].size(), 1U);
  EXPECT_EQ(found.exposed[0][0], Ns{700 - 200}) << "what computes is what the time budget says";
}

constexpr std::string_view gemm = "ampere_bf16_s16816gemm_128x128";
constexpr std::string_view add = "void at::native::vectorized_elementwise_kernel<4, Add>()";
constexpr std::string_view all_reduce = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL()";

struct Account {
  std::vector<ClassTime> classes;
  TimeBudget budget;
};

Account account(Trace trace, std::vector<Step> steps, const std::vector<Dimension>& groups = {}) {
  const RankIndex rank = index_rank(trace);
  const HostPhases phases = host_phases(trace, rank, steps);
  RankCalls calls = find_collective_calls({0, &trace, &rank, steps});
  for (std::size_t i = 0; i < calls.calls.size() && i < groups.size(); ++i)
    calls.calls[i].group = static_cast<std::uint32_t>(i);
  CommSplit split;
  for (std::size_t i = 0; i < calls.calls.size(); i += 2)  // every other call waits for 10 ns
    split.spans.push_back({calls.calls[i].slice, calls.calls[i].start + Ns{10}, true});
  Account a;
  a.budget = time_budget(trace, rank, steps, split);
  a.classes = class_times(trace, {.rank = rank,
                                  .steps = steps,
                                  .phases = phases,
                                  .split = split,
                                  .calls = calls,
                                  .dimensions = groups,
                                  .budget = a.budget});
  return a;
}

Ns of(const ClassTime& time, NameClass c) { return time.compute[static_cast<std::size_t>(c)]; }
template <class Array>
Ns of(const Array& array, Dimension d) {
  return array[static_cast<std::size_t>(d)];
}

TEST(ClassTime, CountsEachInstantOnceMatmulFirst) {
  TraceBuilder builder;
  builder.kernel(gemm, 100, 200);
  builder.row(builder.stream(0, 8), Category::kernel, add, 150, 260);
  builder.row(builder.stream(0, 9), Category::memcpy, "Memcpy HtoD", 180, 300);
  const Account a = account(builder.sealed(), {step(100, 220), step(220, 400)});
  ASSERT_EQ(a.classes.size(), 2U);
  EXPECT_EQ(of(a.classes[0], NameClass::matmul), Ns{100});
  EXPECT_EQ(of(a.classes[0], NameClass::elementwise), Ns{20});
  EXPECT_EQ(of(a.classes[1], NameClass::elementwise), Ns{40});
  EXPECT_EQ(a.budget.rank().steps[0][BudgetCategory::compute], Ns{120});
  EXPECT_EQ(a.budget.rank().steps[1][BudgetCategory::copy_exposed], Ns{40});
}

TEST(ClassTime, GivesExposedCommunicationToItsDimension) {
  TraceBuilder builder;
  builder.kernel(gemm, 100, 150);
  builder.row(builder.stream(0, 20), Category::kernel, all_reduce, 140, 200);
  builder.row(builder.stream(0, 21), Category::kernel, all_reduce, 190, 260);
  builder.row(builder.stream(0, 22), Category::kernel, all_reduce, 300, 340);
  const Account a =
      account(builder.sealed(), {step(100, 400)}, {Dimension::tp, Dimension::dp, Dimension::pp});
  const ClassTime& time = a.classes.at(0);
  EXPECT_EQ(of(time, NameClass::matmul), Ns{50});
  EXPECT_EQ(of(time.wait, Dimension::tp), Ns{0});       // [140, 150) is during the product
  EXPECT_EQ(of(time.transfer, Dimension::tp), Ns{50});  // [150, 200)
  EXPECT_EQ(of(time.unsplit, Dimension::dp), Ns{60});   // [200, 260): before, tp transfers
  EXPECT_EQ(of(time.wait, Dimension::pp), Ns{10});
  EXPECT_EQ(of(time.transfer, Dimension::pp), Ns{30});
}

TEST(ClassTime, WhatTheOptimizerLaunchesIsTheOptimizers) {
  TraceBuilder builder;
  builder.row(builder.thread(1), Category::user_annotation, "Optimizer.step#AdamW.step", 100, 140);
  builder.launch(1, 110, 112);
  builder.kernel(add, 200, 230, 1);
  builder.launch(2, 150, 152);
  builder.kernel(add, 240, 260, 2);
  const Account a = account(builder.sealed(), {step(100, 400)});
  EXPECT_EQ(of(a.classes.at(0), NameClass::optimizer), Ns{30});
  EXPECT_EQ(of(a.classes.at(0), NameClass::elementwise), Ns{20});
}

TEST(ClassTime, IsEmptyWithoutADevice) {
  TraceBuilder builder;
  builder.op("aten::mm", 100, 200);
  EXPECT_TRUE(account(builder.sealed(), {step(100, 400)}).classes.empty());
}

}  // namespace

}  // namespace stepscope
