// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/model/dtype.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(Dtype, UnderstandsTheNamesOfTraces) {
  EXPECT_EQ(parse_dtype("c10::BFloat16"), Dtype::bf16);
  EXPECT_EQ(parse_dtype("c10::Half"), Dtype::fp16);
  EXPECT_EQ(parse_dtype("float"), Dtype::fp32);
  EXPECT_EQ(parse_dtype("double"), Dtype::fp64);
  EXPECT_EQ(parse_dtype("BFloat16"), Dtype::bf16);
  EXPECT_EQ(parse_dtype("torch.float16"), Dtype::fp16);
  EXPECT_EQ(parse_dtype("c10::Float8_e4m3fn"), Dtype::fp8);
  EXPECT_EQ(parse_dtype("Float4_e2m1fn_x2"), Dtype::fp4);
}

TEST(Dtype, UnderstandsItsOwnNames) {
  for (std::size_t i = 0; i < dtype_count; ++i) {
    EXPECT_EQ(parse_dtype(dtype_names[i]), static_cast<Dtype>(i));
  }
}

TEST(Dtype, IntegersHaveNoPeak) {
  EXPECT_FALSE(parse_dtype("long int"));
  EXPECT_FALSE(parse_dtype("int"));
  EXPECT_FALSE(parse_dtype(""));
}

}  // namespace
}  // namespace stepscope
