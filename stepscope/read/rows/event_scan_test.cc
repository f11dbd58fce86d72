// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/rows/event_scan.h"

#include <gtest/gtest.h>

#include "stepscope/read/rows/event_mend.h"

namespace stepscope {
namespace {

struct Scanned {
  Scan scan = Scan::malformed;
  std::string text;
  RawEvent event;
  [[nodiscard]] std::string value(Field f) const {
    return event.has(f) ? std::string(event[f].text()) : "-";
  }
};

// Scans the event at the beginning of the first `size` bytes of `text`.
Scanned scan(std::string_view text, std::size_t size = std::string_view::npos) {
  Scanned s;
  s.text = text.substr(0, size);
  size = s.text.size();
  s.text.append(json_text_padding, '\0');
  JsonIndex index;
  index_json(std::string_view(s.text).substr(0, size), index);
  std::size_t cursor = 0;
  s.scan = scan_event(std::string_view(s.text).substr(0, size), index, cursor, s.event);
  return s;
}

constexpr std::string_view spaced =
    R"({ "ph" : "X" , "name":"a \"q\"","x": {"ts": 7, "l": [[], {}]},
    "ts" :  12.5 ,"args"  : {"stream":7,"correlation": 9 ,
          "nested": {"correlation": 1}, "Input Dims": [[8], []]}, "pid": 3})";

TEST(EventScan, FieldsAreFoundWhateverStandsBetween) {
  const Scanned s = scan(spaced);
  ASSERT_EQ(s.scan, Scan::complete);
  EXPECT_EQ(s.value(Field::ph), "X");
  EXPECT_EQ(s.value(Field::name), R"(a \"q\")");
  EXPECT_EQ(s.value(Field::ts).substr(0, 4), "12.5");
  EXPECT_EQ(s.value(Field::correlation).substr(0, 1), "9");
  EXPECT_EQ(s.value(Field::input_dims), "[[8], []]");
  EXPECT_EQ(s.value(Field::pid), "3");
  EXPECT_EQ(s.value(Field::dur), "-");
}

TEST(EventScan, EveryPrefixIsIncomplete) {
  for (std::size_t size = 1; size < spaced.size(); ++size)
    EXPECT_EQ(scan(spaced, size).scan, Scan::incomplete) << spaced.substr(0, size);
}

TEST(EventScan, WhatIsNoJsonIsMalformed) {
  for (const std::string_view text : {R"({"ph" "X"}, )", R"({"name": "a "b" c"}, )",
                                      R"({"a": 1 {}}, )", R"({[]}, )", R"({"a": "b" 1}, )"})
    EXPECT_EQ(scan(text).scan, Scan::malformed) << text;
}

// Both readers give the same result for events that both accept.
TEST(EventScan, AgreesWithTheForgivingReader) {
  for (const std::string_view text :
       {spaced, std::string_view(R"({"ph":"X","args":{"External id":5,"a":"b"},"args":3})"),
        std::string_view(R"({"ph": "X"})")}) {
    const Scanned s = scan(text);
    RawEvent mended;
    std::size_t consumed = 0;
    ASSERT_EQ(mend_event(text, false, consumed, mended), Scan::complete);
    EXPECT_EQ(mended.seen, s.event.seen) << text;
    EXPECT_EQ(consumed, text.size());
  }
}

}  // namespace
}  // namespace stepscope
