// SPDX-License-Identifier: Apache-2.0
#include "stepscope/face/help/slips.h"

#include <gtest/gtest.h>

#include <vector>

namespace stepscope {
namespace {

std::string slip_of(const std::vector<std::string>& words) {
  CLI::App program{"", "stepscope"};
  CLI::App* verb = program.add_subcommand("analyze");
  std::vector<std::string> inputs;
  std::string steps;
  std::string peak;
  verb->add_option("INPUT", inputs)->type_name("PATH");
  verb->add_option("--steps", steps)->type_name("A:B")->group("Inputs");
  verb->add_option("--peak-tflops", peak)->type_name("NUMBER")->group("Inputs");
  std::vector<std::string> reversed(words.rbegin(), words.rend());
  reversed.emplace_back("analyze");
  program.parse(reversed);
  return slip_in(*verb);
}

TEST(Slips, OfTheHandHaveTheirRemedy) {
  EXPECT_EQ(slip_of({"t", "–steps", "3:5"}), "–steps begins with a dash of a text; write --steps");
  EXPECT_EQ(slip_of({"t", "—v"}), "—v begins with a dash of a text; write -v");
  EXPECT_EQ(slip_of({"“t”"}), "“t” has quotes of a text; write t");
  EXPECT_EQ(slip_of({"t", "--steps", "‘3:5’"}), "‘3:5’ has quotes of a text; write 3:5");
  EXPECT_EQ(slip_of({"t", "peak_tflops=989"}),
            "peak_tflops=989 is no argument; write --peak-tflops 989");
  EXPECT_EQ(slip_of({"t", "--steps", "=", "3:5"}),
            "--steps has no value; write --steps VALUE or --steps=VALUE without blanks");
  EXPECT_EQ(slip_of({"help"}), "help is no argument; write stepscope help analyze");
}

TEST(Slips, AreNotSeenInOtherWords) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"traces", "--steps", "3:5"},
        {"run=3/traces"},
        {"-"},
        {"--steps=3:5", "a–b"},
        {"it's"}})
    EXPECT_EQ(slip_of(words), "") << words.front();
}

TEST(Slips, HelpIsAVerbWhereOneIsAsked) {
  CLI::App program{"", "stepscope"};
  CLI::App* man = program.add_subcommand("man");
  std::string verb;
  man->add_option("VERB", verb)->type_name("VERB");
  program.parse(std::vector<std::string>{"help", "man"});
  EXPECT_EQ(slip_in(*man), "");
}

}  // namespace
}  // namespace stepscope
