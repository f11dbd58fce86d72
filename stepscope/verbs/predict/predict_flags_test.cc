// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/predict/predict_flags.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

PredictFlags predict_typed(std::string line) {
  CLI::App app;
  PredictFlags flags;
  declare(app, flags);
  app.parse(std::move(line));
  return flags;
}

std::string predict_complaint(const std::string& line) {
  const auto request = collective_request(predict_typed(line));
  return request ? std::string() : request.error().message();
}

TEST(PredictFlags, ACollectiveHasAKindARangeAndAGroup) {
  const auto request =
      collective_request(predict_typed("--collective all_gather --bytes 4KB:2MiB --group 16"));
  ASSERT_TRUE(request) << request.error().message();
  EXPECT_EQ(request->kind, CollectiveKind::all_gather);
  EXPECT_EQ(request->range.from, Bytes{4000});
  EXPECT_EQ(request->range.to, Bytes{2 * 1024 * 1024});
  EXPECT_EQ(collective_request(predict_typed("--collective barrier --bytes 8 --group 2"))->range.to,
            Bytes{8});
}

TEST(PredictFlags, AWrongCollectiveIsRefusedWithWhatWouldWork) {
  EXPECT_NE(predict_complaint("--collective allreduce --group 8").find("did you mean all_reduce"),
            std::string::npos);
  EXPECT_NE(predict_complaint("--collective none --group 8"), "");
  EXPECT_NE(predict_complaint("--collective unknown --group 8"), "");
  for (const char* bytes : {"2GB:1GB", "x", ":", "1KB:", "0:1", "1:nan"})
    EXPECT_NE(predict_complaint("--collective all_reduce --group 8 --bytes " + std::string(bytes))
                  .find("write 1KB:1GB"),
              std::string::npos)
        << bytes;
  for (const char* group : {"", " --group 0", " --group 1", " --group -4"})
    EXPECT_NE(predict_complaint("--collective all_reduce" + std::string(group)).find("--group N"),
              std::string::npos)
        << group;
}

TEST(PredictFlags, MayAskForSeveralComparisonsAndFormulas) {
  const PredictFlags flags =
      predict_typed("gpt3-175b --vary zero=0,1 --vary recompute=none,full --explain bubble");
  EXPECT_EQ(flags.compare, (std::vector<std::string>{"zero=0,1", "recompute=none,full"}));
  EXPECT_EQ(flags.explain, std::vector<std::string>{"bubble"});
  EXPECT_EQ(flags.source.model, "gpt3-175b");
  EXPECT_THROW((void)predict_typed("m --price -1"), CLI::ParseError);
}

TEST(PredictFlags, ACollectiveHasNoModelAndNoPage) {
  for (const char* line : {"gpt2 --collective all_reduce --group 8",
                           "--collective all_reduce --group 8 --html page.html"})
    EXPECT_NE(predict_complaint(line).find("takes no model"), std::string::npos) << line;
}

TEST(PredictFlags, ACompareIsAFieldAndItsValues) {
  const auto request = predict_request(predict_typed("m --vary zero=0,1 --compare stage-layers=1"));
  ASSERT_TRUE(request);
  ASSERT_EQ(request->compare.size(), 2U);
  EXPECT_EQ(request->compare[0].name, "zero");
  EXPECT_EQ(request->compare[0].values, (std::vector<std::string>{"0", "1"}));
  for (const char* axis : {"zero", "zero="})
    EXPECT_FALSE(predict_request(predict_typed("m --vary " + std::string(axis)))) << axis;
}

TEST(PredictFlags, TheNamesOfCollectivesAreListed) {
  EXPECT_NE(predict_complaint("--collective foo --group 8").find("reduce_scatter"),
            std::string::npos);
  CLI::App app;
  PredictFlags flags;
  declare(app, flags);
  const std::string help = app.get_option("--collective")->get_description();
  for (const char* name : {"all_reduce", "all_to_all", "send_recv", "barrier"})
    EXPECT_NE(help.find(name), std::string::npos) << help;
  EXPECT_EQ(help.find("unknown"), std::string::npos);
}

}  // namespace
}  // namespace stepscope
