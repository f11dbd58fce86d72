// SPDX-License-Identifier: Apache-2.0
#include "csv_table.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

namespace stepscope::bench {
namespace {

struct Cursor {
  std::string_view text;
  std::size_t at = 0;
  std::size_t line = 1;
};

// Reads one field. False if a quote does not end.
bool take_field(Cursor& c, std::string& field) {
  field.clear();
  bool quoted = false;
  for (; c.at < c.text.size(); ++c.at) {
    const char ch = c.text[c.at];
    if (ch == '"') {
      const bool twice = quoted && c.at + 1 < c.text.size() && c.text[c.at + 1] == '"';
      if (twice)
        field += c.text[c.at++];
      else
        quoted = !quoted;
      continue;
    }
    if (!quoted && (ch == ',' || ch == '\n')) break;
    if (ch == '\n') ++c.line;
    field += ch;
  }
  if (!quoted && !field.empty() && field.back() == '\r') field.pop_back();
  return !quoted;
}

Error at_line(const std::string& path, std::size_t line, const std::string& what) {
  return Error{.what = "line " + std::to_string(line) + ": " + what, .file = path};
}

}  // namespace

Result<CsvTable> parse_csv(std::string_view text, const std::string& path) {
  CsvTable table;
  Cursor c{text};
  std::string field;
  while (c.at < text.size()) {
    const std::size_t line = c.line;
    std::vector<std::string> row;
    for (;;) {
      if (!take_field(c, field)) return at_line(path, line, "a quote does not end");
      row.push_back(field);
      const bool more = c.at < text.size() && text[c.at] == ',';
      if (c.at < text.size()) ++c.at;
      if (!more) break;
    }
    ++c.line;
    if (row.size() == 1 && row[0].empty()) continue;
    if (table.columns.empty()) {
      table.columns = std::move(row);
      continue;
    }
    if (row.size() != table.columns.size()) {
      return at_line(path, line,
                     std::to_string(row.size()) + " fields, the header has " +
                         std::to_string(table.columns.size()));
    }
    table.rows.push_back(std::move(row));
    table.lines.push_back(line);
  }
  if (table.columns.empty()) return Error{.what = "holds no header line", .file = path};
  return table;
}

Result<CsvTable> read_csv(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in) {
    return Error{.what = std::string("cannot be read: ") + std::strerror(errno), .file = path};
  }
  return parse_csv(text, path);
}

Result<std::size_t> column(const CsvTable& table, std::string_view name) {
  const auto at = std::ranges::find(table.columns, name);
  if (at == table.columns.end())
    return Error{.what = "column \"" + std::string(name) + "\" is missing"};
  return static_cast<std::size_t>(at - table.columns.begin());
}

}  // namespace stepscope::bench
