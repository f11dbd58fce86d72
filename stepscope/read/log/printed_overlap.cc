// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/log/printed_overlap.h"

#include <algorithm>
#include <array>
#include <optional>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"
#include "stepscope/read/log/step_table.h"
#include "stepscope/read/log/time_unit.h"

namespace stepscope {
namespace {

// What is measured, by its names in print and in JSON; JSON has milliseconds.
struct OverlapFigure {
  std::string_view printed;
  std::string_view key;
};
constexpr std::array<OverlapFigure, 3> figures = {{{"Compute only", "\"compute_only_ms\""},
                                                   {"Comm only", "\"comm_only_ms\""},
                                                   {"Actual total", "\"total_time_ms\""}}};

// Removes everything up to the figure and the figure: in ns.
std::optional<double> take_figure(std::string_view& text, const OverlapFigure& figure) {
  const std::size_t printed = text.find(figure.printed);
  const std::size_t key = text.find(figure.key);
  if (printed == std::string_view::npos && key == std::string_view::npos) return std::nullopt;
  text.remove_prefix(printed < key ? printed + figure.printed.size() : key + figure.key.size());
  text.remove_prefix(std::min(text.find_first_not_of(" :|~"), text.size()));
  const auto number = take_number<double>(text);
  if (!number) return std::nullopt;
  if (key < printed) return *number * ns_per(TimeUnit::ms);
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const auto unit = time_unit(text.substr(0, text.find_first_of(" |\r\n")));
  return unit ? std::optional(*number * ns_per(*unit)) : std::nullopt;
}

std::optional<std::array<double, 3>> take_block(std::string_view& text) {
  std::array<double, 3> ns{};
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const auto one = take_figure(text, figures[i]);
    if (!one) return std::nullopt;
    ns[i] = *one;
  }
  return ns;
}

}  // namespace

bool begins_printed_overlap(std::string_view head) { return take_block(head).has_value(); }

std::string csv_of_printed_overlap(std::string_view text) {
  std::string csv = "compute_ns,comm_ns,step_ns\n";
  while (const auto block = take_block(text))
    for (const double& ns : *block) {
      append_number(csv, ns);
      csv += &ns == &block->back() ? '\n' : ',';
    }
  return csv;
}

}  // namespace stepscope
