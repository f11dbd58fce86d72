// SPDX-License-Identifier: Apache-2.0
#include "engine/telemetry/range.h"

#include <algorithm>
#include <array>

#ifdef STEPSCOPE_NVTX
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wconversion"
#include <nvtx3/nvToolsExt.h>
#pragma GCC diagnostic pop
#endif

namespace stepscope {

bool ranges_reach_nvtx() { return range_detail::with_nvtx; }

namespace range_detail {

#ifdef STEPSCOPE_NVTX
const bool with_nvtx = true;
void nvtx_push(std::string_view name) {
  // NVTX's own first call fills a table that other threads may be reading.
  [[maybe_unused]] static const bool ready = (nvtxInitialize(nullptr), true);
  std::array<char, 128> text{};  // NVTX needs a terminated string
  std::copy_n(name.begin(), std::min(name.size(), text.size() - 1), text.begin());
  nvtxRangePushA(text.data());
}
void nvtx_pop() { nvtxRangePop(); }
#else
const bool with_nvtx = false;
void nvtx_push(std::string_view) {}
void nvtx_pop() {}
#endif

}  // namespace range_detail
}  // namespace stepscope
