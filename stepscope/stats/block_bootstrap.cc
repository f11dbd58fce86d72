// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stats/block_bootstrap.h"

#include <algorithm>
#include <cmath>

namespace stepscope {
namespace {

// SplitMix64 (Steele, Lea and Flood, 2014). A number below `bound` is made by multiplication.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed) {}
  std::uint32_t below(std::uint32_t bound) {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return static_cast<std::uint32_t>(((z ^ (z >> 31)) >> 32) * bound >> 32);
  }

 private:
  std::uint64_t state_;
};

// A stretch stored twice in a row, so that a block past its end continues at its beginning.
struct Doubled {
  std::vector<std::uint32_t> below;   // prefix counts of values below the window
  std::vector<std::uint32_t> inside;  // prefix counts of values in the window
  std::vector<std::uint32_t> ranks;   // of the values in the window, in time order
  std::uint32_t length = 0;
};

class Resampler {
 public:
  Resampler(std::span<const Series> stretches, const std::vector<double>& sorted, std::size_t reach,
            std::size_t block)
      : block_(block), count_(sorted.size()) {
    const std::size_t middle = count_ / 2;
    const std::size_t first = middle > reach ? middle - reach : 0;
    const std::size_t last = std::min(middle + reach + 1, count_);
    whole_ = first == 0 && last == count_;
    window_.assign(sorted.begin() + static_cast<std::ptrdiff_t>(first),
                   sorted.begin() + static_cast<std::ptrdiff_t>(last));
    const auto repeated = std::ranges::unique(window_);
    window_.erase(repeated.begin(), repeated.end());
    for (const Series s : stretches)
      if (!s.empty()) stretches_.push_back(doubled(s));
    histogram_.resize(window_.size());
  }

  [[nodiscard]] bool whole() const { return whole_; }

  // Draws the median of one replicate; false if it is outside the window.
  bool draw(Draws& draws, double& median) {
    std::ranges::fill(histogram_, 0U);
    std::uint64_t below = 0;
    for (const Doubled& s : stretches_) below += take(s, draws);
    const std::uint64_t upper = count_ / 2;
    const std::uint64_t lower = (count_ - 1) / 2;
    std::uint64_t passed = below;
    std::size_t at = 0;
    if (lower < below) return false;
    while (at < histogram_.size() && passed + histogram_[at] <= lower) passed += histogram_[at++];
    if (at == histogram_.size()) return false;
    const double low = window_[at];
    while (at < histogram_.size() && passed + histogram_[at] <= upper) passed += histogram_[at++];
    if (at == histogram_.size()) return false;
    median = low + (window_[at] - low) / 2;
    return true;
  }

 private:
  [[nodiscard]] Doubled doubled(Series s) const {
    Doubled d;
    d.length = static_cast<std::uint32_t>(s.size());
    d.below.assign(1, 0);
    d.inside.assign(1, 0);
    for (int round = 0; round < 2; ++round)
      for (const double v : s) {
        const bool in = v >= window_.front() && v <= window_.back();
        d.below.push_back(d.below.back() + (v < window_.front() ? 1 : 0));
        d.inside.push_back(d.inside.back() + (in ? 1 : 0));
        if (!in) continue;
        const auto place = std::ranges::lower_bound(window_, v);
        d.ranks.push_back(static_cast<std::uint32_t>(place - window_.begin()));
      }
    return d;
  }

  std::uint64_t take(const Doubled& s, Draws& draws) {
    std::uint64_t below = 0;
    for (std::size_t done = 0; done < s.length;) {
      const std::size_t length = std::min({block_, s.length - done, std::size_t{s.length}});
      const std::size_t start = draws.below(s.length);
      below += s.below[start + length] - s.below[start];
      const std::size_t end = s.inside[start + length];
      for (std::size_t i = s.inside[start]; i < end; ++i) ++histogram_[s.ranks[i]];
      done += length;
    }
    return below;
  }

  std::size_t block_;
  std::size_t count_;
  bool whole_ = false;
  // Distinct and ascending. The medians of replicates have ranks in it, except with a probability
  // of 1e-9. Other values are only counted.
  std::vector<double> window_;
  std::vector<Doubled> stretches_;
  std::vector<std::uint32_t> histogram_;
};

// Mean of (sum of signs)^2 / length over all circular blocks.
double sign_variance(std::span<const Series> stretches, double median, std::size_t block) {
  double sum = 0;
  double blocks = 0;
  for (const Series s : stretches) {
    if (s.empty()) continue;
    const std::size_t length = std::min(block, s.size());
    const auto sign = [&](std::size_t i) {
      const double v = s[i < s.size() ? i : i - s.size()];
      return static_cast<double>((v > median) - (v < median));
    };
    double total = 0;
    for (std::size_t i = 0; i < length; ++i) total += sign(i);
    for (std::size_t start = 0; start < s.size(); ++start) {
      sum += total * total / static_cast<double>(length);
      total += sign(start + length) - sign(start);
    }
    blocks += static_cast<double>(s.size());
  }
  return sum / blocks;
}

}  // namespace

MedianBootstrap bootstrap_median(std::span<const Series> stretches,
                                 const BootstrapOptions& options) {
  MedianBootstrap result;
  std::vector<double> sorted;
  std::size_t used = 0;
  for (const Series s : stretches) {
    sorted.insert(sorted.end(), s.begin(), s.end());
    if (!s.empty()) ++used;
  }
  std::ranges::sort(sorted);
  const std::size_t n = sorted.size();
  const double low = sorted[(n - 1) / 2];
  result.median = low + (sorted[n / 2] - low) / 2;
  const double each = static_cast<double>(n) / static_cast<double>(used);
  result.block = options.block != 0 ? options.block
                                    : static_cast<std::size_t>(std::lround(2 * std::cbrt(each)));
  result.block = std::max<std::size_t>(result.block, 1);
  result.sign_variance = sign_variance(stretches, result.median, result.block);
  // Six standard deviations of the number of values below the median.
  const double deviation = std::sqrt(static_cast<double>(n) * result.sign_variance) / 2;
  auto reach = static_cast<std::size_t>(6 * deviation) + result.block + 1;
  for (;; reach *= 4) {
    Resampler resampler(stretches, sorted, reach, result.block);
    Draws draws(options.seed);
    result.replicates.clear();
    double median = 0;
    while (result.replicates.size() < options.replicates && resampler.draw(draws, median))
      result.replicates.push_back(median);
    if (result.replicates.size() == options.replicates || resampler.whole()) return result;
  }
}

}  // namespace stepscope
