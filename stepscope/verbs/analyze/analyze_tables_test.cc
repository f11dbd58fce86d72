// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/analyze/analyze_tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/verbs/analyze/analyze_json.h"
#include "stepscope/verbs/analyze/analyze_test_report.h"
#include "stepscope/verbs/analyze/expected_test_results.h"

namespace stepscope {
namespace {

using namespace test;
using enum BudgetCategory;

std::string file_of(const std::vector<CsvFile>& files, std::string_view name) {
  const auto at = std::ranges::find(files, name, &CsvFile::name);
  return at == files.end() ? std::string() : at->text;
}

TEST(Csv, CellsWithCommasQuotesAndLineBreaksAreQuoted) {
  TestReport t({{{compute, 60}, {idle_host, 40}}});
  complete(t);
  t.kernel("gemm<1, \"two\">\nthree", NameClass::matmul, 0.5);
  t.kernel("plain", NameClass::matmul, 0.5);
  const std::string text =
      file_of(csv_files(analyze_tables(analyze_tree(t.report))), "kernels.csv");
  EXPECT_NE(text.find("0,\"gemm<1, \"\"two\"\">\nthree\",matmul,"), std::string::npos) << text;
  EXPECT_NE(text.find("\r\n0,plain,"), std::string::npos) << text;
  EXPECT_TRUE(text.starts_with("rank,name,"));
}

TEST(Csv, NoTextIsAFormula) {
  TestReport t({{{compute, 60}, {idle_host, 40}}});
  complete(t);
  for (const char* name : {"=1+1", "+x", "-x", "@x", "\tx", "\rx"})
    t.kernel(name, NameClass::matmul, 0.1);
  const std::string text =
      file_of(csv_files(analyze_tables(analyze_tree(t.report))), "kernels.csv");
  for (const char* name : {"'=1+1", "'+x", "'-x", "'@x", "'\tx", "\"'\rx\""})
    EXPECT_NE(text.find(std::string("0,") + name + ","), std::string::npos) << name << text;
}

TEST(Csv, AbsentValuesAreEmptyCellsAndEveryLineHasAllColumns) {
  TestReport t({{{compute, 60}}, {{compute, 80}}});
  complete(t);
  const std::string text = file_of(csv_files(analyze_tables(analyze_tree(t.report))), "steps.csv");
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

TEST(Csv, WhatOnlyALaterRowHasIsAColumnToo) {
  TestReport t({{{compute, 60}}});
  complete(t);
  t.kernel("plain", NameClass::matmul, 0.5);
  const StringId metric = t.name("dram");
  t.kernel("counted", NameClass::matmul, 0.5).counters = {{metric, 12.5, 1}};
  const std::string text =
      file_of(csv_files(analyze_tables(analyze_tree(t.report))), "kernels.csv");
  EXPECT_NE(text.find(",counters.dram\r\n"), std::string::npos) << text;
  EXPECT_NE(text.find(",12.5\r\n"), std::string::npos) << text;
  EXPECT_NE(text.find(",\r\n0,counted,"), std::string::npos) << text;
}

TEST(Csv, TablesWithoutRowsAreNoFiles) {
  TestReport t({{{compute, 60}}});
  complete(t);
  const auto files = csv_files(analyze_tables(analyze_tree(t.report)));
  EXPECT_NE(file_of(files, "steps.csv"), "");
  EXPECT_EQ(file_of(files, "stragglers.csv"), "");
  EXPECT_EQ(file_of(files, "mfu.csv"), "");
}

TEST(Csv, CellsHoldWhatTheJsonHolds) {
  TestReport t({{{compute, 60}}});
  complete(t);
  t.kernel("cut \xE2\x82 and \xFF", NameClass::matmul, 0.5);
  t.kernel("no number", NameClass::matmul, std::numeric_limits<double>::quiet_NaN());
  const Json tree = analyze_tree(t.report);
  const Json kernels = Json::parse(json_text(tree))["ranks"][0]["kernels"];
  const std::string text = file_of(csv_files(analyze_tables(tree)), "kernels.csv");
  EXPECT_NE(text.find("0," + kernels[0]["name"].get<std::string>() + ",matmul,"), std::string::npos)
      << text;
  EXPECT_TRUE(kernels[1]["share"].is_null());
  EXPECT_EQ(text.find("null"), std::string::npos) << text;
  EXPECT_EQ(text.find("nan"), std::string::npos) << text;
}

TEST(Csv, MemoryByPhaseIsEmptyWhereNothingWasRecorded) {
  TestReport t({{{compute, 60}}});
  complete(t);
  DeviceMemory& gpu = t.job.ranks.front().memory.devices.emplace_back();
  gpu.device = 0;
  gpu.phases = {{.phase = Phase::forward,
                 .start = Ns{10},
                 .end = Ns{30},
                 .at_start = Bytes{100},
                 .at_end = Bytes{300},
                 .peak = Bytes{400},
                 .reserved = Bytes{500}},
                {.phase = Phase::backward, .start = Ns{30}, .end = Ns{40}, .peak = Bytes{7}}};
  const std::string text =
      file_of(csv_files(analyze_tables(analyze_tree(t.report))), "memory_phases.csv");
  EXPECT_NE(text.find("0,0,forward,10,30,100,300,200,400,500,100,0.2"), std::string::npos) << text;
  EXPECT_NE(text.find("0,0,backward,30,40,0,0,0,7,,,"), std::string::npos) << text;
}

TEST(Csv, WhatIsExpectedHasATableOfEach) {
  const ExpectedRun run;
  std::vector<std::string> names;
  for (const CsvFile& file : csv_files(analyze_tables(analyze_tree(run.made.report))))
    if (file.name.starts_with("expected")) names.push_back(file.name);
  EXPECT_EQ(names, (std::vector<std::string>{"expected_step.csv", "expected_operators.csv",
                                             "expected_collectives.csv"}));
}

}  // namespace
}  // namespace stepscope
