// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/sections/link_views.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stepscope/verbs/sections/link_test_results.h"

namespace stepscope {

namespace {

using namespace test;

TEST(LinkJson, ClocksAsJson) {
  ClockAlignment clocks = two_hosts();
  clocks.hosts[0].host.clear();
  clocks.hosts[0].offset.reset();
  const Json json = clock_alignment_json(clocks);
  EXPECT_EQ(json.at("hosts").at(1).at("offset_ns"), -250'000);
  EXPECT_EQ(json.at("hosts").at(1).at("ranks"), Json({2, 3}));
  EXPECT_TRUE(json.at("hosts").at(0).at("host").is_null());
  EXPECT_TRUE(json.at("hosts").at(0).at("offset_ns").is_null());
  EXPECT_EQ(json.at("spread_aligned_ns"), 2000);
}

TEST(LinkJson, HasThePiecesOfAFitOrWhyThereIsNone) {
  const std::vector<TransferFit> fits = {fit_of_sizes({1e4, 1e5, 1e6, 1e7}),
                                         fit_of_sizes({1e4, 1e5})};
  const Json json = link_fits_json(fits);
  const Json& piece = json.at(0).at("pieces").at(0);
  EXPECT_NEAR(piece.at("gb_per_s").get<double>(), 100, 1e-6);
  EXPECT_NEAR(piece.at("start_ns").get<double>(), 20'000, 1e-3);
  EXPECT_EQ(piece.at("calls"), 16);
  EXPECT_NEAR(json.at(0).at("points").at(2).at("fitted_ns").get<double>(), 30'000, 1e-3);
  EXPECT_TRUE(json.at(0).at("refused").is_null());
  EXPECT_EQ(json.at(1).at("refused"), "2 of at least 3 different sizes");
  EXPECT_TRUE(json.at(1).at("pieces").empty());
  EXPECT_TRUE(json.at(1).at("mean_error").is_null());
}

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
