// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/rows/event_category.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(EventCategory, DeviceWorkOfEveryVendorAndAge) {
  for (const char* cat : {"kernel", "Kernel", "concurrent_kernel", "hpu_op", "mtia_ccp_events"})
    EXPECT_EQ(category_of(cat, "x"), Category::kernel) << cat;
  for (const char* cat : {"gpu_memcpy", "Memcpy"})
    EXPECT_EQ(category_of(cat, "x"), Category::memcpy) << cat;
  for (const char* cat : {"gpu_memset", "Memset"})
    EXPECT_EQ(category_of(cat, "x"), Category::memset) << cat;
  EXPECT_EQ(category_of("mtia_ccp_events", "dma_in"), Category::memcpy);
}

TEST(EventCategory, HostRowsAreNoDeviceWork) {
  for (const char* cat :
       {"cpu_op", "Operator", "user_annotation", "python_function", "cuda_runtime", "hip_runtime",
        "mtia_runtime", "xpu_runtime", "privateuse1_runtime", "cuda_driver", "xpu_driver",
        "overhead", "Trace"}) {
    const auto category = category_of(cat, "x");
    ASSERT_TRUE(category.has_value()) << cat;
    EXPECT_FALSE(is_device_work(*category)) << cat;
  }
}

TEST(EventCategory, SyncEventAndAnnotationRowsAreNoWorkEither) {
  for (const char* cat :
       {"cuda_sync", "xpu_sync", "cuda_event", "gpu_user_annotation", "cuda_profiler_range"}) {
    const auto category = category_of(cat, "x");
    ASSERT_TRUE(category.has_value()) << cat;
    EXPECT_FALSE(is_device_work(*category)) << cat;
  }
}

TEST(EventCategory, UnknownOnesAreLeftToTheCaller) {
  EXPECT_EQ(category_of("mtia_insight", "x"), std::nullopt);
  EXPECT_EQ(category_of("", "x"), std::nullopt);
}

TEST(EventCategory, TheLegacyExporterSaysItByProcessAndName) {
  EXPECT_EQ(legacy_category("CUDA functions", "sgemm"), Category::kernel);
  EXPECT_EQ(legacy_category("CUDA functions", "Memcpy HtoD"), Category::memcpy);
  EXPECT_EQ(legacy_category("CUDA functions", "Memset (Device)"), Category::memset);
  EXPECT_EQ(legacy_category("CPU functions", "aten::mm"), Category::cpu_op);
  EXPECT_EQ(legacy_category("CPU functions", "ProfilerStep#3"), Category::user_annotation);
  EXPECT_EQ(legacy_category("", "x"), Category::other);
}

}  // namespace
}  // namespace stepscope
