// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stack/instruction_table.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace stepscope {
namespace {

bool read_number(std::string_view text, std::uint32_t& value) {
  const int base = text.starts_with("0x") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return !text.empty() && error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Result<InstructionTable> InstructionTable::parse(std::string_view text, std::string_view path) {
  InstructionTable table;
  for (std::size_t begin = 0, number = 1; begin < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    const std::size_t at = begin;
    begin = end + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    std::array<std::string_view, 5> cells;
    std::size_t cell = 0;
    for (std::size_t from = 0; from <= line.size() && cell < cells.size(); ++cell) {
      const std::size_t to = std::min(line.find('\t', from), line.size());
      cells[cell] = line.substr(from, to - from);
      from = to + 1;
    }
    Row row;
    std::uint32_t source_line = 0;
    if (cell < cells.size() || cells[1].empty() || !read_number(cells[2], row.first) ||
        !read_number(cells[3], row.last) || !read_number(cells[4], source_line) ||
        row.last < row.first || source_line > 100'000'000)
      return Error{
          .what = std::string("line ")
                      .append(std::to_string(number))
                      .append(" is no row of instructions"),
          .file = std::string(path),
          .byte = at,
          .hint = "write file, function, first unit, last unit and line, separated by tabs"};
    row.line = static_cast<int>(source_line);
    const auto file = std::ranges::find(table.files_, cells[0]);
    row.file = static_cast<std::uint32_t>(file - table.files_.begin());
    if (file == table.files_.end()) table.files_.emplace_back(cells[0]);
    table.functions_[one_underscore(cells[1])].push_back(row);
    ++table.rows_;
  }
  if (table.rows_ == 0)
    return Error{.what = "no rows of instructions",
                 .file = std::string(path),
                 .hint = "write file, function, first unit, last unit and line, separated by tabs"};
  return table;
}

bool InstructionTable::knows(const Frame& frame) const {
  return functions_.contains(one_underscore(frame.function));
}

std::optional<SourceLine> InstructionTable::find(const Frame& frame) const {
  if (!frame.instruction) return std::nullopt;
  const auto found = functions_.find(one_underscore(frame.function));
  if (found == functions_.end()) return std::nullopt;
  std::optional<SourceLine> line;
  for (const Row& row : found->second) {
    if (*frame.instruction < row.first || *frame.instruction > row.last) continue;
    const SourceLine here{files_[row.file], row.line};
    if (line && (line->file != here.file || line->line != here.line)) return std::nullopt;
    line = here;
  }
  return line;
}

}  // namespace stepscope
