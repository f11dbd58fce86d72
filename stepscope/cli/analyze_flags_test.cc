// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cli/analyze_flags.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace stepscope {
namespace {

// What is wrong with the flags, or empty.
std::string complaint(AnalyzeFlags flags) {
  const auto resolved = resolve(flags);
  return resolved ? std::string() : resolved.error().message();
}

AnalyzeFlags with_steps(std::string text) {
  AnalyzeFlags flags;
  flags.steps_text = std::move(text);
  return flags;
}

AnalyzeFlags with_ranks(std::string text) {
  AnalyzeFlags flags;
  flags.ranks_text = std::move(text);
  return flags;
}

using Range = std::pair<std::optional<std::int64_t>, std::optional<std::int64_t>>;

TEST(AnalyzeFlags, StepsAreARangeWithBothEndsAnOpenOneOrANumber) {
  const std::vector<std::pair<std::string, Range>> forms = {{"3:7", {3, 7}},
                                                            {"3:", {3, std::nullopt}},
                                                            {":7", {std::nullopt, 7}},
                                                            {"5", {5, 5}},
                                                            {"0:0", {0, 0}}};
  for (const auto& [text, range] : forms) {
    AnalyzeFlags flags = with_steps(text);
    ASSERT_TRUE(resolve(flags)) << text;
    EXPECT_EQ(Range(flags.first_step, flags.last_step), range) << text;
  }
}

TEST(AnalyzeFlags, StepsThatAreNoRangeAreRefusedWithTheFormToWrite) {
  for (const char* text :
       {"x", "7:3", ":", "1:2:3", "-4", "1.5", "3:y", " 3", "99999999999999999999"})
    EXPECT_NE(complaint(with_steps(text)).find("write A:B"), std::string::npos) << text;
}

TEST(AnalyzeFlags, AWindowIsTwoInstantsWithUnitsEitherOfThemOpen) {
  const auto window = [](const char* text) {
    AnalyzeFlags flags;
    flags.window_text = text;
    EXPECT_TRUE(resolve(flags)) << text;
    return std::pair(flags.window->from.count(), flags.window->until.count());
  };
  constexpr std::int64_t open = Ns::max().count();
  EXPECT_EQ(window("10s/20s"), std::pair(10'000'000'000L, 20'000'000'000L));
  EXPECT_EQ(window("500ms/"), std::pair(500'000'000L, open));
  EXPECT_EQ(window("/1.5s"), std::pair(0L, 1'500'000'000L));
  EXPECT_EQ(window("0/7us"), std::pair(0L, 7000L));
  for (const char* text : {"10/20", "10s", "20s/10s", "5s/5s", "-1s/5s", "s/5s", "1s/2s/3s",
                           "1h/2h", "nan/", "1e99s/"}) {
    AnalyzeFlags flags;
    flags.window_text = text;
    EXPECT_NE(complaint(flags).find("--filter-time"), std::string::npos) << text;
  }
}

TEST(AnalyzeFlags, RanksAreNumbersAndRanges) {
  AnalyzeFlags flags = with_ranks("0,2,8-10");
  ASSERT_TRUE(resolve(flags));
  EXPECT_EQ(flags.ranks, (std::set<int>{0, 2, 8, 9, 10}));
  AnalyzeFlags all;
  ASSERT_TRUE(resolve(all));
  EXPECT_TRUE(all.ranks.empty());
}

TEST(AnalyzeFlags, RanksThatAreNoListAreRefused) {
  for (const char* text : {"a", "3-1", ",", "1,,2", "-1", "1-", "0-99999999999"})
    EXPECT_NE(complaint(with_ranks(text)).find("--ranks"), std::string::npos) << text;
}

TEST(AnalyzeFlags, GroupsComeFromAFileAndAWrongLineIsNamed) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("stepscope_groups_" + std::to_string(::getpid()) + ".txt");
  AnalyzeFlags flags;
  flags.groups_file = path.string();
  EXPECT_NE(complaint(flags).find("cannot open"), std::string::npos);
  std::ofstream(path) << "0 dp\n1 nonsense\n";
  EXPECT_NE(complaint(flags).find("line 2"), std::string::npos) << complaint(flags);
  std::ofstream(path) << "0 dp\n1 tp\n";
  EXPECT_EQ(complaint(flags), "");
  std::filesystem::remove(path);
}

TEST(AnalyzeFlags, AnUnknownNumberFormatIsRefused) {
  AnalyzeFlags flags;
  flags.dtype_text = "int3";
  EXPECT_NE(complaint(flags).find("--peak-dtype int3"), std::string::npos);
  flags.dtype_text = "bf16";
  EXPECT_EQ(complaint(flags), "");
}

TEST(AnalyzeFlags, FiguresThatWereNotGivenStayAbsent) {
  AnalyzeFlags flags;
  ASSERT_TRUE(resolve(flags));
  EXPECT_TRUE(flags.model_flops.empty());
  EXPECT_FALSE(flags.peak || flags.price || flags.dtype || flags.machine);
  EXPECT_GE(flags.threads, 1U);
  flags.peak_tflops = 989;
  flags.model_flops_per_step = 2e15;
  ASSERT_TRUE(resolve(flags));
  EXPECT_DOUBLE_EQ(flags.peak->value, 989e12);
  ASSERT_EQ(flags.model_flops.size(), 1U);
  EXPECT_DOUBLE_EQ(flags.model_flops[0].per_step.value, 2e15);
  EXPECT_EQ(flags.model_flops[0].convention, flops_as_given);
}

TEST(AnalyzeFlags, AModelGivesItsFlopsByEveryConvention) {
  AnalyzeFlags flags;
  flags.model_name = "llama-2-7b";
  EXPECT_NE(complaint(flags).find("--global-batch N and --seq N"), std::string::npos);
  flags.global_batch = 4;
  flags.sequence = 2048;
  ASSERT_TRUE(resolve(flags));
  ASSERT_EQ(flags.model_flops.size(), flops_convention_count);
  EXPECT_EQ(flags.model_flops[0].convention, "causal attention halved");
  // 6 N T, N = 6,738,415,616.
  EXPECT_NEAR(flags.model_flops[1].per_step.value / (6 * 6738415616.0 * 4 * 2048), 1, 1e-4);
  flags.model_flops_per_step = 2e15;
  EXPECT_NE(complaint(flags).find("two answers"), std::string::npos);
}

TEST(AnalyzeFlags, ABatchWithoutAModelAndAnUnknownModelAreRefused) {
  AnalyzeFlags flags;
  flags.sequence = 2048;
  EXPECT_NE(complaint(flags).find("give --model NAME"), std::string::npos);
  flags.model_name = "llama2-7b";
  flags.global_batch = 1;
  EXPECT_NE(complaint(flags).find("did you mean llama-2-7b"), std::string::npos);
}

TEST(AnalyzeFlags, APlanIsOfAModelAndAFileOfItHasTheBatch) {
  CLI::App app;
  AnalyzeFlags flags;
  declare(app, flags);
  app.parse("trace.json --micro-batch 4 --zero 3");
  EXPECT_NE(complaint(flags).find("give --model NAME"), std::string::npos);

  const auto path = std::filesystem::temp_directory_path() /
                    ("stepscope_flags_" + std::to_string(getpid()) + ".json");
  std::ofstream(path) << R"({"devices": 8, "global_batch": 32, "sequence": 4096})";
  AnalyzeFlags with_file;
  with_file.model_name = "llama-2-7b";
  with_file.plan.plan_file = path.string();
  EXPECT_EQ(complaint(with_file), "");
  ASSERT_TRUE(resolve(with_file));
  EXPECT_EQ(with_file.global_batch, 32);
  EXPECT_EQ(with_file.sequence, 4096);
  EXPECT_TRUE(with_file.model);
  std::filesystem::remove(path);
  EXPECT_NE(complaint(with_file), "");
}

TEST(AnalyzeFlags, ANumberThatMustBePositiveIsRefusedInOneShortLine) {
  CLI::App app;
  AnalyzeFlags flags;
  declare(app, flags);
  try {
    app.parse("trace.json --peak-tflops -1");
    FAIL() << "accepted";
  } catch (const CLI::ParseError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("-1 is no positive number"), std::string::npos) << text;
    EXPECT_LT(text.size(), 80U);
  }
}

}  // namespace
}  // namespace stepscope
