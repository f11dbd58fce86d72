// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/rows/event_category.h"

#include <algorithm>
#include <array>

namespace stepscope {
namespace {

struct Known {
  std::string_view cat;
  Category category;
};

constexpr std::array known = {
    Known{"cpu_op", Category::cpu_op}, Known{"Operator", Category::cpu_op},
    Known{"user_annotation", Category::user_annotation},
    Known{"gpu_user_annotation", Category::gpu_annotation},
    Known{"python_function", Category::python_function}, Known{"cuda_runtime", Category::runtime},
    Known{"hip_runtime", Category::runtime}, Known{"Runtime", Category::runtime},
    Known{"mtia_runtime", Category::runtime}, Known{"xpu_runtime", Category::runtime},
    Known{"glow_runtime", Category::runtime}, Known{"privateuse1_runtime", Category::runtime},
    Known{"cuda_driver", Category::driver}, Known{"xpu_driver", Category::driver},
    Known{"privateuse1_driver", Category::driver}, Known{"kernel", Category::kernel},
    Known{"Kernel", Category::kernel}, Known{"concurrent_kernel", Category::kernel},
    Known{"hpu_op", Category::kernel}, Known{"mtia_ccp_events", Category::kernel},
    Known{"gpu_memcpy", Category::memcpy}, Known{"Memcpy", Category::memcpy},
    Known{"gpu_memset", Category::memset}, Known{"Memset", Category::memset},
    Known{"cuda_sync", Category::sync}, Known{"xpu_sync", Category::sync},
    Known{"cuda_event", Category::device_event}, Known{"overhead", Category::overhead},
    Known{"cuda_profiler_range", Category::profiler_range}, Known{"Trace", Category::trace_window},
    // rocprofv3
    Known{"hip_api", Category::runtime}, Known{"hsa_api", Category::driver},
    Known{"marker_api", Category::user_annotation}, Known{"rccl_api", Category::user_annotation},
    Known{"kernel_dispatch", Category::kernel}, Known{"memory_copy", Category::memcpy}};

}  // namespace

std::optional<Category> category_of(std::string_view cat, std::string_view name) {
  const auto at = std::ranges::find(known, cat, &Known::cat);
  if (at == known.end()) return std::nullopt;
  if (cat == "mtia_ccp_events" && name.starts_with("dma")) return Category::memcpy;
  return at->category;
}

Category legacy_category(std::string_view process, std::string_view name) {
  if (process == "CUDA functions") {
    if (name.starts_with("Memcpy")) return Category::memcpy;
    if (name.starts_with("Memset")) return Category::memset;
    return Category::kernel;
  }
  if (process == "CPU functions")
    return name.starts_with("ProfilerStep#") ? Category::user_annotation : Category::cpu_op;
  return Category::other;
}

}  // namespace stepscope
