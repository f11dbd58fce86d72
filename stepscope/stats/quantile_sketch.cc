// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stats/quantile_sketch.h"

#include <algorithm>
#include <cmath>

namespace stepscope {
double QuantileSketch::inverse_cubic(double y) {
  double s = y;
  for (int i = 0; i < 20; ++i) {
    const double slope = (18.0 / 35 * s - 6.0 / 5) * s + 10.0 / 7;
    s = std::clamp(s - (cubic(s) - y) / slope, 0.0, 1.0);
  }
  return s;
}

double QuantileSketch::upper_edge(int bucket) {
  if (bucket >= bucket_count - 2) return std::ldexp(1, octaves);
  const double log = bucket / buckets_per_octave;
  const double exponent = std::floor(log);
  return std::ldexp(1 + inverse_cubic(log - exponent), static_cast<int>(exponent));
}

QuantileSketch::QuantileSketch(std::span<const std::uint64_t> counts, int first_bucket, double sum,
                               double min, double max) {
  if (first_bucket < 0 || first_bucket > bucket_count ||
      counts.size() > static_cast<std::size_t>(bucket_count - first_bucket))
    return;
  std::uint64_t total = 0;
  for (const std::uint64_t c : counts) total += c;
  if (total == 0) return;
  counts_.assign(counts.begin(), counts.end());
  first_ = first_bucket;
  count_ = total;
  sum_ = sum;
  min_ = min;
  max_ = max;
}

void QuantileSketch::reserve() { counts_.reserve(bucket_count); }

void QuantileSketch::cover(int first, int last) {
  if (counts_.empty()) {
    first_ = first;
    counts_.assign(static_cast<std::size_t>(last - first) + 1, 0);
    return;
  }
  if (first < first_) {
    counts_.insert(counts_.begin(), static_cast<std::size_t>(first_ - first), 0);
    first_ = first;
  }
  const auto wanted = static_cast<std::size_t>(last - first_) + 1;
  if (wanted > counts_.size()) counts_.resize(wanted, 0);
}

void QuantileSketch::add_outside(int bucket) {
  cover(bucket, bucket);
  ++counts_[static_cast<std::size_t>(bucket - first_)];
}

void QuantileSketch::merge(const QuantileSketch& other) {
  if (other.count_ == 0) return;
  cover(other.first_, other.first_ + static_cast<int>(other.counts_.size()) - 1);
  for (std::size_t i = 0; i < other.counts_.size(); ++i)
    counts_[static_cast<std::size_t>(other.first_ - first_) + i] += other.counts_[i];
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = count_ == 0 ? other.max_ : std::max(max_, other.max_);
  count_ += other.count_;
  sum_ += other.sum_;
}

void QuantileSketch::clear() {
  counts_.clear();
  first_ = 0;
  count_ = 0;
  sum_ = min_ = max_ = 0;
}

std::optional<double> QuantileSketch::quantile(double q) const {
  if (count_ == 0) return std::nullopt;
  const auto rank =
      static_cast<std::uint64_t>(std::clamp(q, 0.0, 1.0) * static_cast<double>(count_ - 1));
  if (rank == 0) return min_;
  if (rank == count_ - 1) return max_;
  std::uint64_t below = 0;
  std::size_t at = 0;
  while ((below += counts_[at]) <= rank) ++at;
  const int bucket = first_ + static_cast<int>(at);
  if (bucket == 0) return min_;
  const double low = upper_edge(bucket - 1);
  const double high = upper_edge(bucket);
  return std::clamp(2 * low * high / (low + high), min_, max_);
}

std::uint64_t QuantileSketch::count_up_to(double bound) const {
  if (count_ == 0 || bound < min_) return 0;
  if (bound >= max_) return count_;
  std::uint64_t below = 0;
  for (int b = first_; b <= bucket(bound); ++b) {
    const auto at = static_cast<std::size_t>(b - first_);
    if (at >= counts_.size()) break;
    below += counts_[at];
  }
  return below;
}

}  // namespace stepscope
