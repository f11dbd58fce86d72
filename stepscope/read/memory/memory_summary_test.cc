// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/memory/memory_summary.h"

#include <gtest/gtest.h>

#include <string>

namespace stepscope {
namespace {

constexpr std::int64_t mega = 1 << 20;

std::string title(int device) {
  return "|                  PyTorch CUDA memory summary, device ID " + std::to_string(device) +
         "                 |\n|            CUDA OOMs: 2            |        cudaMalloc retries: 3 "
         "        |\n|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  "
         "|\n";
}

std::vector<MemorySummary> summaries_of(std::string_view text) {
  MemorySummaryLines lines;
  lines.take(text);
  return lines.summaries;
}

TEST(MemorySummary, HasTheRowsOfEachDevice) {
  const auto found = summaries_of(
      "before\n" + title(0) +
      "| Allocated memory      |    1000 MB |    2000 MB |   89299 MB |   88237 MB |\n"
      "|       from large pool |     900 MB |    1900 MB |   89263 MB |   88215 MB |\n"
      "| GPU reserved memory   |    8000 MB |    9000 MB |   16924 MB |    4504 MB |\n"
      "| Non-releasable memory |     100 MB |     300 MB |   16924 MB |    4504 MB |\n" +
      title(1) +
      "box-1  | | Allocated memory      |  10 MiB |   20 MiB |   30 GiB |      0 B   |\n");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].device, 0);
  EXPECT_EQ(found[0].line, 2U);
  EXPECT_EQ(found[0].ooms, 2);
  EXPECT_EQ(found[0].retries, 3);
  EXPECT_EQ(found[0].allocated->now, Bytes{1000 * mega});
  EXPECT_EQ(found[0].allocated->peak, Bytes{2000 * mega});
  EXPECT_EQ(found[0].reserved->peak, Bytes{9000 * mega});
  EXPECT_EQ(found[0].stranded->now, Bytes{100 * mega});
  EXPECT_EQ(found[1].device, 1);
  EXPECT_EQ(found[1].allocated->now, Bytes{10 * mega});
  EXPECT_FALSE(found[1].reserved);
}

TEST(MemorySummary, LeavesOutTablesThatAreCutOrMixed) {
  EXPECT_TRUE(summaries_of(title(0)).empty());
  EXPECT_TRUE(summaries_of("| Allocated memory      |    1062 MB |    4877 MB |\n").empty());
  EXPECT_TRUE(summaries_of(title(0) + "| Allocated memory      |   106\n").empty());
  EXPECT_TRUE(summaries_of(title(0) + title(1) + "| Allocated memory      |    1 MB |    2 MB |\n")
                  .empty());
}

}  // namespace
}  // namespace stepscope
