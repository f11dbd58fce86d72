// SPDX-License-Identifier: Apache-2.0
#include "stepscope/face/page/html.h"

#include <gtest/gtest.h>

#include <string>

#include "stepscope/face/page/page_shell.h"

namespace stepscope {
namespace {

std::string data_of(const std::string& page) {
  const std::size_t begin = page_before_data().size();
  return page.substr(begin, page.size() - begin - page_after_data().size());
}

TEST(Html, ThePageIsTheShellAroundTheData) {
  const std::string page = render_html(R"({"schema":"stepscope.analyze/1"})");
  EXPECT_EQ(page.substr(0, page_before_data().size()), page_before_data());
  EXPECT_EQ(data_of(page), R"({"schema":"stepscope.analyze/1"})");
  EXPECT_NE(page.find("</html>"), std::string::npos);
}

TEST(Html, TheShellEndsAndBeginsAtTheElementThatHoldsTheData) {
  const std::string_view head = page_before_data();
  constexpr std::string_view opening = "<script type=\"application/json\" id=\"data\">";
  ASSERT_GE(head.size(), opening.size());
  EXPECT_EQ(head.substr(head.size() - opening.size()), opening);
  EXPECT_EQ(page_after_data().substr(0, 9), "</script>");
}

TEST(Html, NothingInTheShellComesFromTheNetworkOrWaitsForSubstitution) {
  const std::string shell = std::string(page_before_data()) + std::string(page_after_data());
  for (const char* needle : {"src=", "href=\"http", "@import", "fetch(", "@STYLE@", "@SCRIPT@"}) {
    EXPECT_EQ(shell.find(needle), std::string::npos) << needle;
  }
}

TEST(Html, AStringInTheDataCannotEndTheElement) {
  const std::string page =
      render_html(R"json({"a":"</script><script>x()","b":"<!--<script>"})json");
  EXPECT_EQ(data_of(page),
            R"json({"a":"\u003c/script>\u003cscript>x()","b":"\u003c!--\u003cscript>"})json");
}

TEST(Html, LineSeparatorsAreEscapedAndOtherTextOfTheSameFirstByteIsKept) {
  const std::string page =
      render_html("{\"a\":\"\xE2\x80\xA8 \xE2\x80\xA9 \xE2\x82\xAC \xE2\x80\x94\"}");
  EXPECT_EQ(data_of(page), "{\"a\":\"\\u2028 \\u2029 \xE2\x82\xAC \xE2\x80\x94\"}");
}

TEST(Html, ATruncatedMultibyteCharacterAtTheEndIsKept) {
  EXPECT_EQ(data_of(render_html("\xE2\x80")), "\xE2\x80");
}

}  // namespace
}  // namespace stepscope
