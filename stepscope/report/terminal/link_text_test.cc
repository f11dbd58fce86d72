// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/terminal/link_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stepscope/report/sentences/verb_test_results.h"

namespace stepscope {
namespace {

using namespace test;

TEST(LinkText, SaysWhatWasDoneToTheClocks) {
  const std::string text = clocks_text(two_hosts(), 300);
  EXPECT_EQ(text,
            "Clocks corrected: b (ranks 2, 3) 250 µs behind, drifting 12.5 ppm ± 1.20 µs, against "
            "a (ranks 0, 1); the ends of a collective lie 2.00 µs apart instead of 250 µs.\n");
  ClockAlignment refused = two_hosts();
  refused.applied = false;
  refused.reason = msg::plain("the reason");
  EXPECT_EQ(
      clocks_text(refused, 300),
      "Clocks as recorded: the reason; the ends of a collective lie 250 µs apart, and skews are "
      "no better than that.\n");
  refused.hosts.pop_back();
  EXPECT_EQ(clocks_text(refused, 300), "");
}

TEST(LinkText, ShowsFitsAndWhyThereIsNone) {
  const std::vector<TransferFit> fits = {fit_of_sizes({1e4, 1e5, 1e6, 1e7}),
                                         fit_of_sizes({1e4, 1e5})};
  const std::string text = link_fits_text(fits, 160);
  EXPECT_NE(text.find("all_reduce  8  several  10.0 kB – 10.0 MB"), std::string::npos) << text;
  EXPECT_NE(text.find("20.0 µs"), std::string::npos) << text;
  EXPECT_NE(text.find("No fit of transfer time by size: all_reduce of 8 ranks (2 of at least 3 "
                      "different sizes)."),
            std::string::npos)
      << text;
  EXPECT_EQ(link_fits_text({}, 160), "");
}

}  // namespace
}  // namespace stepscope
