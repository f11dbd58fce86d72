// SPDX-License-Identifier: Apache-2.0
// The hull grows by Andrew's monotone chain: a point above the line between its two neighbours is
// not a corner.
#include "plugins/nccl/gpu_clock.h"

#include <algorithm>

namespace stepscope::nccl {

namespace {
// Timers differ by parts per million. A larger slope is a varying delay, not a drift.
constexpr double most_drift = 200e-6;
}  // namespace

void GpuClock::saw(std::uint64_t gpu, std::int64_t host) {
  const auto time = static_cast<std::int64_t>(gpu);
  const Point point{time, host - time};
  if (!seen_) {
    seen_ = true;
    lowest_ = point;
    window_end_ = time + window_ns;
    return;
  }
  if (time >= window_end_) {
    close_window();
    lowest_ = point;
    window_end_ = time + window_ns;
  } else if (point.offset < lowest_.offset) {
    lowest_ = point;
  }
}

void GpuClock::close_window() {
  if (size_ > 0 && lowest_.gpu <= hull_[size_ - 1].gpu) return;  // out of order
  const auto above = [](const Point& a, const Point& b, const Point& c) {
    const double rise = static_cast<double>(c.offset - a.offset);
    const double run = static_cast<double>(c.gpu - a.gpu);
    return static_cast<double>(b.offset - a.offset) * run >=
           rise * static_cast<double>(b.gpu - a.gpu);
  };
  while (size_ >= 2 && above(hull_[size_ - 2], hull_[size_ - 1], lowest_)) --size_;
  if (size_ == most_points) {
    std::copy(hull_.begin() + 1, hull_.end(), hull_.begin());
    --size_;
  }
  hull_[size_++] = lowest_;
}

std::int64_t GpuClock::offset_at(std::int64_t gpu) const {
  if (size_ == 0) return lowest_.offset;
  const auto drifted = [gpu](const Point& from, const Point& to) {
    const double run = static_cast<double>(to.gpu - from.gpu);
    const double drift =
        std::clamp(static_cast<double>(to.offset - from.offset) / run, -most_drift, most_drift);
    return from.offset + static_cast<std::int64_t>(drift * static_cast<double>(gpu - from.gpu));
  };
  const auto after =
      std::lower_bound(hull_.begin(), hull_.begin() + static_cast<std::ptrdiff_t>(size_), gpu,
                       [](const Point& p, std::int64_t t) { return p.gpu < t; });
  const auto at = static_cast<std::size_t>(after - hull_.begin());
  if (at == 0) return size_ > 1 ? drifted(hull_[0], hull_[1]) : hull_[0].offset;
  if (at < size_) return drifted(hull_[at - 1], hull_[at]);
  // After the hull's end its last edge continues, unless a later sighting lies below it.
  const Point& last = hull_[size_ - 1];
  std::int64_t offset = last.offset;
  if (size_ > 1) {
    const Point& before = hull_[size_ - 2];
    const double drift = std::clamp(static_cast<double>(last.offset - before.offset) /
                                        static_cast<double>(last.gpu - before.gpu),
                                    -most_drift, most_drift);
    offset += static_cast<std::int64_t>(drift * static_cast<double>(gpu - last.gpu));
  }
  return lowest_.gpu > last.gpu ? std::min(offset, lowest_.offset) : offset;
}

std::int64_t GpuClock::to_host(std::uint64_t gpu) const {
  const auto time = static_cast<std::int64_t>(gpu);
  return time + offset_at(time);
}

}  // namespace stepscope::nccl
