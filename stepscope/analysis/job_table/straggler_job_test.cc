// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/job_table/straggler_job.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "stepscope/analysis/runs/job_test_pipeline.h"

namespace stepscope {
namespace {

using test::PipelineJob;

constexpr double near_enough = 2e-7;  // seconds: nanoseconds are rounded once per operation

// A job with arbitrary durations of operations, drawn once.
struct Drawn {
  using Key = std::tuple<JobOp, std::int64_t, int, int, int>;
  std::map<Key, double> lasts;
  std::map<Key, double> late;
};

double usual(JobOp op) {
  if (op == JobOp::forward_compute) return 0.1;
  if (op == JobOp::backward_compute) return 0.2;
  return is_comm(op) ? 0.004 : 0.01;
}

// Long uneven times from a seed; launches are late if `delays`.
PipelineJob random_job(unsigned seed, bool delays, Drawn& drawn) {
  PipelineJob job{.dp = 1 + static_cast<int>(seed % 3),
                  .stages = 1 + static_cast<int>(seed % 4),
                  .batches = 2 + static_cast<int>(seed % 5)};
  const auto draw = [seed](std::map<Drawn::Key, double>& from, Drawn::Key key, double most) {
    const auto [at, fresh] = from.try_emplace(key, 0);
    if (fresh) {
      const auto [op, step, d, s, i] = key;
      std::seed_seq words{seed,
                          static_cast<unsigned>(op),
                          static_cast<unsigned>(step),
                          static_cast<unsigned>(d),
                          static_cast<unsigned>(s),
                          static_cast<unsigned>(i),
                          most < 0.05 ? 1U : 0U};
      std::mt19937 random(words);
      at->second = static_cast<double>(random() % 1'000'000) * 1e-6 * most;
    }
    return at->second;
  };
  job.lasts = [&drawn, draw](JobOp op, std::int64_t step, int d, int s, int i) {
    return usual(op) + draw(drawn.lasts, {op, step, d, s, i}, 2 * usual(op) + 0.05);
  };
  if (delays)
    job.late = [&drawn, draw](JobOp op, std::int64_t step, int d, int s, int i) {
      // A step begins with its first start.
      return op == JobOp::params_all_gather ? 0 : draw(drawn.late, {op, step, d, s, i}, 0.03);
    };
  return job;
}

bool is_median(JobOp op) { return is_comm(op); }

// Ideals of the drawn times, by their definition.
std::map<JobOp, double> ideals(const PipelineJob& job, const JobOperations& table) {
  std::map<JobOp, std::vector<double>> all;
  for (std::size_t r = 0; r < table.size(); ++r)
    all[table.op[r]].push_back(
        job.lasts(table.op[r], table.step[r], table.dp_rank[r], table.stage[r], table.seq_id[r]));
  std::map<JobOp, double> out;
  for (auto& [op, values] : all) {
    std::ranges::sort(values);
    const std::size_t n = values.size();
    double sum = 0;
    for (const double v : values) sum += v;
    out[op] =
        is_median(op) ? (values[n / 2] + values[(n - 1) / 2]) / 2 : sum / static_cast<double>(n);
  }
  return out;
}

// The same job with the operations selected by `chosen` at their ideal and no late launches.
template <class Chosen>
double mean_where_ideal(const PipelineJob& job, const std::map<JobOp, double>& ideal,
                        Chosen chosen) {
  PipelineJob other = job;
  other.late = [](JobOp, std::int64_t, int, int, int) { return 0.0; };
  other.lasts = [&](JobOp op, std::int64_t step, int d, int s, int i) {
    return chosen(op, d, s) ? ideal.at(op) : job.lasts(op, step, d, s, i);
  };
  return test::mean_step(other);
}

TEST(StragglerJob, AgreesWithANaiveSimulation) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    Drawn drawn;
    const PipelineJob job = random_job(seed, seed % 2 == 1, drawn);
    const JobOperations table = test::table_of(job);
    const auto found = analyze_straggler_job(table, {});
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_TRUE(found->notes.empty()) << found->notes.begin()->first;
    const auto ideal = ideals(job, table);
    const auto mean = [&](auto chosen) { return mean_where_ideal(job, ideal, chosen); };
    const double real = mean([](JobOp, int, int) { return false; });
    const double best = mean([](JobOp, int, int) { return true; });
    EXPECT_NEAR(found->measured.count(), test::mean_step(job), near_enough);
    EXPECT_NEAR(found->replayed.count(), real, near_enough);
    EXPECT_NEAR(found->ideal.count(), best, near_enough);
    EXPECT_NEAR(found->s, real / best, 1e-6);
    EXPECT_NEAR(found->waste, 1 - best / real, 1e-6);
    EXPECT_NEAR(found->s_host, test::mean_step(job) / best, 1e-6);
    EXPECT_LT(found->replay_error, 1e-6);
    const int last = job.stages - 1;
    const double last_ideal = mean([&](JobOp, int, int s) { return s == last; });
    EXPECT_NEAR(found->m_s.removed.count(), last_ideal, near_enough);
    const double last_real = mean([&](JobOp, int, int s) { return s != last; });
    EXPECT_NEAR(found->m_s.added.count(), last_real, near_enough);
    // Only one worker: its two steps average to the ideal.
    const bool explainable = job.dp * job.stages > 1;
    ASSERT_EQ(found->m_s.rem.has_value(), explainable);
    if (explainable) {
      EXPECT_NEAR(*found->m_s.rem, (real - last_ideal) / (real - best), 1e-5);
      EXPECT_NEAR(*found->m_s.add, (last_real - best) / (real - best), 1e-5);
    }
    ASSERT_EQ(found->workers.size(), static_cast<std::size_t>(job.dp * job.stages));
    for (const JobWorker& w : found->workers) {
      EXPECT_EQ(w.rank, w.stage * job.dp + w.dp_rank);
      const double without =
          mean([&](JobOp, int d, int s) { return d == w.dp_rank && s == w.stage; });
      EXPECT_NEAR(w.removed.count(), without, near_enough);
    }
    for (const GroupSlowdown& g : found->by_stage)
      EXPECT_NEAR(g.slowdown,
                  mean([&](JobOp, int, int s) { return std::to_string(s) != g.name; }) / best,
                  1e-6);
    for (const GroupSlowdown& g : found->by_dp_rank)
      EXPECT_NEAR(g.slowdown,
                  mean([&](JobOp, int d, int) { return std::to_string(d) != g.name; }) / best,
                  1e-6);
    for (const GroupSlowdown& g : found->by_operation) {
      if (g.name != "backward-compute") continue;
      EXPECT_NEAR(g.slowdown,
                  mean([](JobOp op, int, int) { return op != JobOp::backward_compute; }) / best,
                  1e-6);
    }
  }
}

// One stage, two DP ranks, two batches, computed by hand. Forward 1 s, backward 2 s, everything
// else at the end of the step 0.1 s each; DP rank 1 computes forward in 3 s.
//   recorded: DP rank 1 takes 0.1 (gather) + 2 * (3 + 2) = 10.1; gc, layernorm, embedding,
//   reduce-scatter, clip, optimizer 6 * 0.1: 10.7 s
//   ideal: forward 2 s on both: 0.1 + 2 * (2 + 2) + 0.6 = 8.7 s
TEST(StragglerJob, GivesWhatIsWorkedOutByHand) {
  PipelineJob job{.dp = 2, .stages = 1, .batches = 2, .steps = {7}};
  job.lasts = [](JobOp op, std::int64_t, int d, int, int) {
    if (op == JobOp::forward_compute) return d == 1 ? 3.0 : 1.0;
    return op == JobOp::backward_compute ? 2.0 : 0.1;
  };
  const auto found = analyze_straggler_job(test::table_of(job), {});
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_NEAR(found->replayed.count(), 10.7, near_enough);
  EXPECT_NEAR(found->ideal.count(), 8.7, near_enough);
  EXPECT_NEAR(found->s, 10.7 / 8.7, 1e-7);
  EXPECT_NEAR(found->waste, 2 / 10.7, 1e-7);
  EXPECT_EQ(found->worst, std::vector<std::int32_t>{1});
  EXPECT_NEAR(*found->m_w.rem, 1, 1e-6);  // DP rank 1 ideal: 8.7 s
  EXPECT_NEAR(*found->m_w.add, 1, 1e-6);
  EXPECT_NEAR(*found->m_s.rem, 1, 1e-6);  // the only stage is the whole job
  EXPECT_EQ(found->workers.front().rank, 1);
  EXPECT_NEAR(*found->workers.back().rem, 0, 1e-6);
  EXPECT_EQ(found->by_operation.front().name, "forward-compute");
  EXPECT_NEAR(found->by_operation.front().slowdown, 10.7 / 8.7, 1e-6);
  EXPECT_EQ(found->steps.front().step, 7);
  // Free: gather and reduce-scatter 0.2 s less; embedding and clip too, 0.4 s less.
  ASSERT_EQ(found->comm_free.size(), 3U);
  EXPECT_NEAR(found->comm_free[0].speedup, 1, 1e-9);
  EXPECT_NEAR(found->comm_free[1].step.count(), 10.5, near_enough);
  EXPECT_NEAR(found->comm_free[2].step.count(), 10.3, near_enough);
}

TEST(StragglerJob, ClampsSharesAndGivesNoneWhereThereIsNothingToExplain) {
  EXPECT_EQ((Explained{.rem = 1.2}).share(), 1.0);
  EXPECT_EQ((Explained{.rem = -0.1}).share(), 0.0);
  EXPECT_EQ((Explained{.rem = 0.25}).share(), 0.25);
  PipelineJob even;
  even.lasts = [](JobOp op, std::int64_t, int, int, int) { return usual(op); };
  const auto found = analyze_straggler_job(test::table_of(even), {});
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->s, 1, 1e-6);
  EXPECT_NEAR(found->waste, 0, 1e-6);
  EXPECT_FALSE(found->m_w.rem);
  EXPECT_FALSE(found->m_w.share());
}

TEST(StragglerJob, SeesSequencesOfDifferentLength) {
  PipelineJob job{.dp = 2, .stages = 2, .batches = 8, .steps = {1, 2, 3}};
  const auto length = [](std::int64_t step, int d, int i) {
    return 1 + static_cast<double>((step * 7 + d * 5 + i * 3) % 11) / 10;
  };
  job.lasts = [&](JobOp op, std::int64_t step, int d, int s, int i) {
    // The last stage is slow; this does not depend on lengths.
    if (op == JobOp::forward_compute) return 0.1 * length(step, d, i) * (1 + s);
    if (op == JobOp::backward_compute) return 0.2 * length(step, d, i) * (1 + s);
    return 0.001;
  };
  const auto uneven = analyze_straggler_job(test::table_of(job), {});
  ASSERT_TRUE(uneven);
  EXPECT_GT(*uneven->fwd_bwd_correlation, 0.999);
  EXPECT_GT(*uneven->fwd_variation, 0.1);
  job.lasts = [&](JobOp op, std::int64_t step, int d, int s, int i) {
    if (op == JobOp::forward_compute) return 0.1 * (1 + s) + 1e-4 * length(step, d, i);
    if (op == JobOp::backward_compute) return 0.2 * (1 + s) + 1e-4 * length(step + 3, i, d * 2);
    return 0.001;
  };
  const auto noise = analyze_straggler_job(test::table_of(job), {});
  ASSERT_TRUE(noise);
  EXPECT_LT(*noise->fwd_bwd_correlation, 0.5);
}

// Times recorded in single precision are added in single precision, as in the reference.
TEST(StragglerJob, AddsSinglePrecisionAsSuch) {
  PipelineJob job{.dp = 1, .stages = 1, .batches = 1, .steps = {1}};
  job.lasts = [](JobOp, std::int64_t, int, int, int) { return 0.125; };
  JobOperations table = test::table_of(job);
  float start = 40;
  std::vector<std::size_t> rows(table.size());
  for (std::size_t r = 0; r < rows.size(); ++r) rows[r] = r;
  std::ranges::sort(rows, {}, [&](std::size_t r) { return table.start[r]; });
  for (const std::size_t r : rows) {
    const float lasts = 0.1F;
    table.start[r] = Seconds{start};
    table.duration[r] = Seconds{lasts};
    start += lasts;
  }
  const auto found = analyze_straggler_job(table, {});
  ASSERT_TRUE(found);
  EXPECT_EQ(
      found->measured,
      Seconds{static_cast<double>(std::llround(static_cast<double>(start - 40.0F) * 1e9)) * 1e-9});
}

}  // namespace
}  // namespace stepscope
