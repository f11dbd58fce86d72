// SPDX-License-Identifier: Apache-2.0
#include "stepscope/face/tree/csv_tables.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace stepscope {
namespace {

// As the JSON has it: a number that is not finite is null there, broken UTF-8 replaced.
std::string text_of(const Json& v) {
  if (v.is_null() || (v.is_number_float() && !std::isfinite(v.get<double>()))) return {};
  if (!v.is_string()) return dump(v);
  return valid_text(v.get_ref<const std::string&>());
}

// A text that a spreadsheet would take for a formula begins with an apostrophe.
std::string cell(const Json& v) {
  std::string text = text_of(v);
  if (v.is_string() && !text.empty() &&
      std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos)
    text.insert(0, 1, '\'');
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

// Objects of scalars become columns "key.inner"; arrays are left out.
void flatten(const std::string& prefix, const Json& object, Json& out) {
  for (const auto& [key, v] : object.items()) {
    if (v.is_object())
      flatten(prefix + key + '.', v, out);
    else if (!v.is_array())
      out[prefix + key] = v;
  }
}

// A column for each key that any row has, in the order of their first rows.
std::string csv_text(const Json& rows) {
  std::vector<std::string> columns;
  std::map<std::string, std::size_t> place;
  std::vector<std::vector<std::string>> cells;
  for (const Json& row : rows) {
    std::vector<std::string>& line = cells.emplace_back(columns.size());
    for (const auto& [key, v] : row.items()) {
      const auto [at, fresh] = place.try_emplace(key, columns.size());
      if (fresh) columns.push_back(key);
      line.resize(columns.size());
      line[at->second] = cell(v);
    }
  }
  std::string out;
  const auto line = [&](auto cell_of) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (c > 0) out += ',';
      out += cell_of(c);
    }
    out += "\r\n";
  };
  line([&](std::size_t c) { return cell(columns[c]); });
  for (const std::vector<std::string>& row : cells)
    line([&](std::size_t c) { return c < row.size() ? row[c] : std::string(); });
  return out;
}

}  // namespace

Json flat(const Json& row) {
  Json out = Json::object();
  flatten("", row, out);
  return out;
}

TreeTable table_of(std::string name, const Json& rows, std::string_view columns) {
  TreeTable table{std::move(name), Json::array(), columns};
  for (const Json& row : rows) table.rows.push_back(flat(row));
  return table;
}

// The rows of ranks[].key, each with its rank in front.
TreeTable per_rank(const Json& root, const std::string& key, std::string name,
                   std::string_view columns) {
  TreeTable table{std::move(name), Json::array(), columns};
  for (const Json& rank : root["ranks"])
    for (const Json& row : rank[key]) {
      Json with_rank = {{"rank", rank["rank"]}};
      with_rank.update(flat(row));
      table.rows.push_back(std::move(with_rank));
    }
  return table;
}

std::vector<CsvFile> csv_files(std::span<const TreeTable> tables) {
  std::vector<CsvFile> files;
  for (const TreeTable& t : tables)
    if (!t.rows.empty()) files.push_back({t.name + ".csv", csv_text(t.rows)});
  return files;
}

}  // namespace stepscope
