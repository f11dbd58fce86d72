// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/job_table/job_meta.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

std::string refusal(std::string_view text) {
  const auto meta = parse_job_meta(text, "meta.yaml");
  return meta ? "read" : meta.error().message();
}

TEST(JobMeta, ReadsFlatPairs) {
  const auto meta = parse_job_meta(
      "---\n# a job\ntrial_name: \"A: b\"  # of May\r\nrun_id: 3\n\ndp_size: 4\npp_size: 2\n"
      "tp_size: 2 # ranks\nowner: nobody\nworld_size: 16",
      "meta.yaml");
  ASSERT_TRUE(meta) << meta.error().message();
  EXPECT_EQ(meta->trial_name, "A: b");
  EXPECT_EQ(meta->run_id, 3);
  EXPECT_EQ(meta->dp_size, 4);
  EXPECT_EQ(meta->tp_size, 2);
  EXPECT_EQ(meta->world_size, 16);
  EXPECT_FALSE(meta->dsp_size);
}

TEST(JobMeta, RefusesOtherYamlByName) {
  EXPECT_EQ(refusal("dp_size:\n  a: 1\n"),
            "meta.yaml: byte 0: a nested value of the key dp_size; write a meta file as `key: "
            "value`, one a line");
  EXPECT_NE(refusal("a: 1\n  b: 2\n").find("byte 5: a nested value"), std::string::npos);
  EXPECT_NE(refusal("- a\n").find("a list"), std::string::npos);
  EXPECT_NE(refusal("a: [1]\n").find("a flow list of the key a"), std::string::npos);
  EXPECT_NE(refusal("a: {b: 1}\n").find("a flow mapping"), std::string::npos);
  EXPECT_NE(refusal("a: |\n").find("a block of text"), std::string::npos);
  EXPECT_NE(refusal("a: *b\n").find("an alias"), std::string::npos);
  EXPECT_NE(refusal("hello\n").find("without a colon"), std::string::npos);
}

TEST(JobMeta, RefusesWrongSizes) {
  EXPECT_NE(refusal("dp_size: many\n").find("dp_size is no positive number"), std::string::npos);
  EXPECT_NE(refusal("dp_size: 0\n").find("dp_size is no positive number"), std::string::npos);
  EXPECT_NE(refusal("dp_size: 2\npp_size: 4\ntp_size: 1\nworld_size: 9\n")
                .find("world_size 9 is not dp_size x pp_size x tp_size x dsp_size = 8"),
            std::string::npos);
  EXPECT_EQ(refusal("dp_size: 2\npp_size: 4\ntp_size: 1\ndsp_size: 2\nworld_size: 16\n"), "read");
}

}  // namespace
}  // namespace stepscope
