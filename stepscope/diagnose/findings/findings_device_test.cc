// SPDX-License-Identifier: Apache-2.0
// Advice and gains that depend on the device, on first calls and on what was recorded.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "stepscope/diagnose/analysis_test_builder.h"
#include "stepscope/diagnose/findings/finding_list.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

using enum BudgetCategory;

// One rank, a step of 100 ms in which the device waits 40 ms for its host.
struct SlowHost : TestReport {
  SlowHost() : TestReport({{{compute, 60}, {idle_host, 40}}}) {
    const std::vector<std::int64_t> walls = {100'000'000};
    job.steps.summary = summarize(walls);
    job.explanation.emplace().step = Ns{100'000'000};
    job.explanation->path.steps = 1;
    rank(0).host.launches = 10;
    rank(0).host.starved = Ns{40'000'000};
  }
  void saves(Change change, std::int64_t ms) {
    WhatIf& w = job.explanation->what_ifs.emplace_back();
    w.scenario.change = change;
    w.saved = Ns{ms * 1'000'000};
  }
  [[nodiscard]] Finding found(std::string_view id) const {
    for (Finding& f : find_findings({.job = job}))
      if (f.id == id) return std::move(f);
    ADD_FAILURE() << "no " << id;
    return {};
  }
};

bool says(const std::string& text, std::string_view what) {
  return text.find(what) != std::string::npos;
}

TEST(LaunchBound, CostsNoMoreThanTheDeviceIsWithoutWork) {
  SlowHost t;
  t.saves(Change::host_free, 55);
  EXPECT_EQ(t.found("launch_bound").gain, Ns{40'000'000});
}

TEST(LaunchBound, GraphsAreAdvisedOnDevicesThatHaveThem) {
  SlowHost t;
  t.saves(Change::host_free, 30);
  EXPECT_TRUE(says(say(t.found("launch_bound").advice), "CUDA graphs"));
  t.rank(0).device.kind = "mtia";
  EXPECT_FALSE(says(say(t.found("launch_bound").advice), "CUDA graphs"));
}

TEST(LaunchBound, FirstCallsWantAWarmUp) {
  SlowHost t;
  t.saves(Change::host_free, 30);
  t.gap(idle_host, 15'000'000, "cudaLaunchKernel");
  t.rank(0).recording.start_up.idle = Ns{12'000'000};
  EXPECT_TRUE(says(say(t.found("launch_bound").advice), "warm-up"));
  t.rank(0).device.idle.front().total = Ns{40'000'000};  // most of the time passes elsewhere
  EXPECT_FALSE(says(say(t.found("launch_bound").advice), "warm-up"));
}

// Two ranks of two groups of tensor parallelism, 3 and 5 ms of exposed all-reduces.
TEST(ExposedCommunication, IsTheMeanOverTheRanks) {
  TestReport t(
      {{{compute, 97}, {comm_exposed_transfer, 3}}, {{compute, 95}, {comm_exposed_transfer, 5}}});
  for (const int ms : {3, 5}) {
    const Ns exposed{ms * 1'000'000};
    t.job.collectives.exposed.push_back({exposed});
    t.job.collectives.times.by_view.emplace_back(1);
    CollectiveCall& call = t.job.collectives.matches.ranks.emplace_back().calls.emplace_back();
    call.kind = CollectiveKind::all_reduce;
    call.step = 0;
    CollectiveRow& row = t.job.collectives.rows.emplace_back();
    row.kind = CollectiveKind::all_reduce;
    row.dimension = Dimension::tp;
    row.exposed = exposed;
  }
  t.job.explanation.emplace().step = Ns{100'000'000};
  WhatIf& w = t.job.explanation->what_ifs.emplace_back();
  w.scenario = {.change = Change::communication_free, .kind = CollectiveKind::all_reduce};
  w.saved = Ns{4'000'000};
  const std::vector<Finding> findings = find_findings({.job = t.job});
  const auto f = std::ranges::find(findings, "exposed_communication", &Finding::id);
  ASSERT_NE(f, findings.end());
  EXPECT_EQ(say(f->evidence.front()), "4.00 ms a step exposed, mean over the ranks");
  EXPECT_TRUE(says(say(f->advice), "tensor-parallel")) << say(f->advice);
}

TEST(Fusion, OfKernelsThatWereNotRecordedNothingIsSaid) {
  SlowHost t;
  t.record_everything();
  t.job.explanation->path.shares = {{.label = "elementwise", .time = Ns{50'000'000}}};
  EXPECT_EQ(t.found("memory_bound").gain, Ns{25'000'000});
  t.rank(0).recording.device_rows = 0;
  t.rank(0).recording.lost_launches = 3;
  const std::vector<Finding> findings = find_findings({.job = t.job});
  EXPECT_EQ(std::ranges::count(findings, "memory_bound", &Finding::id), 0);
}

// A tenth of the products' time has FLOPs, at half of what is good: nothing is known of the rest.
TEST(SlowProducts, GainOnlyWhereTheirFlopsAreKnown) {
  SlowHost t;
  t.record_everything();
  Machine machine;
  machine.peak_rates[static_cast<std::size_t>(Dtype::bf16)] = FlopRate{1e15};
  OperatorRow& product = t.rank(0).work.operators.emplace_back();
  product.name = t.name("aten::mm");
  product.kind = NameClass::matmul;
  product.precision = OperandFormat::bf16;
  product.device = Ns{10'000'000};
  product.flops = Flops{0.35e15 * 0.01};
  t.kernel("gemm", NameClass::matmul, 0.9).total = Ns{100'000'000};
  t.job.explanation->path.shares = {{.label = "matmul", .time = Ns{50'000'000}}};
  const auto found = [&] {
    const std::vector<Finding> findings = find_findings({.job = t.job, .machine = &machine});
    return *std::ranges::find(findings, "low_matmul_efficiency", &Finding::id);
  };
  EXPECT_EQ(found().gain, Ns{2'500'000});
  EXPECT_TRUE(
      says(say(found().evidence.front()),
           "100.0 % of the products' device time whose FLOPs are known (10.0 % of all) is"));
  EXPECT_EQ(say(found().bounded_by),
            "products on the critical path whose FLOPs are known (10.0 % of them) at 70 % of the "
            "peak");
  t.rank(0).work.kernels.kernels.front().total = Ns{10'000'000};
  EXPECT_EQ(found().gain, Ns{25'000'000});
  EXPECT_TRUE(says(say(found().evidence.front()), "of the products' device time is below"));
}

TEST(Precision, OfFewProductsIsNotThatOfAll) {
  SlowHost t;
  t.record_everything();
  OperatorRow& product = t.rank(0).work.operators.emplace_back();
  product.kind = NameClass::matmul;
  product.precision = OperandFormat::fp32;
  product.device = Ns{5'000'000};
  t.kernel("gemm", NameClass::matmul, 0.9).total = Ns{50'000'000};
  t.job.explanation->path.shares = {{.label = "matmul", .time = Ns{50'000'000}}};
  const std::vector<Finding> findings = find_findings({.job = t.job});
  EXPECT_EQ(std::ranges::count(findings, "fp32_matmuls", &Finding::id), 0);
}

TEST(Precision, NoneIsAdvisedThatTheDeviceLacks) {
  SlowHost t;
  t.record_everything();
  OperatorRow& product = t.rank(0).work.operators.emplace_back();
  product.kind = NameClass::matmul;
  product.precision = OperandFormat::fp32;
  product.device = Ns{50'000'000};
  t.job.explanation->path.shares = {{.label = "matmul", .time = Ns{50'000'000}}};
  EXPECT_TRUE(says(say(t.found("fp32_matmuls").advice), "TF32"));
  t.rank(0).device.name = "Tesla V100-PCIE-32GB";
  EXPECT_EQ(say(t.found("fp32_matmuls").advice),
            "Autocast to fp16 with loss scaling; keep fp32 for sums, norms and the loss");
}

TEST(SharedDevice, TheToolOfTheDeviceListsItsProcesses) {
  SlowHost t;
  t.saves(Change::device_alone, 20);
  t.job.explanation->held = {{.rank = 0, .count = 24, .slice = Ns{2'000'000}}};
  EXPECT_TRUE(says(say(t.found("device_shared").advice), "(nvidia-smi)"));
  t.rank(0).device.kind = "rocm";
  EXPECT_TRUE(says(say(t.found("device_shared").advice), "(rocm-smi --showpids)"));
}

TEST(ShortCapture, AWindowIsNoStep) {
  SlowHost t;
  EXPECT_EQ(say(t.found("too_few_steps").what), "Only 1 step is recorded");
  t.rank(0).steps.front().name = "window";
  EXPECT_EQ(say(t.found("too_few_steps").what),
            "No step with work is marked: the whole recorded window counts as one");
}

TEST(Retries, GiveBackNoMoreThanAFreeAllocator) {
  SlowHost t;
  t.rank(0).host.retries = {.count = 2, .frees = 7, .total = Ns{30'000'000}};
  EXPECT_EQ(t.found("allocation_retries").gain, Ns{30'000'000});
  EXPECT_EQ(say(t.found("allocation_retries").bounded_by), "those calls");
  t.saves(Change::allocator_free, 12);
  EXPECT_EQ(t.found("allocation_retries").change, "allocator_free");  // as the verdict's
  EXPECT_EQ(t.found("allocation_retries").gain, Ns{12'000'000});
}

}  // namespace
}  // namespace stepscope
