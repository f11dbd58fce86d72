// SPDX-License-Identifier: Apache-2.0
#include "stepscope/say/say.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "stepscope/base/plain_bytes.h"

namespace stepscope {
namespace {

struct CatalogueRow {
  MessageKind kind;
  std::string_view name;
  std::size_t places;
  bool sentence;
};
constexpr auto catalogue = std::to_array<CatalogueRow>({
#define SENTENCE(kind, places, text) {MessageKind::kind, #kind, places, true},
#define PART(kind, places, text) {MessageKind::kind, #kind, places, false},
#include "stepscope/say/catalogue.inc"
#undef SENTENCE
#undef PART
});

// Places, and what follows their numbers.
std::set<std::size_t> places_in(std::string_view text, std::string_view name) {
  constexpr auto formats = std::to_array<std::string_view>(
      {":.0f}", ":.1f}", ":.2f}", ":.3f}", ":.4f}", ":.2g}", ":.3g}", ":g}", ":listed}",
       ":processes}", ":^}", ":, }", ":; }", ":. }", ": and }", ": + }", ": · }"});
  std::set<std::size_t> places;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '{') continue;
    std::size_t number = 0;
    std::size_t end = i + 1;
    for (; end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0; ++end)
      number = 10 * number + static_cast<std::size_t>(text[end] - '0');
    EXPECT_GT(end, i + 1) << name;
    places.insert(number);
    const std::string_view rest = text.substr(end);
    const bool known =
        rest.starts_with('}') || rest.starts_with('?') || rest.starts_with('|') ||
        std::ranges::any_of(formats, [&](std::string_view f) { return rest.starts_with(f); });
    EXPECT_TRUE(known) << name << ": " << rest;
  }
  return places;
}

TEST(Say, EachRowOfTheCatalogueIsWellFormed) {
  for (const CatalogueRow& row : catalogue) {
    const std::string_view text = text_of(row.kind);
    const std::set<std::size_t> places = places_in(text, row.name);
    EXPECT_EQ(places.size(), row.places) << row.name;
    EXPECT_TRUE(places.empty() || *places.rbegin() + 1 == row.places) << row.name;
    EXPECT_EQ(std::ranges::count(text, '{'), std::ranges::count(text, '}')) << row.name;
    EXPECT_FALSE(text.empty() || text.ends_with('.') || text.ends_with(' ')) << row.name;
    EXPECT_EQ(text.find("  "), std::string_view::npos) << row.name;
    const bool capital = text.front() == '{' || (text.front() >= 'A' && text.front() <= 'Z');
    EXPECT_TRUE(!row.sentence || capital) << row.name;
  }
}

// Without a value for a number, plurals and choices take their second text.
TEST(Say, EachRowGivesTextWithAndWithoutItsValues) {
  for (const CatalogueRow& row : catalogue)
    for (const Value& value : {Value(), Value(1), Value(std::vector{2}), Value(true)}) {
      const std::string text = say({row.kind, std::vector<Value>(row.places, value)});
      EXPECT_EQ(text.find_first_of("{}|"), std::string::npos) << row.name << ": " << text;
    }
}

TEST(Say, QuantitiesAreWrittenByTheirTypes) {
  const Message m = msg::of_steps(Ns{4'650'000}, Percent{0.123}, false, Nanoseconds(37.9e6));
  EXPECT_EQ(say(m), "4.65 ms (12.3 %) of each step of 37.9 ms");
  EXPECT_TRUE(says_time(msg::costs(false, m), Ns{4'650'001}));
  EXPECT_FALSE(says_time(m, Ns{4'600'000}));
}

TEST(Say, PluralsFollowTheNumber) {
  EXPECT_EQ(say(msg::pauses(1, std::vector{3}, "2", "")),
            "1 long pause of the host on rank 3 cost 2 on average");
  EXPECT_EQ(say(msg::pauses(2, std::vector{0, 4, 8}, "2", "in aten::item")),
            "2 long pauses of the host on ranks 0, 4 and 8 (the longest in aten::item) cost 2 on "
            "average");
  EXPECT_TRUE(say(msg::launches_lost(3, std::vector{1}, false))
                  .starts_with("3 launches of rank 1 have no row of the device: "));
}

TEST(Say, WhatIsAbsentLeavesItsTextOut) {
  EXPECT_EQ(say(msg::process_group("tp0", Value(), std::vector<int>{})), "process group tp0");
  EXPECT_EQ(say(msg::process_group("tp0", "tp", std::vector{1})),
            "process group tp0 (tp), rank 1,");
  EXPECT_EQ(say(msg::cannot_split(std::optional<int>(), 2, true)),
            "; waiting and transfer cannot be distinguished: the ranks' clocks are not comparable");
}

TEST(Say, SentencesBeginWithACapitalAndListsAreJoined) {
  EXPECT_EQ(say(msg::late_host_on_cores(std::vector{1}, Ns{5}, "x")),
            "Rank 1 spends 5 ns a step more than its peers between its operators: x");
  const Message both = joined(msg::sentences, {msg::no_rank_read(), {}, msg::no_plan_fits()});
  EXPECT_EQ(say_stopped(both), "No rank could be read. No plan fits.");
  EXPECT_EQ(joined(msg::sentences, {{}, msg::no_rank_read()}), msg::no_rank_read());
  EXPECT_TRUE(joined(msg::sentences, {}).empty());
  EXPECT_EQ(say_stopped({}), "");
  EXPECT_EQ(say_stopped(msg::plain("cut of…")), "cut of…");
  EXPECT_TRUE(say(msg::fuse(true, false)).starts_with("torch.compile, fused norms, dropout"));
  EXPECT_EQ(say(msg::late_and_remedy("late", msg::see_recording(msg::record_all_ranks()))),
            "late. Record all ranks; docs/how-to/record-a-trace.md");
}

TEST(Say, NamesAreListed) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(say(msg::gains(Names{"a", "b", "c"}, Names{})), "a, b and c");
  EXPECT_EQ(say(msg::gains(Names{"a", "b"}, Names{"c"})), "a and b; it spends c");
  const auto labels = [](const Value& who) { return say(msg::call_left_out(who, "c", "x")); };
  EXPECT_EQ(labels(Names{"a", "b"}), "a and b leave out c, which x calls");
  EXPECT_EQ(labels(Names{"a", "b", "c", "d"}), "4 processes leave out c, which x calls");
  EXPECT_EQ(labels(std::vector{3}), "rank 3 leaves out c, which x calls");
}

TEST(Say, MessagesReachOtherProcesses) {
  const Message sent =
      msg::slow_rank(true, std::vector{3}, Digits{1.5}, msg::costs(false, Percent{0.1}),
                     msg::note_on(Ns{5}, std::vector<std::int64_t>{7, 8}));
  std::string bytes;
  append_plain(bytes, Messages{sent, msg::plain(Bytes{9}), msg::plain("x"), {}});
  std::string_view in = bytes;
  Messages got;
  ASSERT_TRUE(take_plain(in, got));
  EXPECT_EQ(got, (Messages{sent, msg::plain(Bytes{9}), msg::plain("x"), {}}));
  EXPECT_TRUE(in.empty());
  in = std::string_view(bytes).substr(0, bytes.size() - 1);
  EXPECT_FALSE(take_plain(in, got));
}

TEST(Say, MessagesAreComparedByKindAndValues) {
  EXPECT_EQ(msg::plain("a"), msg::plain("a"));
  EXPECT_NE(msg::plain("a"), msg::plain("b"));
  EXPECT_NE(msg::record_all_ranks(), msg::record_same_steps(true));
}

}  // namespace
}  // namespace stepscope
