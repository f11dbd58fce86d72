// SPDX-License-Identifier: Apache-2.0
// Writes OpenMetrics text, version 1.0: families in order, each with TYPE, UNIT and HELP before its
// samples.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace stepscope {

enum class MetricType : std::uint8_t { gauge, counter, histogram, summary, info };

struct MetricLabel {
  std::string_view name;
  std::string_view value;  // any UTF-8; it is escaped here
};

class MetricText {
 public:
  using Labels = std::span<const MetricLabel>;

  // Begins a family with a valid, unique name. With a unit the name ends in "_unit". A counter's
  // name is without "_total".
  void family(std::string_view name, MetricType type, std::string_view unit, std::string_view help);
  // One sample of the last family; `suffix` is "", "_total", "_bucket", "_sum", "_count" or
  // "_info".
  void sample(std::string_view suffix, Labels labels, double value);
  void sample(std::string_view suffix, Labels labels, std::int64_t value);
  void sample(std::string_view suffix, Labels labels, std::uint64_t value);
  // The text with "# EOF" at the end. The object cannot be used afterwards.
  [[nodiscard]] std::string finish();

 private:
  void start(std::string_view suffix, Labels labels);

  std::string text_;
  std::string name_;
  std::set<std::string, std::less<>> families_;
};

// The shortest decimal that parses to the same value. canonical: with a point ("5.0"), as in the
// labels le and quantile.
[[nodiscard]] std::string metric_number(double value, bool canonical = false);
[[nodiscard]] bool valid_metric_name(std::string_view name);

}  // namespace stepscope
