// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/analyze/analyze_json.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "stepscope/verbs/analyze/analyze_test_report.h"

namespace stepscope {
namespace {

using namespace test;
using enum BudgetCategory;

TEST(AnalyzeJson, TheOtherFaultsHaveTheKeysOfTheVerdict) {
  EXPECT_TRUE(verdict_json({}).is_null());
  const std::vector<Culprit> two = {{.kind = CulpritKind::slow_rank, .ranks = {3}},
                                    {.kind = CulpritKind::slow_group, .group = "tp0"}};
  Json first = verdict_json(two);
  EXPECT_EQ(first["kind"], "slow_rank");
  ASSERT_EQ(first["alternatives"].size(), 1U);
  const Json other = first["alternatives"][0];
  EXPECT_EQ(other["group"], "tp0");
  first.erase("alternatives");
  ASSERT_EQ(other.size(), first.size());
  for (const auto& [key, value] : first.items()) EXPECT_TRUE(other.contains(key)) << key;
}

TEST(AnalyzeJson, TheTimelineIsAddedWhereTheJobHasOne) {
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

TEST(AnalyzeJson, WhatIsUnknownIsNullAndNotZero) {
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

TEST(AnalyzeJson, BytesThatAreNoTextDoNotBreakTheDocument) {
  TestReport t({{{compute, 60}}});
  complete(t);
  t.kernel("bad\xFF\x01name", NameClass::matmul, 0.5);
  const std::string json = json_text(analyze_tree(t.report));
  EXPECT_TRUE(Json::accept(json));
}

TEST(AnalyzeJson, TheBudgetSumsToTheWall) {
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
