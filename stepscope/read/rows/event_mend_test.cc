// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/rows/event_mend.h"

#include <gtest/gtest.h>

#include <vector>

namespace stepscope {
namespace {

struct Mended {
  Scan scan = Scan::malformed;
  std::size_t consumed = 0;
  RawEvent event;
  [[nodiscard]] std::string_view text(Field f) const { return event[f].text(); }
};
Mended mend(std::string_view text, bool more = false) {
  Mended m;
  m.scan = mend_event(text, more, m.consumed, m.event);
  return m;
}

TEST(EventMend, AQuoteEndsAStringOnlyWhereSomethingMayFollowIt) {
  const std::string_view text =
      R"({"name": "a "b", c" d", "ph": "X", "args": {"correlation": 4}}, {)";
  const Mended m = mend(text);
  ASSERT_EQ(m.scan, Scan::complete);
  EXPECT_EQ(m.text(Field::name), R"(a "b", c" d)");
  EXPECT_EQ(m.text(Field::correlation), "4");
  EXPECT_EQ(text.substr(m.consumed), ", {");
}

TEST(EventMend, BackslashesAreEscapesUnlessTheEventReadsBetterWithout) {
  EXPECT_EQ(mend(R"({"ph": "X", "name": "a \"b\" "c"", "ts": 1})").text(Field::name),
            R"(a \"b\" "c")");
  const Mended m =
      mend(R"({"ph": "X", "name": "C:\", "ts": 1, "args": {"kind": "x"}}, {"ph": "X"})");
  EXPECT_EQ(m.text(Field::name), R"(C:\)");
  EXPECT_TRUE(m.event.has(Field::ts));
}

TEST(EventMend, TheAnswerDoesNotDependOnWhereTheTextWasCut) {
  const std::string_view text =
      R"({"ph": "X", "name": "C:\", "ts": 1, "args": {"s": "a "b"",
          "l": ["x "y"", {"z": [1]}]}}, {"ph": "X", "name": "n"})";
  const Mended whole = mend(text);
  ASSERT_EQ(whole.scan, Scan::complete);
  for (std::size_t cut = 1; cut <= text.size(); ++cut) {
    const Mended part = mend(text.substr(0, cut), true);
    if (part.scan == Scan::incomplete) continue;
    ASSERT_EQ(part.scan, Scan::complete) << cut;
    EXPECT_EQ(part.consumed, whole.consumed);
    EXPECT_EQ(part.event.seen, whole.event.seen);
  }
}

TEST(EventMend, AStringThatRunsIntoTheNextEventIsGivenUp) {
  EXPECT_EQ(mend(R"({"ph": "X" 5}, {"ph": "X", "name": "n", "ts": 1})").scan, Scan::malformed);
  EXPECT_EQ(mend(R"({"ph": "X", "name": "open}, {"ph": "X", "name": "n"})").scan, Scan::malformed);
}

TEST(EventMend, WhatCannotBeAnEventIsMalformedAndWhatEndsEarlyIncomplete) {
  for (const std::string_view text :
       {R"({"ph" 3})", R"({1: 2})", R"({"ph": })", R"({"a": [1})", R"({"name": "no phase"})"})
    EXPECT_EQ(mend(text).scan, Scan::malformed) << text;
  EXPECT_EQ(mend("{\"ph\": \"X\", \"a\": " + std::string(100, '[')).scan, Scan::malformed);
  for (const std::string_view text :
       {R"({)", R"({"p)", R"({"ph")", R"({"ph": "X)", R"({"ph": "X")", R"({"ph": "X", )",
        R"({"ph": "X", "a": [1, )", R"({"ph": "X", "ts": 12)"})
    EXPECT_EQ(mend(text).scan, Scan::incomplete) << text;
}

TEST(EventMend, MembersAreWalkedAtTheTopOnly) {
  std::vector<std::string> keys;
  EXPECT_TRUE(walk_members(R"({"a": 1, "b": {"c": 2}, "d": [{"e": 3}]})",
                           [&](std::string_view key, const RawValue&) { keys.emplace_back(key); }));
  EXPECT_EQ(keys, (std::vector<std::string>{"a", "b", "d"}));
  EXPECT_FALSE(walk_members("[1]", [](std::string_view, const RawValue&) {}));
  EXPECT_FALSE(walk_members(R"({"a": 1)", [](std::string_view, const RawValue&) {}));
}

TEST(EventMend, EventStartsStandBehindACommaOrBracketAndBeforeAKnownKey) {
  const std::string_view text =
      R"([ {"ph": 1}, {"x": 2}, "a {", {"name": 3, "ph": 1}], "devices": [{"id": 0}, {"name": 4}])";
  const std::size_t first = text.find(R"({"ph")");
  const std::size_t second = text.find(R"({"name": 3)");
  EXPECT_EQ(find_event_start(text, 0), first);
  EXPECT_EQ(find_event_start(text, first + 1), second);
  EXPECT_EQ(find_last_event_start(text), second);  // the others have no phase
  EXPECT_EQ(find_last_event_start(R"({"ph": 1})"), not_found);
  EXPECT_EQ(find_event_start("no object", 0), not_found);
}

TEST(EventMend, UnescapingKeepsWhatIsNoEscape) {
  EXPECT_EQ(unescape(R"(\"\\\/\b\f\n\r\t)"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(unescape(R"(\u0041\u00e9\u20AC\uD83D\uDE00)"), "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  EXPECT_EQ(unescape(R"(\ud83dx\udc00)"), "\xEF\xBF\xBDx\xEF\xBF\xBD");
  EXPECT_EQ(unescape(R"(\u00g1\u12\q)"), R"(\u00g1\u12\q)");
  EXPECT_EQ(unescape("end\\"), "end\\");
}

}  // namespace
}  // namespace stepscope
