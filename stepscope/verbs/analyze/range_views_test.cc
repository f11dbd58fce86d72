// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/analyze/range_views.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "stepscope/verbs/analyze/analyze_json.h"
#include "stepscope/verbs/analyze/analyze_tables.h"
#include "stepscope/verbs/analyze/analyze_test_report.h"

namespace stepscope {
namespace {

using namespace test;
using enum BudgetCategory;

// forward → model → layer 0 → an operator, on rank 0; two buckets in two steps.
class ReportOfLayers : public TestReport {
 public:
  ReportOfLayers() : TestReport({{{compute, 60}, {idle_host, 40}}}) {
    complete(*this);
    JobResult& job = report.job;
    RangeNode op{.name = "aten::mm", .kind = RangeKind::operation, .count = 4};
    RangeNode layer{.name = "layer 0",
                    .kind = RangeKind::annotation,
                    .count = 2,
                    .host = Ns{3000},
                    .device = Ns{8000},
                    .children = {op}};
    RangeNode model{.name = "model",
                    .kind = RangeKind::module,
                    .count = 2,
                    .host = Ns{5000},
                    .device = Ns{9000},
                    .children = {layer}};
    job.ranks.front().work.ranges = {
        {.name = "forward", .kind = RangeKind::phase, .count = 2, .children = {model}}};
    job.traffic.buckets.resize(job.ranks.size());
    for (const std::int64_t step : {0, 1})
      for (const std::uint32_t bucket : {0U, 1U})
        job.traffic.buckets.front().push_back({.step = step,
                                               .bucket = bucket,
                                               .bytes = Bytes{1'000'000 * (bucket + 1)},
                                               .ready = std::nullopt,
                                               .launched = Ns{100 * step},
                                               .done = Ns{100 * step + 2000 * (bucket + 1)},
                                               .exposed = Ns{500}});
  }
};

TEST(RangeViews, TheTextHasTheRangesOfTheProgramAlone) {
  const ReportOfLayers t;
  const std::string text = ranges_text(t.report.job.ranks.front(), 100);
  EXPECT_NE(text.find("\n  model"), std::string::npos) << text;
  EXPECT_NE(text.find("› layer 0"), std::string::npos) << text;
  EXPECT_NE(text.find("1.50 µs"), std::string::npos) << text;  // mean of layer 0
  EXPECT_EQ(text.find("aten::mm"), std::string::npos) << text;
  EXPECT_EQ(text.find("forward"), std::string::npos) << text;
}

TEST(RangeViews, BucketsHaveCountMeanAndTotal) {
  const ReportOfLayers t;
  const std::string text = ddp_buckets_text(t.report.job, 100);
  EXPECT_NE(text.find("2.00 MB"), std::string::npos) << text;
  EXPECT_NE(text.find("4.00 µs"), std::string::npos) << text;  // mean of bucket 1
  EXPECT_NE(text.find("8.00 µs"), std::string::npos) << text;  // its total
  EXPECT_EQ(ddp_buckets_text(JobResult{}, 100), "");
  const Json sums = ddp_bucket_sums_tree(t.report.job);
  ASSERT_GE(sums.size(), 2U);
  EXPECT_EQ(sums[1]["bucket"], 1);
  EXPECT_EQ(sums[1]["mean_ns"], 4000);
  EXPECT_EQ(sums[1]["total_ns"], 8000);
  EXPECT_EQ(sums[1]["count"], 2);
}

TEST(RangeViews, TheTablesHaveARowForEach) {
  const ReportOfLayers t;
  const Json tree = analyze_tree(t.report);
  EXPECT_EQ(ranges_table(tree).rows.size(), 3U);
  EXPECT_EQ(ranges_table(tree).rows[2]["path"], "forward / model / layer 0");
  const std::vector<CsvFile> files = csv_files(analyze_tables(tree));
  for (const char* name : {"ranges.csv", "ddp_buckets.csv", "ddp_bucket_sums.csv"}) {
    const auto file = std::ranges::find(files, name, &CsvFile::name);
    ASSERT_NE(file, files.end()) << name;
    EXPECT_GE(std::ranges::count(file->text, '\n'), 3) << file->text;
  }
}

}  // namespace
}  // namespace stepscope
