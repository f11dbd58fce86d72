// SPDX-License-Identifier: Apache-2.0
// Named nested ranges for any C++ trainer. A scope becomes a slice in this rank's trace, and a
// range in Nsight if the library was built with NVTX (nvtx3/nvToolsExt.h at configure time).
//
//   SpanRing ring(1 << 16);
//   RangeRecording recording(ring);          // this thread, until the end of the scope
//   { Range forward("forward"); { Range layer("layer 3"); … } }
//
// A thread without a recording passes ranges only to NVTX. Without NVTX such a range costs one
// test.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/telemetry/span_ring.h"
#include "stepscope/base/quantity.h"

namespace stepscope {

// Whether ranges reach Nsight tools.
[[nodiscard]] bool ranges_reach_nvtx();

namespace range_detail {
inline thread_local SpanRing* ring = nullptr;
void nvtx_push(std::string_view name);
void nvtx_pop();
extern const bool with_nvtx;
}  // namespace range_detail

class RangeRecording {
 public:
  explicit RangeRecording(SpanRing& ring) : before_(range_detail::ring) {
    range_detail::ring = &ring;
  }
  ~RangeRecording() { range_detail::ring = before_; }
  RangeRecording(const RangeRecording&) = delete;
  RangeRecording& operator=(const RangeRecording&) = delete;

 private:
  SpanRing* before_;
};

class Range {
 public:
  // The name must live as long as the range.
  explicit Range(std::string_view name) : name_(name), ring_(range_detail::ring) {
    if (range_detail::with_nvtx) range_detail::nvtx_push(name);
    if (ring_ == nullptr) return;
    depth_ = ring_->open();
    begin_ = ring_->now();
  }
  explicit Range(const char* name) : Range(std::string_view(name)) {}
  explicit Range(std::string&&) = delete;
  ~Range() {
    if (ring_ != nullptr) ring_->close(name_, depth_, begin_, ring_->now());
    if (range_detail::with_nvtx) range_detail::nvtx_pop();
  }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

 private:
  std::string_view name_;
  SpanRing* ring_;
  Ns begin_{};
  std::uint8_t depth_ = 0;
};

}  // namespace stepscope
