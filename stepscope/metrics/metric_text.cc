// SPDX-License-Identifier: Apache-2.0
#include "stepscope/metrics/metric_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "stepscope/base/result.h"

namespace stepscope {
namespace {

constexpr std::array<std::string_view, 5> type_names = {"gauge", "counter", "histogram", "summary",
                                                        "info"};

void append_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
}

bool name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':';
}

}  // namespace

bool valid_metric_name(std::string_view name) {
  return !name.empty() && name_start(name.front()) &&
         std::ranges::all_of(name, [](char c) { return name_start(c) || (c >= '0' && c <= '9'); });
}

std::string metric_number(double value, bool canonical) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  std::array<char, 32> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  std::string text(digits.data(), end);
  if (canonical && text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

void MetricText::family(std::string_view name, MetricType type, std::string_view unit,
                        std::string_view help) {
  check(valid_metric_name(name), "a metric's name has a character that OpenMetrics has not");
  check(unit.empty() || name.ends_with(std::string("_").append(unit)),
        "a metric's name lacks its unit");
  check(families_.insert(std::string(name)).second, "a metric family comes twice");
  name_ = name;
  text_.append("# TYPE ").append(name).append(" ");
  text_.append(type_names[static_cast<std::size_t>(type)]).append("\n");
  if (!unit.empty()) text_.append("# UNIT ").append(name).append(" ").append(unit).append("\n");
  text_.append("# HELP ").append(name).append(" ");
  append_escaped(text_, help);
  text_ += '\n';
}

void MetricText::start(std::string_view suffix, Labels labels) {
  text_.append(name_).append(suffix);
  bool first = true;
  for (const MetricLabel& label : labels) {
    text_.append(first ? "{" : ",").append(label.name).append("=\"");
    append_escaped(text_, label.value);
    text_ += '"';
    first = false;
  }
  if (!first) text_ += '}';
  text_ += ' ';
}

void MetricText::sample(std::string_view suffix, Labels labels, double value) {
  start(suffix, labels);
  text_.append(metric_number(value)).append("\n");
}
void MetricText::sample(std::string_view suffix, Labels labels, std::int64_t value) {
  start(suffix, labels);
  text_.append(std::to_string(value)).append("\n");
}
void MetricText::sample(std::string_view suffix, Labels labels, std::uint64_t value) {
  start(suffix, labels);
  text_.append(std::to_string(value)).append("\n");
}

std::string MetricText::finish() {
  text_ += "# EOF\n";
  return std::exchange(text_, {});
}

}  // namespace stepscope
