// SPDX-License-Identifier: Apache-2.0
#include "plugins/nccl/settings.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "plugins/nccl/words.h"

namespace stepscope::nccl {
namespace {

class SettingsTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name :
         {"STEPSCOPE_NCCL_EVENTS", "STEPSCOPE_NCCL_DIR", "STEPSCOPE_NCCL_SLOTS",
          "STEPSCOPE_NCCL_MAX_MB", "NCCL_PROFILE_EVENT_MASK", "RANK", "WORLD_SIZE",
          "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE", "SLURM_PROCID",
          "SLURM_NTASKS", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"})
      unsetenv(name);
  }
  void TearDown() override { SetUp(); }
};

void set(const char* name, const char* value) { setenv(name, value, 1); }

TEST_F(SettingsTest, WithoutVariablesCallsTheirKernelsAndProxiesAreRecorded) {
  const Settings s = settings_of_environment();
  EXPECT_EQ(s.mask, 2U + 4U + 8U + 64U + 4096U + 8192U + 16384U);
  EXPECT_EQ(s.rows, 0U);
  EXPECT_EQ(s.slots, 65536U);
  EXPECT_STREQ(s.folder.data(), ".");
  EXPECT_EQ(s.rank, -1);
  EXPECT_STREQ(s.complaint.data(), "");
}

TEST_F(SettingsTest, WordsComeBeforeTheNumberOfNcclsExample) {
  set("NCCL_PROFILE_EVENT_MASK", "6");
  EXPECT_EQ(settings_of_environment().mask, 6U);
  EXPECT_EQ(settings_of_environment().rows, 6U);
  set("NCCL_PROFILE_EVENT_MASK", "0x4e");
  EXPECT_EQ(settings_of_environment().mask, 0x4eU);
  set("STEPSCOPE_NCCL_EVENTS", "coll,step");
  EXPECT_EQ(settings_of_environment().mask, 2U + 16U);
  set("STEPSCOPE_NCCL_EVENTS", "none");
  EXPECT_EQ(settings_of_environment().mask, 0U);
}

TEST_F(SettingsTest, WhatIsNotUnderstoodIsSaidAndTheDefaultHolds) {
  for (const char* bad : {"colls", "coll,,p2p", "coll,", "", "6"}) {
    set("STEPSCOPE_NCCL_EVENTS", bad);
    const Settings s = settings_of_environment();
    EXPECT_EQ(s.mask, default_mask) << bad;
    EXPECT_NE(std::string(s.complaint.data()).find("STEPSCOPE_NCCL_EVENTS"), std::string::npos);
  }
  SetUp();
  for (const char* bad : {"-1", "6x", "", "99999999999"}) {
    set("NCCL_PROFILE_EVENT_MASK", bad);
    EXPECT_EQ(settings_of_environment().mask, default_mask) << bad;
    EXPECT_NE(settings_of_environment().complaint[0], '\0') << bad;
  }
  SetUp();
  set("STEPSCOPE_NCCL_SLOTS", "3");
  EXPECT_EQ(settings_of_environment().slots, 65536U);
  EXPECT_NE(settings_of_environment().complaint[0], '\0');
  SetUp();
  set("STEPSCOPE_NCCL_DIR", std::string(2000, 'd').c_str());
  EXPECT_STREQ(settings_of_environment().folder.data(), ".");
  EXPECT_NE(settings_of_environment().complaint[0], '\0');
}

TEST_F(SettingsTest, AChildAsksForItsParents) {
  EXPECT_EQ(with_parents(0), 0U);
  EXPECT_EQ(with_parents(2), 2U + 1U + 512U + 256U);
  EXPECT_EQ(with_parents(128), 128U + 16U + 8U + 2U + 4U + 1U + 512U + 1024U + 256U);
  EXPECT_EQ(with_parents(32), 32U);
  EXPECT_EQ(with_parents(16384), 16384U + 4096U + 1U + 512U + 256U);
}

TEST_F(SettingsTest, TheRankIsThatOfTheFirstLauncherThatSaysBoth) {
  set("SLURM_PROCID", "1");
  set("SLURM_NTASKS", "2");
  EXPECT_EQ(settings_of_environment().rank, 1);
  set("RANK", "5");
  EXPECT_EQ(settings_of_environment().rank, 1);  // without WORLD_SIZE it is ignored
  set("WORLD_SIZE", "8");
  EXPECT_EQ(settings_of_environment().rank, 5);
  EXPECT_EQ(settings_of_environment().world_size, 8);
  set("RANK", "8");
  EXPECT_EQ(settings_of_environment().rank, 1);
}

TEST(Words, TextsAndNumbersAgreeBothWays) {
  EXPECT_EQ(function_code("AllReduce"), 4);
  EXPECT_EQ(function_code("AllReduce"), 4);
  EXPECT_EQ(function_code("Broadcast"), 0);
  EXPECT_EQ(function_code("Invalid"), 11);
  EXPECT_EQ(function_code("Nonsense"), unknown_word);
  EXPECT_EQ(function_code(nullptr), unknown_word);
  EXPECT_EQ(datatype_code("ncclBfloat16"), 9);
  EXPECT_EQ(datatype_code("Unknown"), 1);
  EXPECT_EQ(algorithm_code("NVLS_TREE"), 5);
  EXPECT_EQ(protocol_code("LL128"), 1);
  EXPECT_STREQ(collective_name(2), "allgather");
  EXPECT_STREQ(dtype_name(7), "Float");
  EXPECT_EQ(dtype_bytes(9), 2U);
  EXPECT_EQ(dtype_name(unknown_word), nullptr);
  EXPECT_EQ(dtype_bytes(unknown_word), 0U);
  EXPECT_STREQ(function_text(6), "Send");
  EXPECT_STREQ(algorithm_text(1), "RING");
  EXPECT_STREQ(protocol_text(2), "SIMPLE");
}

}  // namespace
}  // namespace stepscope::nccl
