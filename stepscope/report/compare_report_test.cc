// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/compare_report.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stepscope/diagnose/run_warnings.h"

namespace stepscope {
namespace {

// Steps of `level` ms that go up and down by `percent`.
LaunchSteps steps(std::size_t n, double level, double percent = 1) {
  LaunchSteps launch{.name = "run"};
  for (std::size_t i = 0; i < n; ++i)
    launch.wall_ns.push_back(level * 1e6 *
                             (1 + percent / 100 * (static_cast<double>((i * 37) % 11) / 5 - 1)));
  return launch;
}

Comparison compared(const LaunchSteps& a, const LaunchSteps& b,
                    std::optional<double> limit = std::nullopt) {
  Comparison c;
  c.runs = compare_runs({&a, 1}, {&b, 1}, {});
  c.label_a = "before";
  c.label_b = "after";
  c.max_regression = limit;
  c.regression = regression_of(c.runs, limit);
  return c;
}

std::string sentence(const Comparison& c) { return compare_sentence(c); }

TEST(CompareText, OpensWithTheVerdict) {
  EXPECT_TRUE(sentence(compared(steps(200, 100), steps(200, 110)))
                  .starts_with("B is slower: B's steps take 10.0 % longer than A's, 10.0 ms a step "
                               "(95 % interval +"));
  EXPECT_TRUE(sentence(compared(steps(200, 100), steps(200, 90)))
                  .starts_with("B is faster: B's steps take 10.0 % less than A's, 10.0 ms a step"));
  EXPECT_TRUE(sentence(compared(steps(200, 100), steps(200, 100)))
                  .starts_with("No difference that matters: "));
  EXPECT_TRUE(sentence(compared(steps(3, 100), steps(200, 100))).starts_with("Not enough data: "));
  const std::string open = sentence(compared(steps(30, 100, 10), steps(30, 101, 10)));
  EXPECT_TRUE(open.starts_with("Cannot tell: ")) << open;
  EXPECT_NE(open.find("steps an arm would show a change of 1 %."), std::string::npos) << open;
}

TEST(CompareText, ARegressionIsSlowerByMoreThanAsked) {
  const auto regression = [](double level, double limit, std::size_t n = 200) {
    return compared(steps(200, 100), steps(n, level), limit).regression;
  };
  EXPECT_EQ(regression(110, 0.05), true);
  EXPECT_EQ(regression(110, 0.2), false);
  EXPECT_EQ(regression(90, 0), false);
  EXPECT_EQ(regression(110, 0.05, 3), std::nullopt);
}

TEST(CompareText, PartsAndWarningsAreShown) {
  LaunchSteps a = steps(20, 100);
  LaunchSteps b = steps(20, 110);
  a.parts = {{PartKind::budget, "idle_data", std::vector<double>(20, 1e6)}};
  b.parts = {{PartKind::budget, "idle_data", std::vector<double>(20, 9e6)}};
  Comparison c = compared(a, b);
  c.warnings = compare_warnings(c.runs);
  const std::string text = compare_text(c);
  EXPECT_NE(text.find("What changed in a step (B - A, mean a step; * q < 0.05: 1 of 1):"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("+8.00 ms"), std::string::npos) << text;
  EXPECT_NE(text.find("note: one launch an arm"), std::string::npos) << text;
  const Json tree = compare_tree(c);
  EXPECT_EQ(tree["parts"][0]["difference_ns"], 8e6);
  EXPECT_EQ(compare_csv(tree).size(), 2U);
}

}  // namespace
}  // namespace stepscope
