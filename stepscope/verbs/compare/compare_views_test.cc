// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/compare/compare_views.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "stepscope/diagnose/warnings.h"
#include "stepscope/say/say.h"
#include "stepscope/verbs/compare/compare_test_results.h"

namespace stepscope {

namespace {

using namespace test;

TEST(CompareSentence, OpensWithTheVerdict) {
  EXPECT_TRUE(
      say_stopped(compare_sentence(compared(launch_of_steps(200, 100), launch_of_steps(200, 110))))
          .starts_with("B is slower: B's steps take 10.0 % longer than A's, 10.0 ms a step "
                       "(95 % interval +"));
  EXPECT_TRUE(
      say_stopped(compare_sentence(compared(launch_of_steps(200, 100), launch_of_steps(200, 90))))
          .starts_with("B is faster: B's steps take 10.0 % less than A's, 10.0 ms a step"));
  EXPECT_TRUE(
      say_stopped(compare_sentence(compared(launch_of_steps(200, 100), launch_of_steps(200, 100))))
          .starts_with("No difference that matters: "));
  EXPECT_TRUE(
      say_stopped(compare_sentence(compared(launch_of_steps(3, 100), launch_of_steps(200, 100))))
          .starts_with("Not enough data: "));
  const std::string open = say_stopped(
      compare_sentence(compared(launch_of_steps(30, 100, 10), launch_of_steps(30, 101, 10))));
  EXPECT_TRUE(open.starts_with("Cannot tell: ")) << open;
  EXPECT_NE(open.find("steps an arm would show a change of 1 %."), std::string::npos) << open;
}

using namespace test;

TEST(CompareJson, HasTheDifferencesOfParts) {
  EXPECT_EQ(compare_tree(slower_with_parts())["parts"][0]["difference_ns"], 8e6);
}

TEST(CompareJson, LaunchesHaveTheirTimesInOrderOfLength) {
  LaunchSteps a = launch_of_steps(20, 100);
  const Json few = compare_tree(compared(a, a))["a"]["launches"][0]["sorted_ns"];
  EXPECT_EQ(few.size(), 20U);
  EXPECT_TRUE(std::ranges::is_sorted(few));
  a.wall_ns.assign(5000, 1e6);
  for (std::size_t i = 0; i < a.wall_ns.size(); ++i) a.wall_ns[i] += static_cast<double>(i % 500);
  a.wall_ns[3000] = 7e6;
  const Json many = compare_tree(compared(a, a))["a"]["launches"][0]["sorted_ns"];
  ASSERT_EQ(many.size(), 1000U);
  EXPECT_EQ(many.front(), 1'000'000);
  EXPECT_EQ(many.back(), 7'000'000);
  EXPECT_NEAR(many[500].get<double>(), 1'000'250, 2);
}

TEST(Tables, ComparedRunsHaveLaunchesAndParts) {
  EXPECT_EQ(csv_files(compare_tables(compare_tree(test::slower_with_parts()))).size(), 2U);
}

using namespace test;

TEST(CompareText, PartsAndWarningsAreShown) {
  Comparison c = slower_with_parts();
  c.warnings = compare_warnings(c.runs);
  const std::string text = compare_text(c);
  EXPECT_NE(text.find("What changed in a step (B - A, mean a step; * q < 0.05: 1 of 1):"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("+8.00 ms"), std::string::npos) << text;
  EXPECT_NE(text.find("note: one launch an arm"), std::string::npos) << text;
}

TEST(CompareText, WhatLiesBetweenOperatorsOfCpusHasItsName) {
  LaunchSteps a = launch_of_steps(20, 100);
  LaunchSteps b = launch_of_steps(20, 100);
  a.parts = {{PartKind::budget, "idle_host", std::vector<double>(20, 1e6)}};
  b.parts = {{PartKind::budget, "idle_host", std::vector<double>(20, 2e6)}};
  EXPECT_NE(compare_text(compared(a, b)).find("waiting for the host"), std::string::npos);
  a.on_cpu = b.on_cpu = true;
  const Comparison c = compared(a, b);
  EXPECT_NE(compare_text(c).find("between operators"), std::string::npos);
  EXPECT_EQ(compare_tree(c)["terms"]["budget"]["idle_host"]["label"], "between operators");
}

TEST(CompareText, OperatorsHaveCallsTimesAndShapesAndAllOfThemIfAsked) {
  LaunchSteps a = launch_of_steps(20, 100);
  LaunchSteps b = launch_of_steps(20, 100);
  for (int i = 1; i <= 12; ++i) {
    const std::string shape = "[[" + std::to_string(i) + ", 7], [7, 7]]";
    const auto mm = [&](double ns) {
      return PartSeries{PartKind::operation, "aten::mm", std::vector<double>(20, ns),
                        std::vector<double>(20, 2.0), shape};
    };
    a.parts.push_back(mm(1e6));
    b.parts.push_back(mm(1e6 + i * 1e6));
  }
  const Comparison c = compared(a, b);
  const std::string text = compare_text(c);
  EXPECT_NE(text.find("Operators (B - A, mean a step; "), std::string::npos) << text;
  const std::size_t at = text.find("[12,7],[7,7]");
  ASSERT_NE(at, std::string::npos) << text;
  const std::string row = text.substr(at, text.find('\n', at) - at);
  EXPECT_NE(row.find(" 2  2 "), std::string::npos) << text;
  EXPECT_NE(row.find("500 µs  6.50 ms  +12.0 ms"), std::string::npos) << text;
  EXPECT_NE(text.find("… and 4 more"), std::string::npos) << text;
  EXPECT_EQ(text.find(" [1,7],[7,7]"), std::string::npos) << text;
  EXPECT_NE(compare_text(c, {.detail = TextDetail::all}).find(" [1,7],[7,7]"), std::string::npos);
  const Json part = compare_tree(c)["parts"][0];
  EXPECT_EQ(part["kind"], "operator");
  EXPECT_EQ(part["shape"], "[[12, 7], [7, 7]]");
  EXPECT_EQ(part["a_calls"], 2);
  EXPECT_EQ(part["b_call_ns"], 6.5e6);
}

TEST(CompareText, ThroughputIsShownWhereBothArmsTellTheirTokens) {
  LaunchSteps a = launch_of_steps(20, 100);
  LaunchSteps b = launch_of_steps(20, 200);
  EXPECT_EQ(compare_text(compared(a, b)).find("Throughput"), std::string::npos);
  a.tokens.assign(a.wall_ns.size(), 1000);
  EXPECT_EQ(compare_text(compared(a, b)).find("Throughput"), std::string::npos);
  b.tokens.assign(b.wall_ns.size(), 1000);
  const Comparison both = compared(a, b);
  EXPECT_NEAR(*both.runs.a.tokens_per_s, 10'000, 500);
  EXPECT_NE(compare_text(both).find(" tokens/s in B (-50."), std::string::npos)
      << compare_text(both);
  EXPECT_FALSE(compare_tree(both)["b"]["tokens_per_s"].is_null());
}

TEST(CompareText, ListsOfTimesTellTheStepsASecond) {
  const std::string text =
      compare_text(compared(launch_of_steps(20, 100), launch_of_steps(20, 200)));
  EXPECT_NE(text.find("Steps a second: "), std::string::npos) << text;
  EXPECT_NE(text.find(" in B (-50."), std::string::npos) << text;
}

TEST(CompareSentence, AColdFirstStepIsNamed) {
  const LaunchSteps a{.wall_ns = {1100e6, 100e6, 100e6}};
  const LaunchSteps b{.wall_ns = {100e6, 101e6, 100e6, 101e6}};
  const Comparison c = compared(a, b);
  EXPECT_FALSE(c.runs.ratio.interval);
  const std::string said = say_stopped(compare_sentence(c));
  EXPECT_NE(said.find("A has 2 steps without the first one, 11.0 times as long"), std::string::npos)
      << said;
}

TEST(CompareSentence, ArmsThatFewStepsSeparateAreToldWhatLacks) {
  const LaunchSteps a{.wall_ns = {99.06e6, 101.3e6, 100.5e6, 103.2e6, 102.3e6, 99.1e6, 100.7e6,
                                  103.5e6, 98.9e6, 100.9e6}};
  const LaunchSteps b{.wall_ns = {94.38e6, 94.51e6, 93.04e6, 89.36e6}};
  const std::string said = say_stopped(compare_sentence(compared(a, b)));
  EXPECT_NE(said.find(", but A has 10.0 effective steps and B has 1.00"), std::string::npos)
      << said;
  EXPECT_NE(said.find(". Every step of A is longer than every step of B. Two launches"),
            std::string::npos)
      << said;
  EXPECT_EQ(said.find(", but", said.find(", but") + 1), std::string::npos) << said;
}

TEST(SweepText, EachValueHasItsDeviation) {
  SweepResult r;
  r.name = "bucket";
  for (const char* value : {"1", "2"})
    r.sweep.values.push_back(
        {.value = value,
         .arm = {.steps = 4, .median_ns = 1e6, .mean_ns = 1e6, .stdev_ns = 5e4},
         .beside_best = {},
         .q = {}});
  const std::string text = sweep_text(r);
  EXPECT_NE(text.find("stdev"), std::string::npos) << text;
  EXPECT_NE(text.find("5.0 %"), std::string::npos) << text;
}

}  // namespace

}  // namespace stepscope
