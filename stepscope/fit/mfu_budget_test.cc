// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/mfu_budget.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "stepscope/say/say.h"

namespace stepscope {
namespace {

using std::chrono::milliseconds;

// 100 TFLOP/s in bf16, 200 in fp8: a device does 1e11 bf16 FLOPs in a millisecond.
Machine mfu_box() {
  Machine m;
  m.name = "Box";
  m.peak_rates[index(Dtype::bf16)] = FlopRate{100e12};
  m.peak_rates[index(Dtype::fp8)] = FlopRate{200e12};
  return m;
}
const Machine box_machine = mfu_box();

Flops ms_of_bf16(double ms) { return Flops{ms * 1e11}; }

// One step of 100 ms: 60 compute, 10 overlapped, the rest losses.
MfuRank typical_rank() {
  MfuRank rank{.rank = 0, .steps = 1, .budget = {}, .work = {}, .pipeline_receive_wait = {}};
  rank.budget[BudgetCategory::compute] = milliseconds(60);
  rank.budget[BudgetCategory::comm_overlapped] = milliseconds(10);
  rank.budget[BudgetCategory::comm_exposed_transfer] = milliseconds(8);
  rank.budget[BudgetCategory::comm_exposed_wait] = milliseconds(7);
  rank.budget[BudgetCategory::copy_exposed] = milliseconds(1);
  rank.budget[BudgetCategory::idle_host] = milliseconds(12);
  rank.budget[BudgetCategory::idle_unexplained] = milliseconds(2);
  rank.work = ComputeWork{.known = {{.dtype = Dtype::bf16,
                                     .flops = ms_of_bf16(40),
                                     .busy = milliseconds(50),
                                     .recompute = ms_of_bf16(4)}},
                          .unknown_busy = {},
                          .contention = {}};
  return rank;
}

MfuQuestion typical_question() {
  return {.world_size = 1,
          .model = ModelFlops{"causal attention halved", ms_of_bf16(35)},
          .other_conventions = {},
          .gpu_name = "Box",
          .machine = &box_machine,
          .peak = {},
          .dtype = {},
          .price_per_gpu_hour = {}};
}

MfuBudget budget_of(std::span<const MfuRank> ranks, const MfuQuestion& question) {
  Result<MfuBudget> result = mfu_budget(ranks, question);
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().message());
  return result ? *std::move(result) : MfuBudget{};
}
MfuBudget budget_of(const MfuRank& rank, const MfuQuestion& question) {
  return budget_of(std::span(&rank, 1), question);
}

// In percent; NaN for an absent term.
double percent(const MfuBudget& b, MfuTerm term) {
  for (const MfuShare& s : b.terms) {
    if (s.term == term) return s.percent;
  }
  return std::nan("");
}

void expect_closed(const MfuBudget& b) {
  double percent_sum = 0;
  Ns time{};
  for (const MfuShare& s : b.terms) {
    percent_sum += s.percent;
    time += s.time;
  }
  EXPECT_NEAR(percent_sum, 100, 1e-9);
  EXPECT_EQ(time, b.step);
}

bool warns(const MfuBudget& b, std::string_view text) {
  return std::any_of(b.warnings.begin(), b.warnings.end(),
                     [&](const Message& w) { return say(w).find(text) != std::string::npos; });
}

TEST(MfuBudget, SaysWhereEveryPercentGoes) {
  const MfuBudget b = budget_of(typical_rank(), typical_question());
  EXPECT_EQ(b.step, milliseconds(100));
  EXPECT_NEAR(*b.mfu, 0.35, 1e-12);
  EXPECT_NEAR(*b.hfu, 0.40, 1e-12);
  EXPECT_NEAR(percent(b, MfuTerm::mfu), 35, 1e-9);
  EXPECT_NEAR(percent(b, MfuTerm::recompute), 4, 1e-9);
  EXPECT_NEAR(percent(b, MfuTerm::beyond_model), 1, 1e-9) << "the trace shows no cause";
  EXPECT_NEAR(percent(b, MfuTerm::kernel_inefficiency), 10, 1e-9);
  EXPECT_NEAR(percent(b, MfuTerm::memory_bound_compute), 20, 1e-9);
  EXPECT_NEAR(percent(b, MfuTerm::compute_unattributed), 0, 1e-9);
  EXPECT_NEAR(percent(b, MfuTerm::exposed_transfer), 8, 1e-9);
  EXPECT_NEAR(percent(b, MfuTerm::exposed_wait), 7, 1e-9);
  EXPECT_NEAR(percent(b, MfuTerm::exposed_copy), 1, 1e-9);
  EXPECT_NEAR(percent(b, MfuTerm::idle_host), 12, 1e-9);
  EXPECT_NEAR(percent(b, MfuTerm::idle_unexplained), 2, 1e-9);
  expect_closed(b);
  EXPECT_TRUE(b.warnings.empty());
  EXPECT_EQ(b.convention, "causal attention halved");
  EXPECT_EQ(b.peak_source, "Box, bf16 dense");
}

TEST(MfuBudget, DividesTheJobsModelFlopsByTheWorld) {
  MfuQuestion q = typical_question();
  q.world_size = 8;
  q.model->per_step = ms_of_bf16(35 * 8);
  const std::vector<MfuRank> ranks(8, typical_rank());
  const MfuBudget b = budget_of(ranks, q);
  EXPECT_NEAR(*b.mfu, 0.35, 1e-12);
  EXPECT_NEAR(b.executed_flops_per_step->value, ms_of_bf16(40 * 8).value, 1);
  EXPECT_FALSE(warns(b, "traced"));
  EXPECT_TRUE(warns(budget_of(std::span(ranks).first(2), q), "2 of 8 ranks were traced"));
}

TEST(MfuBudget, TakesMeansOverRanksAndTheirSteps) {
  MfuRank slow = typical_rank();
  slow.steps = 3;
  for (Ns& t : slow.budget.time) t *= 6;  // three steps of 200 ms
  for (MatmulWork& w : slow.work->known) w.flops = w.flops * 3.0, w.busy *= 3;
  MfuQuestion q = typical_question();
  q.world_size = 2;
  q.model->per_step = ms_of_bf16(70);
  const MfuBudget b = budget_of(std::vector{typical_rank(), slow}, q);
  EXPECT_EQ(b.step, milliseconds(175));
  EXPECT_NEAR(*b.mfu, 35.0 / 175, 1e-12);
  EXPECT_NEAR(*b.hfu, 40.0 / 175, 1e-12);
  expect_closed(b);
}

TEST(MfuBudget, WithoutModelFlopsHasNoMfu) {
  MfuQuestion q = typical_question();
  q.model.reset();
  const MfuBudget b = budget_of(typical_rank(), q);
  EXPECT_FALSE(b.mfu);
  EXPECT_NEAR(*b.hfu, 0.40, 1e-12);
  EXPECT_TRUE(std::isnan(percent(b, MfuTerm::mfu)));
  EXPECT_TRUE(std::isnan(percent(b, MfuTerm::recompute)));
  EXPECT_NEAR(percent(b, MfuTerm::executed_at_peak), 40, 1e-9);
  EXPECT_NEAR(percent(b, MfuTerm::compute_unattributed), 0, 1e-9);
  EXPECT_NEAR(percent(b, MfuTerm::kernel_inefficiency), 10, 1e-9);
  EXPECT_TRUE(warns(b, "--model-flops-per-step"));
  expect_closed(b);
}

TEST(MfuBudget, WithoutShapesLeavesComputeUnattributed) {
  MfuRank rank = typical_rank();
  rank.work.reset();
  const MfuBudget b = budget_of(rank, typical_question());
  EXPECT_FALSE(b.hfu);
  EXPECT_FALSE(b.executed_flops_per_step);
  EXPECT_NEAR(percent(b, MfuTerm::mfu), 35, 1e-9);
  EXPECT_NEAR(percent(b, MfuTerm::compute_unattributed), 35, 1e-9);
  EXPECT_TRUE(std::isnan(percent(b, MfuTerm::kernel_inefficiency)));
  EXPECT_TRUE(warns(b, "record_shapes=True"));
  EXPECT_TRUE(warns(b, "bf16 peak is taken"));
  expect_closed(b);
}

TEST(MfuBudget, RecomputeIsAtMostWhatIsExecutedBeyondTheModel) {
  MfuRank rank = typical_rank();
  rank.work->known.front().recompute = ms_of_bf16(12);  // a model that counts some of it
  const MfuBudget b = budget_of(rank, typical_question());
  EXPECT_NEAR(percent(b, MfuTerm::recompute), 5, 1e-9);
  EXPECT_NEAR(percent(b, MfuTerm::beyond_model), 0, 1e-9);
}

TEST(MfuBudget, ShowsModelFlopsThatFitNowhereAndSaysSo) {
  MfuQuestion q = typical_question();
  q.model->per_step = ms_of_bf16(46);
  const MfuBudget b = budget_of(typical_rank(), q);
  EXPECT_NEAR(percent(b, MfuTerm::beyond_model), -6, 1e-9);
  EXPECT_NEAR(percent(b, MfuTerm::mfu), 46, 1e-9);
  EXPECT_TRUE(warns(b, "flops_mismatch"));
  expect_closed(b);
}

// Kernels of unknown class are neither memory-bound nor known to be products.
TEST(MfuBudget, LeavesKernelsOfUnknownClassUnattributed) {
  const MfuBudget plain = budget_of(typical_rank(), typical_question());
  MfuRank rank = typical_rank();
  rank.work->unclassed_busy = milliseconds(4);
  const MfuBudget b = budget_of(rank, typical_question());
  const double moved =
      percent(plain, MfuTerm::memory_bound_compute) - percent(b, MfuTerm::memory_bound_compute);
  EXPECT_GT(moved, 0);
  EXPECT_NEAR(percent(b, MfuTerm::compute_unattributed) + percent(b, MfuTerm::beyond_model) -
                  percent(plain, MfuTerm::compute_unattributed) -
                  percent(plain, MfuTerm::beyond_model),
              moved, 1e-9);
  EXPECT_FALSE(warns(b, "of the time of matrix products"));
  expect_closed(b);
}

TEST(MfuBudget, SeeksMissingFlopsInTheWorkWithoutShapesFirst) {
  MfuRank rank = typical_rank();
  rank.work->unknown_busy = milliseconds(10);
  MfuQuestion q = typical_question();
  q.model->per_step = ms_of_bf16(46);
  const MfuBudget b = budget_of(rank, q);
  EXPECT_NEAR(percent(b, MfuTerm::recompute), 0, 1e-9);
  EXPECT_NEAR(percent(b, MfuTerm::compute_unattributed), 4, 1e-9);
  EXPECT_NEAR(percent(b, MfuTerm::memory_bound_compute), 10, 1e-9);
  EXPECT_FALSE(warns(b, "flops_mismatch"));
  EXPECT_TRUE(warns(b, "16.7 % of the time of matrix products"));
  expect_closed(b);
}

TEST(MfuBudget, WithoutShapesModelFlopsBeyondTheComputeTimeAreAMismatch) {
  MfuRank rank = typical_rank();
  rank.work.reset();
  MfuQuestion q = typical_question();
  q.model->per_step = ms_of_bf16(90);
  const MfuBudget b = budget_of(rank, q);
  EXPECT_NEAR(percent(b, MfuTerm::beyond_model), -20, 1e-9);
  EXPECT_TRUE(warns(b, "flops_mismatch"));
  expect_closed(b);
}

TEST(MfuBudget, MatmulsFasterThanThePeakAreAMismatch) {
  MfuRank rank = typical_rank();
  rank.work->known[0].flops = ms_of_bf16(55);
  const MfuBudget b = budget_of(rank, typical_question());
  EXPECT_NEAR(percent(b, MfuTerm::kernel_inefficiency), -5, 1e-9);
  EXPECT_TRUE(warns(b, "faster than the peak"));
  expect_closed(b);
}

TEST(MfuBudget, WeighsSeveralFormatsByTheirTimeAtPeak) {
  MfuRank rank = typical_rank();
  rank.work->known = {{.dtype = Dtype::bf16, .flops = Flops{1e12}, .busy = milliseconds(20)},
                      {.dtype = Dtype::fp8, .flops = Flops{3e12}, .busy = milliseconds(30)}};
  const MfuBudget b = budget_of(rank, typical_question());
  EXPECT_NEAR(b.peak.value, 4e12 / (10e-3 + 15e-3), 1);
  EXPECT_NEAR(*b.hfu, 0.25, 1e-12);
  EXPECT_NE(b.peak_source.find("bf16 and fp8"), std::string::npos);
  expect_closed(b);
}

TEST(MfuBudget, NamesOnlyFormatsThatMatter) {
  MfuRank rank = typical_rank();
  rank.work->known.push_back({.dtype = Dtype::fp8, .flops = Flops{1e6}, .busy = Ns{5}});
  EXPECT_EQ(budget_of(rank, typical_question()).peak_source, "Box, bf16 dense");
}

TEST(MfuBudget, DoesNotRateAFormatWithoutAPeak) {
  MfuRank rank = typical_rank();
  rank.work->known.push_back(
      {.dtype = Dtype::fp64, .flops = ms_of_bf16(1), .busy = milliseconds(5)});
  MfuQuestion q = typical_question();
  q.model.reset();
  const MfuBudget b = budget_of(rank, q);
  EXPECT_NEAR(*b.hfu, 0.40, 1e-12);
  EXPECT_NEAR(percent(b, MfuTerm::executed_at_peak), 40, 1e-9);
  EXPECT_NEAR(percent(b, MfuTerm::compute_unattributed), 5, 1e-9);
  EXPECT_TRUE(warns(b, "no fp64 peak is known for Box"));
  expect_closed(b);
}

TEST(MfuBudget, TakesTheUsersPeakBeforeTheMachines) {
  MfuQuestion q = typical_question();
  q.peak = FlopRate{200e12};
  const MfuBudget b = budget_of(typical_rank(), q);
  EXPECT_NEAR(*b.mfu, 0.175, 1e-12);
  EXPECT_EQ(b.peak_source, "--peak-tflops");
  q.machine = nullptr;
  EXPECT_NEAR(*budget_of(typical_rank(), q).mfu, 0.175, 1e-12);
}

TEST(MfuBudget, AsksForThePeakOfAnUnknownDevice) {
  MfuQuestion q = typical_question();
  q.machine = nullptr;
  q.gpu_name = "Tesla V100-PCIE-32GB";
  const MfuRank rank = typical_rank();
  const Result<MfuBudget> b = mfu_budget(std::span(&rank, 1), q);
  ASSERT_FALSE(b);
  EXPECT_NE(b.error().message().find("--peak-tflops"), std::string::npos);
  EXPECT_NE(b.error().message().find("Tesla V100-PCIE-32GB"), std::string::npos);
}

TEST(MfuBudget, TakesFp16WhereTheMachineHasNoBf16) {
  Machine volta = mfu_box();
  volta.peak_rates = {};
  volta.peak_rates[index(Dtype::fp16)] = FlopRate{125e12};
  MfuRank rank = typical_rank();
  rank.work.reset();
  MfuQuestion q = typical_question();
  q.machine = &volta;
  EXPECT_EQ(budget_of(rank, q).peak.value, 125e12);
  q.dtype = Dtype::fp8;
  EXPECT_FALSE(mfu_budget(std::span(&rank, 1), q)) << "a format that was asked for is not replaced";
}

TEST(MfuBudget, SeparatesThePipelineBubbleOnlyWhereItIsEvident) {
  MfuQuestion q = typical_question();
  q.world_size = 2;
  q.model->per_step = ms_of_bf16(70);
  std::vector<MfuRank> ranks(2, typical_rank());
  const MfuBudget without = budget_of(ranks, q);
  EXPECT_EQ(percent(without, MfuTerm::pipeline_bubble), 0);
  EXPECT_TRUE(warns(without, "bubble of the pipeline is not separated"));
  MfuQuestion flat = q;
  flat.one_stage = true;
  EXPECT_FALSE(warns(budget_of(ranks, flat), "pipeline_bubble"));
  for (MfuRank& r : ranks) r.pipeline_receive_wait = milliseconds(4);
  const MfuBudget with = budget_of(ranks, q);
  EXPECT_NEAR(percent(with, MfuTerm::pipeline_bubble), 4, 1e-9);
  EXPECT_NEAR(percent(with, MfuTerm::exposed_wait), 3, 1e-9);
  EXPECT_FALSE(warns(with, "pipeline_bubble"));
  expect_closed(with);
}

TEST(MfuBudget, PutsAPriceOnEachLoss) {
  MfuQuestion q = typical_question();
  q.world_size = 8;
  q.model->per_step = ms_of_bf16(35 * 8);
  q.price_per_gpu_hour = 2.5;
  const MfuBudget b = budget_of(std::vector<MfuRank>(8, typical_rank()), q);
  double hours = 0;
  for (const MfuShare& s : b.terms) {
    hours += s.gpu_hours_per_day;
    ASSERT_TRUE(s.money_per_day);
    EXPECT_NEAR(*s.money_per_day, 2.5 * s.gpu_hours_per_day, 1e-9);
  }
  EXPECT_NEAR(hours, 8 * 24, 1e-9);
}

TEST(MfuBudget, PrintsTheOtherConventionsBesideItsOwn) {
  MfuQuestion q = typical_question();
  q.other_conventions = {{"PaLM", ms_of_bf16(37)}, {"6N", ms_of_bf16(34)}};
  const MfuBudget b = budget_of(typical_rank(), q);
  ASSERT_EQ(b.conventions.size(), 2u);
  EXPECT_EQ(b.conventions[0].model.convention, "PaLM");
  EXPECT_NEAR(b.conventions[0].mfu, 0.37, 1e-12);
  EXPECT_NEAR(b.conventions[1].mfu, 0.34, 1e-12);
}

TEST(MfuBudget, NamesContentionInsideKernelInefficiency) {
  MfuRank rank = typical_rank();
  rank.steps = 2;
  rank.work->contention = milliseconds(6);
  EXPECT_EQ(budget_of(rank, typical_question()).contention, milliseconds(3));
  EXPECT_FALSE(budget_of(typical_rank(), typical_question()).contention);
}

TEST(MfuBudget, OfMatmulsBesideOtherKernelsGivesTheMatmulsTheirTime) {
  MfuRank rank = typical_rank();
  rank.work->known[0].busy = milliseconds(90);  // two streams: longer than the 70 ms union
  rank.work->unknown_busy = milliseconds(5);
  const MfuBudget b = budget_of(rank, typical_question());
  EXPECT_NEAR(percent(b, MfuTerm::kernel_inefficiency), 30, 1e-9);
  EXPECT_NEAR(percent(b, MfuTerm::memory_bound_compute), 0, 1e-9);
  expect_closed(b);
}

TEST(MfuBudget, RefusesWhatItCannotDivide) {
  MfuRank rank = typical_rank();
  rank.steps = 0;
  EXPECT_FALSE(mfu_budget(std::span(&rank, 1), typical_question()));
  EXPECT_FALSE(mfu_budget({}, typical_question()));
  MfuQuestion q = typical_question();
  EXPECT_FALSE(mfu_budget(std::vector(2, typical_rank()), q)) << "two ranks in a world of one";
}

// Random ranks with any combination of absent parts.
MfuRank random_rank(std::mt19937_64& random) {
  MfuRank rank{.rank = 0,
               .steps = 1 + static_cast<std::int64_t>(random() % 9),
               .budget = {},
               .work = {},
               .pipeline_receive_wait = {}};
  for (Ns& t : rank.budget.time) t = Ns{static_cast<std::int64_t>(random() % 3'000'000'000)};
  if (random() % 4 != 0) {
    rank.work = ComputeWork{};
    for (const Dtype d : {Dtype::bf16, Dtype::fp8, Dtype::fp64}) {
      if (random() % 2 != 0) continue;
      rank.work->known.push_back({.dtype = d,
                                  .flops = Flops{static_cast<double>(random() % 1'000'000) * 1e9},
                                  .busy = Ns{static_cast<std::int64_t>(random() % 3'000'000'000)}});
    }
    rank.work->unknown_busy = Ns{static_cast<std::int64_t>(random() % 2'000'000'000)};
  }
  if (random() % 2 != 0) {
    rank.pipeline_receive_wait = Ns{static_cast<std::int64_t>(random() % 2'000'000'000)};
  }
  return rank;
}

TEST(MfuBudget, OfAnythingSumsToHundredPercentAndToTheStep) {
  std::mt19937_64 random(20);
  int negative = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<MfuRank> ranks(1 + random() % 6);
    for (MfuRank& r : ranks) r = random_rank(random);
    MfuQuestion q = typical_question();
    q.world_size = static_cast<int>(ranks.size() + random() % 60);
    q.model.reset();
    if (random() % 3 != 0) {
      q.model = ModelFlops{"given", Flops{static_cast<double>(random() % 1'000'000) * 1e10}};
    }
    const MfuBudget b = budget_of(ranks, q);
    expect_closed(b);
    EXPECT_EQ(warns(b, "exceed what the traces can have executed"),
              percent(b, MfuTerm::beyond_model) < 0);
    negative += percent(b, MfuTerm::beyond_model) < 0 ? 1 : 0;
    for (const MfuShare& s : b.terms) {
      EXPECT_TRUE(s.term < MfuTerm::exposed_transfer || s.percent >= 0);
    }
  }
  EXPECT_GT(negative, 50) << "the case of a mismatch was met";
}

}  // namespace
}  // namespace stepscope
