// SPDX-License-Identifier: Apache-2.0
#include "stepscope/write/json_text.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace stepscope {
namespace {

std::string string_of(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

std::string microseconds(std::int64_t ns) {
  std::string out;
  append_microseconds(out, Ns{ns});
  return out;
}

TEST(JsonText, EscapesWhatJsonReserves) {
  EXPECT_EQ(string_of("a\"b\\c\n\x01"), R"("a\"b\\c\u000a\u0001")");
  EXPECT_EQ(string_of(""), "\"\"");
}

TEST(JsonText, KeepsUtf8AndReplacesWhatIsNone) {
  EXPECT_EQ(string_of("gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x9A\x80"),
            "\"gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x9A\x80\"");
  const std::string bad = "\"\xEF\xBF\xBD\"";
  EXPECT_EQ(string_of("\xFF"), bad);
  EXPECT_EQ(string_of("\xC0\xAF"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");  // an overlong slash
  EXPECT_EQ(string_of("\xE2\x82"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");  // truncated
  EXPECT_EQ(string_of("\xED\xA0\x80").size(), 11U);                  // a surrogate: three U+FFFD
}

TEST(JsonText, OfAnyBytesIsValidJson) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  EXPECT_TRUE(nlohmann::json::accept(string_of(all)));
}

TEST(JsonText, TimesKeepEveryNanosecond) {
  EXPECT_EQ(microseconds(0), "0.000");
  EXPECT_EQ(microseconds(7), "0.007");
  EXPECT_EQ(microseconds(1'234'567), "1234.567");
  EXPECT_EQ(microseconds(-1'050), "-1.050");
  EXPECT_EQ(microseconds(1'700'000'000'123'456'789), "1700000000123456.789");
}

TEST(JsonText, IntegersReachBothEnds) {
  std::string out;
  append_integer(out, std::numeric_limits<std::int64_t>::min());
  append_integer(out, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(out, "-92233720368547758089223372036854775807");
}

}  // namespace
}  // namespace stepscope
