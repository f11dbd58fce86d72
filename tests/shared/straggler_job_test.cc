// SPDX-License-Identifier: Apache-2.0
// Compares with the published answers for ByteDance's sample traces
// (github.com/ByteDance-Seed/StragglerAnalysis, data/result-*.json, mw-*.json, ms-*.json): every
// figure that we have too.
#include "stepscope/analysis/job_table/straggler_job.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "stepscope/read/job_table/job_table.h"
#include "tests/program/program.h"
#include "tests/shared/shared_data.h"

namespace stepscope::shared {
namespace {

using nlohmann::json;

constexpr double relative = 1e-5;

class StragglerOracle : public SharedData, public testing::WithParamInterface<const char*> {
 protected:
  [[nodiscard]] std::string path(const std::string& prefix, const std::string& end) const {
    return (root / "data" / "straggler" / (prefix + "-" + GetParam() + end)).string();
  }
  [[nodiscard]] json published(const std::string& prefix) const {
    std::ifstream in(path(prefix, ".json"));
    return json::parse(in);
  }
};

void expect_equal(double ours, const json& theirs, const std::string& what) {
  EXPECT_NEAR(ours, theirs.get<double>(), std::abs(theirs.get<double>()) * relative) << what;
}

void expect_explained(const StragglerJob& job, const Explained& ours, const json& theirs) {
  expect_equal(job.replayed.count(), theirs["tori"], "tori");
  expect_equal(job.ideal.count(), theirs["tideal"], "tideal");
  expect_equal(ours.removed.count(), theirs["trem"], "trem");
  expect_equal(ours.added.count(), theirs["tadd"], "tadd");
  expect_equal(*ours.rem, theirs["rem"], "rem");
  expect_equal(*ours.add, theirs["add"], "add");
}

void expect_groups(const StragglerJob& job, const std::vector<GroupSlowdown>& ours,
                   const json& result, const std::string& key) {
  const json& theirs = result[key];
  const json& by_step = result[key + "_per_step"];
  ASSERT_EQ(ours.size(), theirs.size()) << key;
  for (const GroupSlowdown& g : ours) {
    expect_equal(g.slowdown, theirs.at(g.name), key + " " + g.name);
    for (std::size_t s = 0; s < job.steps.size(); ++s)
      expect_equal(g.steps[s], by_step.at(std::to_string(job.steps[s].step)).at(g.name),
                   key + " of a step " + g.name);
  }
}

TEST_P(StragglerOracle, GivesThePublishedFigures) {
  for (const char* ending : {".csv.gz", ".parquet"}) {
    SCOPED_TRACE(ending);
    const auto table = read_job_table(path("trace", ending));
    ASSERT_TRUE(table) << table.error().message();
    EXPECT_TRUE(table->errors.empty());
    EXPECT_TRUE(table->operations.notes.counts.empty());
    const auto job = analyze_straggler_job(table->operations, table->meta);
    ASSERT_TRUE(job) << job.error().message();
    const json result = published("result");
    expect_equal(job->s, result["blocking_slowdown"], "S");
    expect_equal(job->launch_slowdown, result["launch_slowdown"], "launch slowdown");
    expect_equal(job->waste, 1 - 1 / result["blocking_slowdown"].get<double>(), "waste");
    expect_explained(*job, job->m_w, published("mw"));
    expect_explained(*job, job->m_s, published("ms"));
    ASSERT_EQ(job->steps.size(), result["step_t_base"].size());
    for (const OperationStep& s : job->steps) {
      const std::string step = std::to_string(s.step);
      expect_equal(seconds(s.measured).count(), result["step_t_base"][step], "measured");
      expect_equal(seconds(s.replayed).count(), result["step_t_nodelay"][step], "replayed");
      expect_equal(seconds(s.ideal).count(), result["step_t_noblk"][step], "ideal");
      expect_equal(s.slowdown, result["blocking_step_slowdown"][step], "S of a step");
      expect_equal(s.host_slowdown / s.slowdown, result["launch_step_slowdown"][step], "launch");
    }
    expect_groups(*job, job->by_dp_rank, result, "blocking_decompose_by_dp_rank");
    expect_groups(*job, job->by_stage, result, "blocking_decompose_by_stage");
    expect_groups(*job, job->by_operation, result, "blocking_decompose_by_optype");
  }
}

TEST_P(StragglerOracle, ReadsTheSameColumnsFromBothFormats) {
  const auto csv = read_job_table(path("trace", ".csv.gz"));
  const auto parquet = read_job_table(path("trace", ".parquet"));
  ASSERT_TRUE(csv && parquet);
  const JobOperations& a = csv->operations;
  const JobOperations& b = parquet->operations;
  EXPECT_TRUE(a.dp_rank == b.dp_rank && a.stage == b.stage && a.rank == b.rank &&
              a.step == b.step && a.op == b.op && a.start == b.start && a.duration == b.duration &&
              a.seq_id == b.seq_id && a.mc == b.mc && a.mb_id == b.mb_id && a.gmc == b.gmc);
}

TEST_P(StragglerOracle, TellsItInJson) {
  const auto run = program::run({"analyze", path("trace", ".parquet"), "--json", "-"});
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  const json job = json::parse(run.printed).at("straggler_job");
  expect_equal(job["s"], published("result")["blocking_slowdown"], "s");
  expect_equal(job["m_w"], published("mw")["Mw"], "m_w");
  expect_equal(job["m_s"], published("ms")["Ms"], "m_s");
}

INSTANTIATE_TEST_SUITE_P(Traces, StragglerOracle, testing::Values("ST", "AR"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace stepscope::shared
