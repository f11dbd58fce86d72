// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/inputs/traces_flags.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace stepscope {
namespace {

// What is wrong with the flags, or empty.
std::string complaint(TracesFlags flags) {
  const auto request = traces_request(flags);
  return request ? std::string() : request.error().message();
}

TracesFlags with_steps(std::string text) {
  TracesFlags flags;
  flags.steps = std::move(text);
  return flags;
}

TracesFlags with_ranks(std::string text) {
  TracesFlags flags;
  flags.ranks = std::move(text);
  return flags;
}

using Range = std::pair<std::optional<std::int64_t>, std::optional<std::int64_t>>;

TEST(TracesFlags, StepsAreARangeWithBothEndsAnOpenOneOrANumber) {
  const std::vector<std::pair<std::string, Range>> forms = {
      {"3:7", {3, 7}},           {"3-7", {3, 7}}, {"3:", {3, std::nullopt}},
      {":7", {std::nullopt, 7}}, {"5", {5, 5}},   {"0:0", {0, 0}}};
  for (const auto& [text, range] : forms) {
    TracesFlags flags = with_steps(text);
    const auto request = traces_request(flags);
    ASSERT_TRUE(request) << text;
    EXPECT_EQ(Range(request->first_step, request->last_step), range) << text;
  }
}

TEST(TracesFlags, StepsThatAreNoRangeAreRefusedWithTheFormToWrite) {
  for (const char* text :
       {"x", "7:3", ":", "1:2:3", "-4", "4-", "7-3", "1.5", "3:y", " 3", "99999999999999999999"})
    EXPECT_NE(complaint(with_steps(text)).find("write A:B"), std::string::npos) << text;
}

TEST(TracesFlags, AWindowIsTwoInstantsWithUnitsEitherOfThemOpen) {
  const auto window = [](const char* text) {
    TracesFlags flags;
    flags.window = text;
    const auto request = traces_request(flags);
    EXPECT_TRUE(request) << text;
    return std::pair(request->window->from.count(), request->window->until.count());
  };
  constexpr std::int64_t open = Ns::max().count();
  EXPECT_EQ(window("10s:20s"), std::pair(10'000'000'000L, 20'000'000'000L));
  EXPECT_EQ(window("500ms:"), std::pair(500'000'000L, open));
  EXPECT_EQ(window(":1.5s"), std::pair(0L, 1'500'000'000L));
  EXPECT_EQ(window("0/7us"), std::pair(0L, 7000L));
  for (const char* text : {"10:20", "10s", "20s:10s", "5s:5s", "-1s:5s", "s:5s", "1s:2s:3s",
                           "1h:2h", "nan:", "1e99s:"}) {
    TracesFlags flags;
    flags.window = text;
    EXPECT_NE(complaint(flags).find("--filter-time"), std::string::npos) << text;
  }
}

TEST(TracesFlags, RanksAreNumbersAndRanges) {
  TracesFlags flags = with_ranks("0,2,8-10");
  const auto request = traces_request(flags);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->ranks, (std::set<int>{0, 2, 8, 9, 10}));
  EXPECT_TRUE(traces_request({})->ranks.empty());
}

TEST(TracesFlags, RanksThatAreNoListAreRefused) {
  for (const char* text : {"a", "3-1", ",", "1,,2", "-1", "1-", "0-99999999999"})
    EXPECT_NE(complaint(with_ranks(text)).find("--ranks"), std::string::npos) << text;
}

TEST(TracesFlags, GroupsComeFromAFileAndAWrongLineIsNamed) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("stepscope_groups_" + std::to_string(::getpid()) + ".txt");
  TracesFlags flags;
  flags.groups_file = path.string();
  EXPECT_NE(complaint(flags).find("No such file"), std::string::npos);
  std::ofstream(path) << "0 dp\n1 nonsense\n";
  EXPECT_NE(complaint(flags).find("line 2"), std::string::npos) << complaint(flags);
  std::ofstream(path) << "0 dp\n1 tp\n";
  EXPECT_EQ(complaint(flags), "");
  std::filesystem::remove(path);
}

TEST(TracesFlags, ANumberThatMustBePositiveIsRefusedInOneShortLine) {
  CLI::App app;
  TracesFlags flags;
  declare_traces(app, flags);
  try {
    app.parse("trace.json --tp -1");
    FAIL() << "accepted";
  } catch (const CLI::ParseError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("-1 is no whole number from 1 to 10000000"), std::string::npos) << text;
    EXPECT_LT(text.size(), 80U);
  }
}

}  // namespace
}  // namespace stepscope
