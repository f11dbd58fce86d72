// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/kernels/read_kernel_times.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

constexpr std::string_view text =
    R"({"name": "a", "kind": "product", "device": "GPU", "units": 132, )"
    R"("format": "bf16", "m": 4096, "k": 768, "n": 50257, "s": 0.00336})"
    "\n"
    R"({"name": "b", "kind": "grouped", "device": "GPU", "m": 16384, "k": 2048, )"
    R"("n": 768, "experts": 64, "s": 1e-4})"
    "\n"
    R"({"name": "c", "kind": "attention", "batch": 2, "heads": 32, "length": 2048, )"
    R"("size": 64, "s": 1e-4, "backward_s": 3e-4})"
    "\n"
    R"(not JSON)"
    "\n"
    R"()"
    "\n"
    R"({"name": "d", "kind": "copy", "bytes": 1048576, "device_s": 4e-6, )"
    R"("from_pinned_s": 3e-5})"
    "\n"
    R"({"name": "e", "kind": "launch", "add_host_s": 1.1e-5, )"
    R"("product_with_grad_host_s": 2.5e-5})"
    "\n"
    R"({"name": "f", "kind": "pointwise", "work": "add", "bytes": 600, "s": 1e-6})"
    "\n"
    R"({"name": "g", "kind": "optimizer", "parameters": 1000, "s": 1e-6})"
    "\n"
    R"({"name": "h", "kind": "product", "format": "bf16", "m": -1, "k": 768, "n": 5, )"
    R"("s": 0.1})"
    "\n"
    R"({"name": "i", "kind": "grouped", "error": "RuntimeError"})"
    "\n"
    R"({"name": "j", "kind": "optimizer", "device": "another", "parameters": 1000, )"
    R"("s": 1e-6})"
    "\n";

TEST(ReadKernelTimes, ReadsEveryKindAndCountsWhatItCannotRead) {
  ASSERT_TRUE(looks_like_kernel_times(text));
  const auto read = parse_kernel_times(text, "k.jsonl");
  ASSERT_TRUE(read) << read.error().message();
  ASSERT_EQ(read->kernels.size(), 7U);
  EXPECT_EQ(read->device, "GPU");
  EXPECT_EQ(read->units, 132);
  EXPECT_EQ(read->kernels[0].format, "bf16");
  EXPECT_EQ(read->kernels[0].n, 50257);
  EXPECT_EQ(read->kernels[1].experts, 64);
  EXPECT_DOUBLE_EQ(read->kernels[2].backward->count(), 3e-4);
  EXPECT_DOUBLE_EQ(read->kernels[3].from_pinned->count(), 3e-5);
  EXPECT_FALSE(read->kernels[3].to_pinned);
  EXPECT_EQ(read->kernels[3].line, 6U);
  EXPECT_DOUBLE_EQ(read->kernels[4].product_host->count(), 2.5e-5);
  EXPECT_EQ(read->kernels[5].work, "add");
  EXPECT_EQ(read->kernels[6].amount, 1000);
  EXPECT_EQ(read->unread, 2U);
  EXPECT_EQ(read->first_unread, 4U);
  EXPECT_EQ(read->failed, 1U);
  EXPECT_EQ(read->other_devices, 1U);
}

TEST(ReadKernelTimes, AFileWithoutATimeIsAnErrorThatNamesItsLine) {
  const auto read = parse_kernel_times("\n{\"kind\": \"product\", \"name\": \"x\"}\n", "k.jsonl");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message(),
            "k.jsonl: has no time of a kernel: line 2: \"format\" must be a text; measure with "
            "python -m stepscope.torch.kernels OUT.jsonl on the GPU");
  EXPECT_FALSE(looks_like_kernel_times("# nThread 1"));
  EXPECT_FALSE(parse_kernel_times("", "k.jsonl"));
}

}  // namespace
}  // namespace stepscope
