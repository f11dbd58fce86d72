// SPDX-License-Identifier: Apache-2.0
#include "stepscope/say/wording.h"

#include <gtest/gtest.h>

#include "stepscope/say/say.h"

namespace stepscope {
namespace {

const Wording shouted{.prose = [](std::string_view text) { return "<" + std::string(text) + ">"; },
                      .command = [](std::string_view line) { return "$ " + std::string(line); }};

TEST(Wording, ChangesTheCataloguesTextsAndNoValues) {
  const Message message = msg::no_annotation("--steps");
  const std::string plain = say(message);
  {
    const WordingScope scope(shouted);
    EXPECT_EQ(say(message), "<" + plain + ">");
    EXPECT_EQ(worded("a"), "<a>");
    EXPECT_EQ(worded_command("stepscope hang x"), "$ stepscope hang x");
  }
  EXPECT_EQ(say(message), plain) << "it ends with the scope";
  EXPECT_EQ(worded("a"), "a");
}

}  // namespace
}  // namespace stepscope
