// SPDX-License-Identifier: Apache-2.0
#include "stepscope/face/help/suggest.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(Suggest, CountsInsertedDeletedReplacedAndSwappedLetters) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("plan", ""), 4U);
  EXPECT_EQ(edit_distance("analyze", "analyse"), 1U);
  EXPECT_EQ(edit_distance("steps", "step"), 1U);
  EXPECT_EQ(edit_distance("palns", "plans"), 1U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(Suggest, NamesThatAreFarAreNotSuggested) {
  const std::vector<std::string> known = {"analyze", "plan", "predict", "bucket", "json"};
  EXPECT_EQ(likely_names("analyse", known), std::vector<std::string>{"analyze"});
  EXPECT_EQ(likely_names("Plan", known), std::vector<std::string>{"plan"});
  EXPECT_EQ(likely_names("bucket-mb", known), std::vector<std::string>{"bucket"});
  EXPECT_EQ(likely_names("ana", known), std::vector<std::string>{"analyze"});
  EXPECT_TRUE(likely_names("xyzzy", known).empty());
  EXPECT_TRUE(likely_names("", known).empty());
  EXPECT_TRUE(likely_names(std::string(100000, 'a'), known).empty());
}

struct Program {
  CLI::App app{"", "stepscope"};
  CLI::App* analyze = app.add_subcommand("analyze");
  CLI::App* plan = app.add_subcommand("plan");
  CLI::App* predict = app.add_subcommand("predict");
  std::string text;

  Program() {
    analyze->add_option("--steps", text);
    analyze->add_option("--json", text);
    plan->add_option("--gpus", text);
    predict->add_option("--gpus", text);
    predict->add_option("--restarted", text)->group("");
  }
};

TEST(Suggest, AVerbIsSuggestedOrTheListNamed) {
  const Program p;
  EXPECT_EQ(unknown_verb(p.app, "analyse"), "there is no verb analyse; did you mean analyze?");
  EXPECT_EQ(unknown_verb(p.app, "version"),
            "there is no verb version; stepscope --version shows it");
  EXPECT_EQ(unknown_verb(p.app, "bogus"), "there is no verb bogus; stepscope --help lists them");
}

TEST(Suggest, AFlagOfOtherProgramsHasItsCounterpart) {
  const Program p;
  EXPECT_EQ(unknown_flag(*p.analyze, "--version"),
            "analyze has no flag --version; stepscope --version shows it");
  EXPECT_EQ(unknown_flag(*p.analyze, "--output=x"),
            "analyze has no flag --output; write --json TEXT");
  EXPECT_EQ(unknown_flag(*p.plan, "-o"),
            "plan has no flag -o; stepscope help plan lists the flags");
  EXPECT_EQ(
      unknown_flag(*p.plan, "--no-progress"),
      "plan has no flag --no-progress; progress is drawn on a terminal only, and --quiet leaves "
      "it out");
  EXPECT_EQ(unknown_flag(*p.plan, "--no-color"),
            "plan has no flag --no-color; colours are for a terminal only, and NO_COLOR=1 turns "
            "them off");
}

TEST(Suggest, AFlagOfAnotherVerbIsSaidToBe) {
  const Program p;
  EXPECT_EQ(unknown_flag(*p.analyze, "--gpus"),
            "analyze has no flag --gpus; it is a flag of plan and predict");
  EXPECT_EQ(unknown_flag(*p.analyze, "--step=3"),
            "analyze has no flag --step; did you mean --steps?");
  EXPECT_EQ(unknown_flag(*p.analyze, "-json"), "analyze has no flag -json; did you mean --json?");
  EXPECT_EQ(unknown_flag(*p.analyze, "--restarted"),
            "analyze has no flag --restarted; stepscope help analyze lists the flags");
}

}  // namespace
}  // namespace stepscope
