// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/terminal/collective_text.h"

#include <gtest/gtest.h>

#include <string>

#include "stepscope/report/sentences/verb_test_results.h"

namespace stepscope {
namespace {

using namespace test;

TEST(CollectiveText, PrintsEveryAlgorithmTheBestAndTheCrossover) {
  const std::string text = collective_text(two_sizes());
  EXPECT_NE(text.find("all_gather · M · 16 devices in 2 domains"), std::string::npos) << text;
  EXPECT_NE(text.find("(30.0 µs)"), std::string::npos) << text;
  EXPECT_NE(text.find("In brackets"), std::string::npos);
  EXPECT_NE(text.find("From 40.0 kB: ring (Simple) instead of tree"), std::string::npos) << text;
  EXPECT_NE(text.find("1 us + S / 100 GB/s"), std::string::npos);
  EXPECT_NE(text.find("note: a guess"), std::string::npos);
}

}  // namespace
}  // namespace stepscope
