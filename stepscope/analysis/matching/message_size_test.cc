// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/matching/message_size.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

using Kind = CollectiveKind;

TEST(MessageSize, CountsTheWholeBufferOfEachKind) {
  EXPECT_EQ(message_bytes(Kind::all_reduce, {1000, 1000, 8}, 4), Bytes{4000});
  EXPECT_EQ(message_bytes(Kind::all_gather, {1000, 8000, 8}, 2), Bytes{16000});
  EXPECT_EQ(message_bytes(Kind::reduce_scatter, {8000, 1000, 8}, 2), Bytes{16000});
  EXPECT_EQ(message_bytes(Kind::all_to_all, {512, 640, 8}, 8), Bytes{4096});
  EXPECT_EQ(message_bytes(Kind::recv, {0, 16, 2}, 4), Bytes{64});
}

TEST(MessageSize, GathersWithoutARecordedOutputAreTheInputsOfTheGroup) {
  EXPECT_EQ(message_bytes(Kind::all_gather, {1000, -1, 8}, 4), Bytes{32000});
  EXPECT_EQ(message_bytes(Kind::all_gather, {1000, -1, -1}, 4), std::nullopt);
}

TEST(MessageSize, IsAbsentRatherThanZeroWithoutCounts) {
  EXPECT_EQ(message_bytes(Kind::all_reduce, {-1, -1, 8}, 4), std::nullopt);
  EXPECT_EQ(dtype_bytes("TensorList"), std::nullopt);
}

TEST(MessageSize, IsReadInTheNameOfARange) {
  const auto size = [](std::string_view name) {
    const auto found = size_in_name(name);
    return found ? std::optional(found->bytes.value) : std::nullopt;
  };
  EXPECT_EQ(size("AllReduce_0_104.9MB"), 104'900'000);
  EXPECT_EQ(size("all_reduce 64 MiB (bucket 3)"), 64 << 20);
  EXPECT_EQ(size("allreduce/1.5GB"), 1'500'000'000);
  EXPECT_EQ(size("allreduce 25MB = 25.0MB"), 25'000'000);
  for (const char* none : {"allreduce_7B", "allreduce 25Mbit", "allreduce_v2MB", "all_reduce 12",
                           "allreduce -4MB", "allreduce 1.2.3MB", "allreduce 25MB of 100MB", ""})
    EXPECT_EQ(size(none), std::nullopt) << none;
  EXPECT_EQ(size_in_name("AllReduce_0_104.9MB")->rounding, Bytes{50'000});
  EXPECT_EQ(size_in_name("AllReduce_0_100MB")->rounding, Bytes{500'000});
}

TEST(MessageSize, BothSpellingsOfATypeAreOne) {
  EXPECT_EQ(dtype_name("c10::BFloat16"), "BFloat16");
  EXPECT_EQ(dtype_name("Float"), "Float");
  EXPECT_EQ(dtype_bytes("long int"), 8);
  EXPECT_EQ(dtype_bytes("Float8_e4m3fn"), 1);
}

TEST(MessageSize, ReadsTheTensorsAmongAnOperatorsArguments) {
  const auto one = tensor_arguments("[[394241]]", "[\"float\"]");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->elements, 394241);
  EXPECT_EQ(one->dtype, "Float");
  const auto several =
      tensor_arguments("[[8, 16], [], [4]]", "[\"c10::Half\", \"Scalar\", \"c10::Half\"]");
  ASSERT_TRUE(several);
  EXPECT_EQ(several->elements, 132);
  EXPECT_EQ(several->dtype, "Half");
  EXPECT_FALSE(tensor_arguments("[[], []]", "[\"TensorList\", \"\"]"));
  EXPECT_FALSE(tensor_arguments("", ""));
}

}  // namespace
}  // namespace stepscope
