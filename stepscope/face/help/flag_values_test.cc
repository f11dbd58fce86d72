// SPDX-License-Identifier: Apache-2.0
#include "stepscope/face/help/flag_values.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

// What CLI11 says of the line, or empty.
std::string complaint(CLI::App& app, std::string line) {
  try {
    app.parse(std::move(line));
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return {};
}

TEST(FlagValues, TimesAreReadExactly) {
  EXPECT_EQ(parse_duration("1700000000.123456789s"), Ns{1'700'000'000'123'456'789});
  EXPECT_EQ(parse_duration("-0.25s"), Ns{-250'000'000});
  EXPECT_EQ(parse_duration("+12ms"), Ns{12'000'000});
  EXPECT_EQ(parse_duration("1.5us"), Ns{1'500});
  EXPECT_EQ(parse_duration("7ns"), Ns{7});
  EXPECT_EQ(parse_duration("9223372036.854775807s"), Ns::max());
  for (const char* wrong :
       {"", "-", "s", "5", ".5s", "5.s", "1e3s", "9223372036.854775808s", "12345678901s",
        "1.0000000001s", "0.5ns", "1 s", "--1s", "nan", "1.2.3s", "3h", "3S"})
    EXPECT_FALSE(parse_duration(wrong)) << wrong;
}

TEST(FlagValues, SharesArePercentOrFractions) {
  CLI::App app;
  double share = 0.05;
  const CLI::Option* option = as_share(app.add_option("--share", share), 0, 0.5);
  EXPECT_EQ(option->get_default_str(), "5%");
  EXPECT_EQ(complaint(app, "--share 12.5%"), "");
  EXPECT_DOUBLE_EQ(share, 0.125);
  EXPECT_EQ(complaint(app, "--share 0.25"), "");
  EXPECT_DOUBLE_EQ(share, 0.25);
  for (const char* wrong : {"1", "60%", "-1%", "nan%", "%", "x"})
    EXPECT_NE(complaint(app, std::string("--share ") + wrong).find("write 0% to 50%"),
              std::string::npos)
        << wrong;
}

TEST(FlagValues, ABareShareIsPercentWhereTheFlagSaysSo) {
  CLI::App app;
  double share = 0;
  as_share(app.add_option("--share", share), 0, 0.5, 0.01);
  EXPECT_EQ(complaint(app, "--share 2"), "");
  EXPECT_DOUBLE_EQ(share, 0.02);
}

TEST(FlagValues, TimesWithoutAUnitAreSeconds) {
  CLI::App app;
  double seconds = 60;
  const CLI::Option* option = as_seconds(app.add_option("--time", seconds), 0.1, 100);
  EXPECT_EQ(option->get_default_str(), "60s");
  EXPECT_EQ(complaint(app, "--time 200ms"), "");
  EXPECT_DOUBLE_EQ(seconds, 0.2);
  EXPECT_EQ(complaint(app, "--time 3"), "");
  EXPECT_DOUBLE_EQ(seconds, 3);
  for (const char* wrong : {"50ms", "101s", "nan", "3h"})
    EXPECT_NE(complaint(app, std::string("--time ") + wrong).find("as 20ms or 3s"),
              std::string::npos)
        << wrong;
}

TEST(FlagValues, ADefaultOutsideTheRangeMeansNotGiven) {
  CLI::App app;
  int absent = 0;
  int given = 8;
  EXPECT_EQ(as_count(app.add_option("--absent", absent), 1, 100)->get_default_str(), "");
  EXPECT_EQ(as_count(app.add_option("--given", given), 1, 100)->get_default_str(), "8");
  for (const char* wrong : {"0", "101", "1.5", "-1", "x", "99999999999999999999"})
    EXPECT_NE(complaint(app, std::string("--given ") + wrong).find("no whole number from 1 to 100"),
              std::string::npos)
        << wrong;
}

TEST(FlagValues, SizesAndWordsSayWhatToWrite) {
  CLI::App app;
  std::string size = "16MiB";
  std::string word = "ms";
  EXPECT_EQ(as_size(app.add_option("--size", size))->get_default_str(), "16MiB");
  EXPECT_EQ(as_choice(app.add_option("--word", word), {"ms", "s"})->get_type_name(), "ms|s");
  EXPECT_EQ(complaint(app, "--size 25MB --word s"), "");
  EXPECT_NE(complaint(app, "--size 1XB").find("write 25MB (10^6) or 16MiB (2^20)"),
            std::string::npos);
  EXPECT_NE(complaint(app, "--word h").find("h is none of ms, s"), std::string::npos);
}

}  // namespace
}  // namespace stepscope
