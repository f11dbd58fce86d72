// SPDX-License-Identifier: Apache-2.0
// Mergeable quantiles of a stream of positive numbers in bounded memory, within 1 % of the true
// value: DDSketch (Masson, Rim, Lee, VLDB 2019). The edges of a bucket have the ratio g = (1 + a) /
// (1 - a), a = 0.01. The answer for a bucket is the point that is at most a × value away from both
// edges. The logarithm is the exponent of the double plus a cubic of its significand. There are
// enough buckets to keep every ratio below g.
//
// Values in [1, 2^44) are tracked; in ns that is 1 ns to 4.8 hours. Smaller and larger values have
// one bucket each and are answered as the least value and as 2^44. min(), max(), sum() and count()
// are always exact. Merging adds counts, so sketches of the same values are equal in any order and
// grouping.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace stepscope {

class QuantileSketch {
 public:
  static constexpr int octaves = 44;
  // 7 / (10 ln g): the cubic logarithm rises by at least 10/7 while ln x rises by 1.
  static constexpr double buckets_per_octave = 7 / (10 * 0.020000666706669435);
  static constexpr int bucket_count = static_cast<int>(octaves * buckets_per_octave) + 3;

  QuantileSketch() = default;
  // Rebuilds a sketch from counts(), first_bucket(), sum(), min() and max(). Empty if `counts`
  // holds no value or exceeds bucket_count.
  QuantileSketch(std::span<const std::uint64_t> counts, int first_bucket, double sum, double min,
                 double max);

  // Allocates all buckets (12 kB), so that add() never allocates.
  void reserve();
  // NaN is not allowed. A negative number counts as 0.
  void add(double value) {
    if (!(value > 0)) value = 0;
    const auto at = static_cast<std::size_t>(bucket(value) - first_);
    if (at < counts_.size()) [[likely]]
      ++counts_[at];
    else
      add_outside(bucket(value));
    if (count_ == 0 || value < min_) min_ = value;
    if (count_ == 0 || value > max_) max_ = value;
    ++count_;
    sum_ += value;
  }
  void merge(const QuantileSketch& other);
  void clear();  // keeps the memory

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] double sum() const { return sum_; }
  [[nodiscard]] std::optional<double> min() const { return unless_empty(min_); }
  [[nodiscard]] std::optional<double> max() const { return unless_empty(max_); }
  [[nodiscard]] std::optional<double> mean() const {
    return unless_empty(sum_ / static_cast<double>(count_));
  }
  // The value of rank floor(q (n - 1)) in ascending order, with q clamped to [0, 1]. Exact for q =
  // 0 and 1. Absent without values.
  [[nodiscard]] std::optional<double> quantile(double q) const;
  // The number of values up to `bound`, exact to the bucket that holds it. For histograms.
  [[nodiscard]] std::uint64_t count_up_to(double bound) const;

  [[nodiscard]] std::span<const std::uint64_t> counts() const { return counts_; }
  [[nodiscard]] int first_bucket() const { return first_; }

  // The bucket of a value, and the upper edge of a bucket.
  [[nodiscard]] static int bucket(double value) {
    if (value < 1) return 0;
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const auto exponent = static_cast<int>(bits >> 52) - 1023;
    if (exponent >= octaves) return bucket_count - 1;
    const double s =
        std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFFULL) | 0x3FF0000000000000ULL) - 1;
    const double log = exponent + cubic(s);
    return 1 + static_cast<int>(log * buckets_per_octave);
  }
  [[nodiscard]] static double upper_edge(int bucket);

 private:
  // From 0 to 1 for s in [0, 1], with a slope above 0.7.
  [[nodiscard]] static constexpr double cubic(double s) {
    return ((6.0 / 35 * s - 3.0 / 5) * s + 10.0 / 7) * s;
  }
  [[nodiscard]] static double inverse_cubic(double y);
  [[nodiscard]] std::optional<double> unless_empty(double value) const {
    return count_ == 0 ? std::nullopt : std::optional(value);
  }
  void add_outside(int bucket);
  void cover(int first, int last);

  std::vector<std::uint64_t> counts_;  // of the buckets from first_ on
  int first_ = 0;
  std::uint64_t count_ = 0;
  double sum_ = 0;
  double min_ = 0;
  double max_ = 0;
};

}  // namespace stepscope
