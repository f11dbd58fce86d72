// SPDX-License-Identifier: Apache-2.0
// The GPU's timer on the host's clock. NCCL's proxy thread sees what the GPU did a little later, by
// a delay that is never negative and often short. So (host - GPU) of all sightings lies above the
// true offset and touches it: the offset is the lower convex hull of the sightings, which also
// follows a drift.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace stepscope::nccl {

class GpuClock {
 public:
  // The host saw at `host` (ns) what the GPU's timer had stamped `gpu` (ns). Nearly in order.
  void saw(std::uint64_t gpu, std::int64_t host);
  // Whether anything was seen.
  [[nodiscard]] bool known() const { return seen_; }
  // The host's time of a GPU time. REQUIRES: known().
  [[nodiscard]] std::int64_t to_host(std::uint64_t gpu) const;

 private:
  struct Point {
    std::int64_t gpu;
    std::int64_t offset;  // host - gpu
  };
  static constexpr std::int64_t window_ns = 250'000'000;  // one candidate of the hull a window
  static constexpr std::size_t most_points = 128;

  void close_window();
  [[nodiscard]] std::int64_t offset_at(std::int64_t gpu) const;

  bool seen_ = false;
  Point lowest_{};  // of the open window
  std::int64_t window_end_ = 0;
  std::array<Point, most_points> hull_{};  // of closed windows, by time
  std::size_t size_ = 0;
};

}  // namespace stepscope::nccl
