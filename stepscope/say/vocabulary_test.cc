// SPDX-License-Identifier: Apache-2.0
#include "stepscope/say/vocabulary.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace stepscope {
namespace {

TEST(Vocabulary, KeysAndLabelsAreUniqueWithinAGroup) {
  for (const TermGroup& group : term_groups()) {
    std::set<std::string_view> keys;
    std::set<std::string_view> labels;
    for (const Term& t : terms_of(group.name)) {
      EXPECT_TRUE(keys.insert(t.key).second) << group.name << '.' << t.key;
      EXPECT_TRUE(labels.insert(t.label).second || group.name == "dtype") << t.label;
    }
    EXPECT_FALSE(keys.empty()) << group.name;
  }
}

TEST(Vocabulary, ExplanationsAreSentences) {
  for (const TermGroup& group : term_groups())
    for (const Term& t : terms_of(group.name)) {
      EXPECT_FALSE(t.label.empty()) << t.key;
      EXPECT_TRUE(t.explanation.empty() || t.explanation.ends_with('.')) << t.key;
      EXPECT_EQ(t.label.find('|'), std::string_view::npos) << t.key;
      EXPECT_EQ(t.explanation.find('|'), std::string_view::npos) << t.key;
    }
}

TEST(Vocabulary, EveryCategoryOfTheBudgetIsExplained) {
  for (const Term& t : terms_of("budget")) {
    EXPECT_FALSE(t.explanation.empty()) << t.key;
    EXPECT_LE((t.brief.empty() ? t.label : t.brief).size(), 12U) << t.key;
  }
}

TEST(Vocabulary, RunsWithoutADeviceHaveTheirOwnLabels) {
  EXPECT_EQ(label_of("budget", "idle_host"), "waiting for the host");
  EXPECT_EQ(label_of("budget", "idle_host", true), "between operators");
  EXPECT_EQ(label_of("budget", "compute", true), "compute");
  EXPECT_TRUE(terms_of("no such group").empty());
}

TEST(Vocabulary, TheGlossaryHasEveryTerm) {
  const std::string text = glossary();
  for (const TermGroup& group : term_groups()) {
    EXPECT_NE(text.find("\n## " + std::string(group.title) + "\n"), std::string::npos);
    for (const Term& t : terms_of(group.name))
      EXPECT_NE(text.find("| `" + std::string(t.key) + "` | " + std::string(t.label)),
                std::string::npos)
          << t.key;
  }
}

}  // namespace
}  // namespace stepscope
