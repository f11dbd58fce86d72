// SPDX-License-Identifier: Apache-2.0
// Converts the GPU's timer to the host's clock. NCCL's proxy thread sees the GPU's actions after a
// delay that is never negative and often short. (host - GPU) of all sightings therefore lies above
// the true offset and touches it. The offset is the lower convex hull of the sightings; the hull
// also follows a drift.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace stepscope::nccl {

class GpuClock {
 public:
  // A sighting: at `host` (ns) the host saw an action that the GPU's timer had stamped `gpu` (ns).
  // Sightings come nearly in order.
  void saw(std::uint64_t gpu, std::int64_t host);
  // Whether there was a sighting.
  [[nodiscard]] bool known() const { return seen_; }
  // The host's time of a GPU time. REQUIRES: known().
  [[nodiscard]] std::int64_t to_host(std::uint64_t gpu) const;

 private:
  struct Point {
    std::int64_t gpu;
    std::int64_t offset;  // host - gpu
  };
  static constexpr std::int64_t window_ns = 250'000'000;  // one hull candidate per window
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
