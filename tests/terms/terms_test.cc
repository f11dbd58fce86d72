// SPDX-License-Identifier: Apache-2.0
// The vocabulary names the keys of every enumeration that it explains, in their order; every
// finding's id is a term; docs/reference/terms.md is what the vocabulary generates.
// STEPSCOPE_WRITE_TERMS=1 writes that page anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/analysis/budget/budget.h"
#include "stepscope/analysis/collectives/dimensions.h"
#include "stepscope/analysis/steps/phase_names.h"
#include "stepscope/analysis/work/device_memory.h"
#include "stepscope/cost/step/step_cost.h"
#include "stepscope/cost/time/memory_footprint.h"
#include "stepscope/diagnose/culprit.h"
#include "stepscope/diagnose/finding.h"
#include "stepscope/diagnose/verdict.h"
#include "stepscope/event/name_rules.h"
#include "stepscope/fit/mfu_budget.h"
#include "stepscope/fit/step_class.h"
#include "stepscope/say/vocabulary.h"
#include "stepscope/stack/phase_rules.h"

namespace stepscope {
namespace {

const std::filesystem::path root = STEPSCOPE_SOURCE_DIR;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string_view> keys_of(std::string_view group) {
  std::vector<std::string_view> keys;
  for (const Term& t : terms_of(group)) keys.push_back(t.key);
  return keys;
}

void expect_keys(std::string_view group, std::span<const std::string_view> names) {
  EXPECT_TRUE(std::ranges::equal(keys_of(group), names)) << group;
}

TEST(Terms, EachEnumerationHasItsTermsInItsOrder) {
  expect_keys("budget", budget_category_names);
  expect_keys("mfu", mfu_term_names);
  expect_keys("phase", phase_names);
  expect_keys("bound_by", bound_by_names);
  expect_keys("kernel_class", name_class_names);
  expect_keys("dimension", dimension_names);
  expect_keys("step_class", step_class_names);
  expect_keys("step_term", step_term_names);
  expect_keys("predicted_memory", memory_term_names);
  expect_keys("memory_use", memory_use_names);
  expect_keys("phase_kind", phase_kind_names);
  std::vector<std::string_view> confidence = keys_of("confidence");
  std::ranges::reverse(confidence);
  EXPECT_TRUE(std::ranges::equal(confidence, confidence_names));
}

TEST(Terms, EveryFindingIsATerm) {
  static const std::regex id(R"re(\bid = "(\w+)")re");
  std::set<std::string> ids;
  for (const auto& entry :
       std::filesystem::directory_iterator(root / "stepscope/diagnose/findings")) {
    if (!entry.path().filename().string().starts_with("findings_")) continue;
    if (entry.path().filename().string().ends_with("_test.cc")) continue;
    const std::string text = text_of(entry.path());
    for (std::sregex_iterator at(text.begin(), text.end(), id), end; at != end; ++at)
      ids.insert((*at)[1]);
  }
  ids.insert("bucket_too_large");  // chosen in the same place as bucket_too_small
  for (std::size_t i = 0; is_fault(static_cast<CulpritKind>(i)); ++i)
    ids.emplace(culprit_kind_names[i]);
  EXPECT_GT(ids.size(), 25U);
  std::set<std::string> terms;
  for (const std::string_view key : keys_of("finding")) terms.emplace(key);
  EXPECT_EQ(ids, terms);
}

TEST(Terms, TheGlossaryPageIsGenerated) {
  const std::filesystem::path page = root / "docs/reference/terms.md";
  if (std::getenv("STEPSCOPE_WRITE_TERMS") != nullptr) std::ofstream(page) << glossary();
  EXPECT_TRUE(text_of(page) == glossary())
      << "run this test with STEPSCOPE_WRITE_TERMS=1, and look at the difference";
}

}  // namespace
}  // namespace stepscope
