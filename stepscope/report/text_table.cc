// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/text_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "stepscope/report/format.h"

namespace stepscope {
namespace {

std::string padded(std::string text, std::size_t width, bool right) {
  const std::size_t have = columns_of(text);
  const std::string space(have < width ? width - have : 0, ' ');
  return right ? space + text : text + space;
}

}  // namespace

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string bar(double share, std::size_t width) {
  static constexpr std::array<std::string_view, 8> eighths = {"",  "▏", "▎", "▍",
                                                              "▌", "▋", "▊", "▉"};
  const double clamped = std::clamp(share, 0.0, 1.0);
  auto parts = static_cast<std::size_t>(std::lround(clamped * static_cast<double>(width) * 8));
  if (share > 0 && parts == 0) parts = 1;
  std::string out;
  for (std::size_t i = 0; i < parts / 8; ++i) out += "█";
  return out + std::string(eighths[parts % 8]);
}

std::string text_table(const std::vector<Column>& columns,
                       const std::vector<std::vector<std::string>>& rows, std::size_t width) {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    std::size_t w = columns_of(columns[c].title);
    for (const auto& row : rows) w = std::max(w, std::min(columns_of(row[c]), columns[c].longest));
    widths.push_back(w);
  }
  const std::size_t total = std::accumulate(widths.begin(), widths.end(), 2 * columns.size());
  if (total > width) {
    const auto widest = std::ranges::max_element(widths);
    const std::size_t least = std::min<std::size_t>(*widest, 16);
    *widest = std::max(least, *widest > total - width ? *widest - (total - width) : 0);
  }
  std::string out;
  const auto line = [&](auto cell) {
    std::string text;
    for (std::size_t c = 0; c < columns.size(); ++c)
      text += "  " + padded(shorten(cell(c), widths[c]), widths[c], columns[c].right);
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + '\n';
  };
  line([&](std::size_t c) { return columns[c].title; });
  for (const auto& row : rows) line([&](std::size_t c) { return row[c]; });
  return out;
}

}  // namespace stepscope
