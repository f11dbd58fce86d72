// SPDX-License-Identifier: Apache-2.0
// Each verb and each flag describes itself, so that help, man pages, completion and docs can.
#include "stepscope/cli/subcommand.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <sstream>

#include "stepscope/face/help/completion.h"
#include "stepscope/face/help/flag_view.h"
#include "stepscope/face/help/help_text.h"
#include "stepscope/face/help/man_page.h"
#include "stepscope/verbs/inputs/printed_block.h"

namespace stepscope {
namespace {

constexpr std::size_t width = 80;

class CommandLineShape : public testing::Test {
 protected:
  CommandLine line = declare_command_line(width);
  const CLI::App& program = *line.app;

  [[nodiscard]] std::vector<const CLI::App*> verbs() const {
    return program.get_subcommands([](const CLI::App*) { return true; });
  }
};

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::size_t characters(const std::string& line) {
  return static_cast<std::size_t>(std::ranges::count_if(
      line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

// Begins with a capital letter. Each of several sentences ends with a full stop; a single sentence
// has no full stop.
void expect_style(const std::string& what, const std::string& where) {
  ASSERT_FALSE(what.empty()) << where;
  EXPECT_EQ(std::islower(static_cast<unsigned char>(what.front())), 0) << where << ": " << what;
  const bool several = what.find(". ") != std::string::npos;
  EXPECT_EQ(several, what.ends_with('.') && !what.ends_with("...")) << where << ": " << what;
}

// The commands of a remedy: what follows "stepscope", up to the first plain word.
std::vector<std::vector<std::string>> commands_in(std::string_view remedy) {
  std::vector<std::vector<std::string>> commands;
  std::istringstream in{std::string(remedy)};
  const auto is_argument = [](const std::string& word) {
    return word.starts_with('-') || word.starts_with('{') ||
           std::isupper(static_cast<unsigned char>(word.front())) != 0 ||
           word.find_first_of("_=") != std::string::npos;
  };
  bool verb = false;
  bool open = false;
  for (std::string word; in >> word;) {
    if (verb) commands.push_back({word});
    open = verb || (open && is_argument(word));
    if (open && !verb) commands.back().push_back(word);
    verb = word == "stepscope";
  }
  return commands;
}

// With values in their places.
std::string filled(const std::string& word) {
  static const std::map<std::string, std::string> values = {
      {"N", "8"}, {"SIZE", "1MB"}, {"STAGES", "2"}, {"UNIT", "s"}, {"COMMAND", "true"}};
  const auto found = values.find(word);
  return found == values.end() ? word : found->second;
}

TEST_F(CommandLineShape, TheRemediesOfPrintedBlocksAreCommands) {
  std::set<std::string_view> remedies;
  for (const PrintedBlock& block : printed_blocks()) remedies.insert(block.remedy);
  EXPECT_GE(remedies.size(), 20U);
  for (const std::string_view remedy : remedies) {
    const std::vector<std::vector<std::string>> commands = commands_in(remedy);
    for (const std::vector<std::string>& command : commands) {
      std::vector<std::string> words;
      for (const std::string& word : command)
        words.push_back(word == "NAME" && words.back() == "--collective" ? "all_reduce"
                                                                         : filled(word));
      std::ranges::reverse(words);
      EXPECT_NO_THROW(declare_command_line(width).app->parse(words)) << remedy;
      if (remedy.find("size_bytes") == std::string_view::npos || command.front() != "calibrate")
        continue;  // other files name their machine and ranks
      EXPECT_NE(std::ranges::find(command, "--machine"), command.end()) << remedy;
      EXPECT_NE(std::ranges::find(command, "--ranks"), command.end()) << remedy;
    }
  }
}

TEST_F(CommandLineShape, EveryVerbHasASummaryAGroupAndAPage) {
  for (const Verb& verb : verb_table()) {
    EXPECT_LE(verb.summary.size(), width - 14) << verb.name;
    EXPECT_TRUE(verb.page.ends_with(".md")) << verb.name;
    EXPECT_NE(find_verb(program, verb.name), nullptr);
  }
}

TEST_F(CommandLineShape, EveryVerbHasADescriptionAndAtMostTenCommonFlags) {
  for (const CLI::App* verb : verbs()) {
    EXPECT_TRUE(verb->get_description().ends_with('.')) << verb->get_name();
    for (const FlagGroup& group : flag_groups(*verb)) {
      EXPECT_NE(group.name, "Options") << verb->get_name() << ": flags without a group";
      EXPECT_TRUE(group.name != common_group || group.flags.size() <= most_common_flags)
          << verb->get_name();
    }
  }
}

TEST_F(CommandLineShape, EveryFlagHasATypeOrIsASwitchAndADescription) {
  const std::set<std::string> of_cli11 = {"TEXT", "INT", "UINT", "FLOAT", "BOOLEAN"};
  for (const CLI::App* verb : verbs())
    for (const FlagView& flag : flags_of(*verb)) {
      const std::string where = verb->get_name() + " " + flag.name;
      expect_style(flag.what, where);
      EXPECT_FALSE(of_cli11.contains(flag.value)) << where;
    }
}

TEST_F(CommandLineShape, TheSameFlagHasTheSameTypeInAllVerbs) {
  // Which ranks or steps in verbs that read traces, how many in those that run; a trace to read, or
  // a directory to write; the places of states; a plan or a profile to compare with.
  const std::set<std::string> of_two_meanings = {"--ranks",   "--steps", "--trace", "--gpus",
                                                 "--against", "--vary",  "--keep",  "--offload"};
  std::map<std::string, std::pair<std::string, std::string>> first;
  for (const CLI::App* verb : verbs())
    for (const FlagView& flag : flags_of(*verb)) {
      if (flag.argument || of_two_meanings.contains(flag.name)) continue;
      // A list of words may be shorter where a verb knows fewer of them.
      const std::string type = flag.choices.size() > 1 ? "words" : flag.value;
      const auto [it, fresh] = first.emplace(flag.name, std::pair(type, verb->get_name()));
      EXPECT_EQ(it->second.first, type)
          << flag.name << " of " << verb->get_name() << " and of " << it->second.second;
    }
}

TEST_F(CommandLineShape, HelpFitsTheTerminal) {
  std::vector<const CLI::App*> all = verbs();
  all.push_back(&program);
  for (const CLI::App* app : all) {
    const std::string text = help_text(*app, verb_table(), width);
    for (const std::string& l : lines_of(text))
      EXPECT_LE(characters(l), width) << app->get_name() << ": " << l;
    EXPECT_NE(text.find("\nExit codes: 0 done, 1 failed"), std::string::npos);
    EXPECT_NE(text.find("\nUsage: stepscope "), std::string::npos);
  }
}

TEST_F(CommandLineShape, HelpOfTheProgramListsVerbsByTask) {
  const std::string text = help_text(program, verb_table(), width);
  std::size_t at = 0;
  for (const char* part : {"Usage: stepscope VERB", "Understand a run:", "  analyze ", "  hang ",
                           "Compare:", "  sweep ", "Plan ahead:", "  calibrate ",
                           "Train:", "  train ", "Examples:", "stepscope help VERB"}) {
    at = text.find(part, at);
    ASSERT_NE(at, std::string::npos) << part << "\n" << text;
  }
}

TEST_F(CommandLineShape, HelpOfAVerbBeginsWithCommonFlagsAndEndsWithAPage) {
  const std::string text = help_text(*find_verb(program, "analyze"), verb_table(), width);
  std::size_t at = 0;
  for (const char* part :
       {"Accounts for", "Usage: stepscope analyze INPUT... [flags]", "Arguments:", "  INPUT...",
        "Common flags:", "  --steps A:B", "  --json FILE", "\nOutputs:", "\nHelp:", "  -h, --help",
        "Example", "More: docs/how-to/analyze-your-traces.md"}) {
    at = text.find(part, at);
    ASSERT_NE(at, std::string::npos) << part << "\n" << text;
  }
}

TEST_F(CommandLineShape, CommandsWrapWithAFlagAndItsValueTogether) {
  EXPECT_EQ(wrapped_command("stepscope plan m --gpus 8 --json 'a b' -- x", 24),
            (std::vector<std::string>{"stepscope plan m \\", "    --gpus 8 \\",
                                      "    --json 'a b' -- x"}));
  EXPECT_EQ(wrapped_lines("aa bb  cc", 5), (std::vector<std::string>{"aa bb", "cc"}));
}

TEST_F(CommandLineShape, ManPagesHaveTheirSections) {
  for (const CLI::App* verb : verbs()) {
    const std::string page = man_page(*verb, verb_table(), "1.2");
    for (const char* section : {".TH STEPSCOPE", ".SH NAME\n", ".SH SYNOPSIS\n", ".SH OPTIONS\n",
                                ".SH EXIT STATUS\n", ".SH SEE ALSO\n"})
      EXPECT_NE(page.find(section), std::string::npos) << verb->get_name() << section;
  }
  const std::string page = man_page(*find_verb(program, "plan"), verb_table(), "1.2");
  EXPECT_NE(page.find("\\fB\\-\\-gpus\\fR \\fIN|A:B\\fR\n"), std::string::npos) << page;
  EXPECT_NE(man_page(program, verb_table(), "1.2").find(".BR stepscope\\-plan (1),\n"),
            std::string::npos);
}

TEST_F(CommandLineShape, CompletionKnowsVerbsFlagsWordsFilesAndDirectories) {
  const std::string bash = bash_completion(program, verb_table());
  for (const char* part : {"--unit) _stepscope_words 'ns us ms s'", "--csv) _stepscope_directories",
                           "--html) _stepscope_files ''", "analyze)", "h100_sxm_80gb"})
    EXPECT_NE(bash.find(part), std::string::npos) << part;
  EXPECT_EQ(bash.find("--restarted"), std::string::npos);  // hidden
  EXPECT_EQ(bash.find("    man)"), std::string::npos);
  EXPECT_NE(zsh_completion(program, verb_table()).find("'--csv["), std::string::npos);
  EXPECT_NE(fish_completion(program, verb_table()).find("-l csv"), std::string::npos);
}

}  // namespace
}  // namespace stepscope
