// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/csv_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "stepscope/diagnose/analysis_test_builder.h"
#include "stepscope/report/json_report.h"

namespace stepscope {
namespace {

using enum BudgetCategory;

void complete(TestReport& t) {
  for (RankResult& r : t.job.ranks) {
    r.phases.steps.resize(r.steps.size());
    r.executed.steps.resize(r.steps.size());
  }
  t.job.ddp_buckets.resize(t.job.ranks.size());
}

std::string file_of(const std::vector<CsvFile>& files, std::string_view name) {
  const auto at = std::ranges::find(files, name, &CsvFile::name);
  return at == files.end() ? std::string() : at->text;
}

TEST(CsvReport, CellsWithCommasQuotesAndLineBreaksAreQuoted) {
  TestReport t({{{compute, 60}, {idle_host, 40}}});
  complete(t);
  t.kernel("gemm<1, \"two\">\nthree", NameClass::matmul, 0.5);
  t.kernel("plain", NameClass::matmul, 0.5);
  const std::string text = file_of(analyze_csv(analyze_tree(t.report)), "kernels.csv");
  EXPECT_NE(text.find("0,\"gemm<1, \"\"two\"\">\nthree\",matmul,"), std::string::npos) << text;
  EXPECT_NE(text.find("\r\n0,plain,"), std::string::npos) << text;
  EXPECT_TRUE(text.starts_with("rank,name,"));
}

TEST(CsvReport, AbsentValuesAreEmptyCellsAndEveryLineHasAllColumns) {
  TestReport t({{{compute, 60}}, {{compute, 80}}});
  complete(t);
  const std::string text = file_of(analyze_csv(analyze_tree(t.report)), "steps.csv");
  std::vector<std::ptrdiff_t> commas;
  for (std::size_t p = 0; p < text.size();) {
    const std::size_t end = text.find("\r\n", p);
    ASSERT_NE(end, std::string::npos);
    commas.push_back(std::count(text.begin() + static_cast<std::ptrdiff_t>(p),
                                text.begin() + static_cast<std::ptrdiff_t>(end), ','));
    p = end + 2;
  }
  ASSERT_EQ(commas.size(), 3U);
  EXPECT_EQ(commas[0], commas[1]);
  EXPECT_EQ(commas[0], commas[2]);
}

TEST(CsvReport, WhatOnlyALaterRowHasIsAColumnToo) {
  TestReport t({{{compute, 60}}});
  complete(t);
  t.kernel("plain", NameClass::matmul, 0.5);
  const StringId metric = t.name("dram");
  t.kernel("counted", NameClass::matmul, 0.5).counters = {{metric, 12.5, 1}};
  const std::string text = file_of(analyze_csv(analyze_tree(t.report)), "kernels.csv");
  EXPECT_NE(text.find(",counters.dram\r\n"), std::string::npos) << text;
  EXPECT_NE(text.find(",12.5\r\n"), std::string::npos) << text;
  EXPECT_NE(text.find(",\r\n0,counted,"), std::string::npos) << text;
}

TEST(CsvReport, TablesWithoutRowsAreNoFiles) {
  TestReport t({{{compute, 60}}});
  complete(t);
  const auto files = analyze_csv(analyze_tree(t.report));
  EXPECT_NE(file_of(files, "steps.csv"), "");
  EXPECT_EQ(file_of(files, "stragglers.csv"), "");
  EXPECT_EQ(file_of(files, "mfu.csv"), "");
}

TEST(CsvReport, CellsHoldWhatTheJsonHolds) {
  TestReport t({{{compute, 60}}});
  complete(t);
  t.kernel("cut \xE2\x82 and \xFF", NameClass::matmul, 0.5);
  t.kernel("no number", NameClass::matmul, std::numeric_limits<double>::quiet_NaN());
  const Json tree = analyze_tree(t.report);
  const Json kernels = Json::parse(json_text(tree))["ranks"][0]["kernels"];
  const std::string text = file_of(analyze_csv(tree), "kernels.csv");
  EXPECT_NE(text.find("0," + kernels[0]["name"].get<std::string>() + ",matmul,"), std::string::npos)
      << text;
  EXPECT_TRUE(kernels[1]["share"].is_null());
  EXPECT_EQ(text.find("null"), std::string::npos) << text;
  EXPECT_EQ(text.find("nan"), std::string::npos) << text;
}

TEST(JsonReport, TheTimelineIsAddedWhereTheJobHasOne) {
  TestReport t({{{compute, 60}}});
  complete(t);
  const std::string plain = json_text(analyze_tree(t.report));
  std::string text = plain;
  append_timeline(text, t.job);
  EXPECT_EQ(text, plain);
  Timeline& timeline = t.job.timeline.emplace();
  timeline.names = {"gemm"};
  append_timeline(text, t.job);
  Json root = Json::parse(text);
  EXPECT_EQ(root["timeline"]["names"][0], "gemm");
  EXPECT_TRUE(text.ends_with("}\n"));
  root.erase("timeline");
  EXPECT_EQ(root, Json::parse(plain));
}

TEST(JsonReport, WhatIsUnknownIsNullAndNotZero) {
  TestReport t({{{compute, 60}}});
  complete(t);
  t.kernel("gemm", NameClass::matmul, 0.5);
  const Json root = Json::parse(json_text(analyze_tree(t.report)));
  EXPECT_TRUE(root["mfu"].is_null());
  EXPECT_TRUE(root["answer"]["culprit"].is_null());
  EXPECT_TRUE(root["inputs"][0]["error"].is_null());
  const Json& kernel = root["ranks"][0]["kernels"][0];
  EXPECT_TRUE(kernel["flops"].is_null()) << kernel;
  EXPECT_EQ(kernel["name"], "gemm");
}

TEST(JsonReport, BytesThatAreNoTextDoNotBreakTheDocument) {
  TestReport t({{{compute, 60}}});
  complete(t);
  t.kernel("bad\xFF\x01name", NameClass::matmul, 0.5);
  const std::string json = json_text(analyze_tree(t.report));
  EXPECT_TRUE(Json::accept(json));
}

TEST(JsonReport, TheBudgetSumsToTheWall) {
  TestReport t({{{compute, 60}, {idle_host, 40}}});
  complete(t);
  const Json root = Json::parse(json_text(analyze_tree(t.report)));
  const Json& step = root["ranks"][0]["steps"][0];
  std::int64_t sum = 0;
  for (const auto& [name, ns] : step["budget_ns"].items()) sum += ns.get<std::int64_t>();
  EXPECT_EQ(sum, step["wall_ns"].get<std::int64_t>());
  EXPECT_EQ(sum, 100'000'000);
}

}  // namespace
}  // namespace stepscope
