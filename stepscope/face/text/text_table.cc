// SPDX-License-Identifier: Apache-2.0
#include "stepscope/face/text/text_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "stepscope/say/format.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

constexpr std::size_t note_width = 240;  // columns

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::size_t have = columns_of(text);
  const std::string space(have < width ? width - have : 0, ' ');
  return right ? space + text : text + space;
}

// Takes what is too much from the widest text column, one column of the screen at a time, so that
// several long ones end alike; no text column gets narrower than its title or eight.
void give_way(const std::vector<Column>& columns, std::vector<std::size_t>& widths,
              std::size_t width) {
  std::size_t total = std::accumulate(widths.begin(), widths.end(), 2 * columns.size());
  for (; total > width; --total) {
    std::size_t widest = columns.size();
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const std::size_t least = std::max<std::size_t>(columns_of(columns[c].title), 8);
      if (columns[c].right || widths[c] <= least) continue;
      if (widest == columns.size() || widths[c] > widths[widest]) widest = c;
    }
    if (widest == columns.size()) return;
    --widths[widest];
  }
}

// A name from a trace may hold line breaks and tabs.
std::string on_one_line(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (space && (out.empty() || out.back() == ' ')) continue;
    out += space ? ' ' : c;
  }
  return out;
}

// A quantity and its unit stay together.
std::size_t end_of_word(std::string_view text, std::size_t begin) {
  const std::size_t end = std::min(text.find(' ', begin), text.size());
  if (end == text.size() || end == begin || text[end - 1] < '0' || text[end - 1] > '9') return end;
  const std::size_t next = std::min(text.find(' ', end + 1), text.size());
  const std::string_view unit = text.substr(end + 1, next - end - 1);
  for (const std::string_view known : {"%", "s", "ms", "µs", "ns"})
    if (unit.starts_with(known) && unit.size() <= known.size() + 2) return next;
  return end;
}

// What the column takes without giving way.
std::size_t widest(const Column& column, const std::vector<std::vector<std::string>>& rows,
                   std::size_t c) {
  std::size_t width = columns_of(column.title);
  for (const auto& row : rows)
    width = std::max(
        width, column.wraps ? columns_of(row[c]) : std::min(columns_of(row[c]), column.longest));
  return width;
}

std::vector<std::string> wrapped_lines(std::string_view text, std::size_t width) {
  std::vector<std::string> out;
  const std::string all = wrapped(text, width);
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = all.find('\n', at);
    out.push_back(all.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// Columns in which no row says anything.
void drop_empty(std::vector<Column>& columns, std::vector<std::vector<std::string>>& rows) {
  for (std::size_t c = columns.size(); c-- > 0;) {
    const bool says = std::ranges::any_of(
        rows, [&](const auto& row) { return !row[c].empty() && row[c] != "-"; });
    if (says || rows.empty()) continue;
    const auto at = static_cast<std::ptrdiff_t>(c);
    columns.erase(columns.begin() + at);
    for (auto& row : rows) row.erase(row.begin() + at);
  }
}

}  // namespace

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string wrapped(const Message& message, std::size_t width) {
  return wrapped(say_stopped(message), width);
}

std::string wrapped(std::string_view text, std::size_t width) {
  std::string out;
  std::size_t column = 0;
  for (std::size_t p = 0; p < text.size();) {
    const std::size_t end = end_of_word(text, p);
    const std::string_view word = text.substr(p, end - p);
    const std::size_t w = columns_of(word);
    if (column > 0 && column + 1 + w > width) {
      out += '\n';
      column = 0;
    }
    if (column > 0) {
      out += ' ';
      ++column;
    }
    out += word;
    column += w;
    p = end + 1;
  }
  return out + '\n';
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

std::string text_table(std::vector<Column> columns, std::vector<std::vector<std::string>> rows,
                       std::size_t width) {
  for (auto& row : rows)
    for (std::string& text : row) text = on_one_line(text);
  drop_empty(columns, rows);
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns.size(); ++c) widths.push_back(widest(columns[c], rows, c));
  give_way(columns, widths, width);
  std::string out;
  const auto line = [&](auto cell) {
    std::string text;
    for (std::size_t c = 0; c < columns.size(); ++c)
      text += "  " + padded(shorten(cell(c), widths[c]), widths[c], columns[c].right);
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + '\n';
  };
  line([&](std::size_t c) { return columns[c].title; });
  for (auto& row : rows) {
    std::vector<std::vector<std::string>> cells;  // by column, the lines of its text
    std::size_t lines = 1;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      cells.push_back(columns[c].wraps ? wrapped_lines(row[c], widths[c]) : std::vector{row[c]});
      lines = std::max(lines, cells.back().size());
    }
    for (std::size_t l = 0; l < lines; ++l)
      line([&](std::size_t c) { return l < cells[c].size() ? cells[c][l] : std::string(); });
  }
  return out;
}

std::string folded_table(std::vector<Column> columns, std::vector<std::vector<std::string>> rows,
                         std::size_t width) {
  drop_empty(columns, rows);
  std::string out;
  for (std::size_t next = 1; next < columns.size();) {
    std::vector<Column> part = {columns[0]};
    std::vector<std::vector<std::string>> cells;
    for (const auto& row : rows) cells.push_back({row[0]});
    std::size_t used = 2 + widest(columns[0], rows, 0);
    do {
      used += 2 + widest(columns[next], rows, next);
      part.push_back(columns[next]);
      for (std::size_t r = 0; r < rows.size(); ++r) cells[r].push_back(rows[r][next]);
      ++next;
    } while (next < columns.size() && used + 2 + widest(columns[next], rows, next) <= width);
    out += (out.empty() ? "" : "\n") + text_table(std::move(part), std::move(cells), width);
  }
  return out;
}

std::string notes_text(const Messages& warnings, std::size_t width) {
  return notes_text(say_all(warnings), width);
}

std::string details_line(const TextOptions& options) {
  return options.details.empty() ? std::string() : "Details: " + printable(options.details) + '\n';
}

std::string notes_text(std::span<const std::string> warnings, std::size_t width) {
  std::string out;
  for (const std::string& w : warnings)
    out += wrapped("note: " + shorten(printable(w), note_width), width);
  return out;
}

}  // namespace stepscope
