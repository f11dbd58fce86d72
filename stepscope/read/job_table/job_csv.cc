// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/job_table/job_csv.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

#include "stepscope/base/read_window.h"
#include "stepscope/read/job_table/job_columns.h"

namespace stepscope {
namespace {

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

std::string_view without_quotes(std::string_view cell) {
  while (!cell.empty() && (cell.front() == ' ' || cell.front() == '\t')) cell.remove_prefix(1);
  while (!cell.empty() && (cell.back() == ' ' || cell.back() == '\t' || cell.back() == '\r'))
    cell.remove_suffix(1);
  if (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"')
    cell = cell.substr(1, cell.size() - 2);
  return cell;
}

// Splits a line into `cells` (as many as fit) and returns their number. Quoted cells may contain
// commas.
std::size_t split(std::string_view line, std::span<std::string_view> cells) {
  std::size_t count = 0;
  for (std::size_t at = 0;;) {
    bool quoted = false;
    std::size_t end = at;
    while (end < line.size() && (quoted || line[end] != ',')) {
      if (line[end] == '"') quoted = !quoted;
      ++end;
    }
    if (count < cells.size()) cells[count] = without_quotes(line.substr(at, end - at));
    ++count;
    if (end == line.size()) return count;
    at = end + 1;
  }
}

template <class T>
bool parse(std::string_view cell, T& value) {
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  return error == std::errc{} && end == cell.data() + cell.size();
}

// An id. pandas writes integer columns with gaps as 3.0.
bool parse_id(std::string_view cell, std::int64_t& value) {
  if (parse(cell, value)) return true;
  double real = 0;
  if (!parse(cell, real) || !(std::abs(real) < 0x1p53) || real != std::trunc(real)) return false;
  value = static_cast<std::int64_t>(real);
  return true;
}

constexpr std::size_t most_cells = 256;

struct Header {
  std::array<std::size_t, job_column_count> place{};  // position of each column in a line
  std::size_t cells = 0;
};

Result<Header> read_header(std::string_view line, const std::string& path) {
  if (line.starts_with(byte_order_mark)) line.remove_prefix(byte_order_mark.size());
  std::array<std::string_view, most_cells> cells;
  Header header{.cells = split(line, cells)};
  if (header.cells > cells.size())
    return Error{.what = "the header has more than " + std::to_string(most_cells) + " columns",
                 .file = path,
                 .byte = 0,
                 .hint = "leave out columns that are not read"};
  const auto names = std::span(cells).first(header.cells);
  for (std::size_t c = 0; c < job_column_count; ++c) {
    const auto at = std::ranges::find(names, job_column_names[c]);
    if (at == names.end())
      return Error{.what = "the table lacks the column " + std::string(job_column_names[c]),
                   .file = path,
                   .byte = 0,
                   .hint =
                       "write it; the header names dp_rank, stage, rank, step, optype, start_ts, "
                       "duration, seq_id, mc, mb_id and gmc"};
    header.place[c] = static_cast<std::size_t>(at - names.begin());
  }
  return header;
}

void read_row(std::string_view line, const Header& header, std::uint64_t byte,
              JobOperations& table) {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
  std::array<std::string_view, most_cells> cells;
  const auto unusable = [&](const std::string& reason) {
    ++table.notes.events;
    table.notes.add(reason, byte);
  };
  if (split(line, cells) != header.cells) return unusable("wrong_cell_count");
  JobRow row;
  for (std::size_t c = 0; c < job_column_count; ++c) {
    const std::string_view cell = cells[header.place[c]];
    bool good = true;
    switch (static_cast<JobColumn>(c)) {
      case JobColumn::optype:
        row.optype = cell;
        break;
      case JobColumn::start_ts:
        good = parse(cell, row.start) && std::isfinite(row.start);
        break;
      case JobColumn::duration:
        good = parse(cell, row.duration) && std::isfinite(row.duration);
        break;
      default:
        good = parse_id(cell, row.number[c]);
    }
    if (!good) return unusable("not_a_number");
  }
  append_row(table, row, byte);
}

}  // namespace

bool is_job_csv(std::string_view head) {
  head = head.substr(0, head.find('\n'));
  if (head.starts_with(byte_order_mark)) head.remove_prefix(byte_order_mark.size());
  std::array<std::string_view, most_cells> cells;
  const std::size_t count = std::min(split(head, cells), cells.size());
  const auto has = [&](std::string_view name) {
    return std::ranges::find(cells.begin(), cells.begin() + count, name) != cells.begin() + count;
  };
  return has("optype") && has("dp_rank");
}

Result<JobOperations> read_job_csv(ByteSource& source, const std::string& path) {
  JobOperations table;
  std::optional<Header> header;
  std::string window;
  std::uint64_t window_at = 0;  // byte offset of its first character
  bool skip_line = false;       // skip the rest of a line that is too long
  for (bool ended = false; !ended;) {
    const std::size_t kept = window.size();
    window.resize(kept + window_bytes);
    const auto got = source.read(std::span(window).subspan(kept));
    if (!got) return got.error();
    ended = *got < window_bytes;
    window.resize(kept + *got);
    table.text_bytes += *got;
    if (ended && !source.damage().empty()) table.notes.truncated = true;
    std::size_t at = 0;
    while (at < window.size()) {
      std::size_t end = window.find('\n', at);
      if (end == std::string::npos) {
        if (!ended) break;
        if (table.notes.truncated) break;  // the line may be cut
        end = window.size();
      }
      const std::string_view line = std::string_view(window).substr(at, end - at);
      if (skip_line) {
        skip_line = false;
      } else if (!header) {
        auto read = read_header(line, path);
        if (!read) return read.error();
        header = *read;
      } else {
        read_row(line, *header, window_at + at, table);
      }
      at = std::min(end + 1, window.size());
    }
    if (at == 0 && window.size() > window_bytes && !ended) {
      if (!skip_line) table.notes.add("line_too_long", window_at);
      skip_line = true;
      at = window.size();
    }
    window.erase(0, at);
    window_at += at;
  }
  if (!header)
    return Error{.what = "the table has no header line",
                 .file = path,
                 .byte = 0,
                 .hint = "write the names of the columns into its first line"};
  return table;
}

}  // namespace stepscope
