// SPDX-License-Identifier: Apache-2.0
// Flattened from the JSON, so that the two cannot differ.
#include "stepscope/report/csv_report.h"

#include <cmath>
#include <map>
#include <utility>

#include "stepscope/base/utf8.h"

namespace stepscope {
namespace {

bool is_utf8(std::string_view text) {
  for (std::size_t p = 0; p < text.size();) {
    const std::size_t n = utf8_length(text, p);
    if (n == 0) return false;
    p += n;
  }
  return true;
}

// As the JSON has it: a number that is none is null there, broken UTF-8 replaced.
std::string text_of(const Json& v) {
  if (v.is_null() || (v.is_number_float() && !std::isfinite(v.get<double>()))) return {};
  const auto dump = [&] { return v.dump(-1, ' ', false, Json::error_handler_t::replace); };
  if (!v.is_string()) return dump();
  const auto& text = v.get_ref<const std::string&>();
  return is_utf8(text) ? text : Json::parse(dump()).get<std::string>();
}

std::string cell(const Json& v) {
  std::string text = text_of(v);
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
class Table {
 public:
  void add(const Json& row) {
    Json flat = Json::object();
    flatten("", row, flat);
    std::vector<std::string>& cells = rows_.emplace_back(columns_.size());
    for (const auto& [key, v] : flat.items()) {
      const auto [at, fresh] = place_.try_emplace(key, columns_.size());
      if (fresh) columns_.push_back(key);
      cells.resize(columns_.size());
      cells[at->second] = cell(v);
    }
  }
  [[nodiscard]] std::string text() const {
    std::string out;
    if (rows_.empty()) return out;
    const auto line = [&](auto cell_of) {
      for (std::size_t c = 0; c < columns_.size(); ++c) {
        if (c > 0) out += ',';
        out += cell_of(c);
      }
      out += "\r\n";
    };
    line([&](std::size_t c) { return cell(columns_[c]); });
    for (const std::vector<std::string>& row : rows_)
      line([&](std::size_t c) { return c < row.size() ? row[c] : std::string(); });
    return out;
  }

 private:
  std::vector<std::string> columns_;
  std::map<std::string, std::size_t> place_;
  std::vector<std::vector<std::string>> rows_;
};

// The rows of ranks[].key, each with its rank in front.
CsvFile per_rank(const Json& root, const std::string& key, const std::string& file) {
  Table table;
  for (const Json& rank : root["ranks"])
    for (const Json& row : rank[key]) {
      Json with_rank = {{"rank", rank["rank"]}};
      with_rank.update(row);
      table.add(with_rank);
    }
  return {file, table.text()};
}

CsvFile gaps(const Json& root) {
  Table table;
  for (const Json& rank : root["ranks"])
    for (const Json& cause : rank["gaps"])
      for (const Json& gap : cause["largest"]) {
        Json row = {{"rank", rank["rank"]}, {"cause", cause["cause"]}};
        row.update(gap);
        table.add(row);
      }
  return {"gaps.csv", table.text()};
}

}  // namespace

CsvFile csv_table(std::string name, const Json& rows) {
  Table table;
  for (const Json& row : rows) table.add(row);
  return {std::move(name), table.text()};
}

std::vector<CsvFile> analyze_csv(const Json& tree) {
  std::vector<CsvFile> files = {per_rank(tree, "steps", "steps.csv"),
                                gaps(tree),
                                csv_table("collectives.csv", tree["collectives"]),
                                csv_table("stragglers.csv", tree["stragglers"]),
                                per_rank(tree, "kernels", "kernels.csv"),
                                per_rank(tree, "operators", "operators.csv")};
  if (const Json& expected = tree["expected"]; !expected.is_null()) {
    if (!expected["step"].is_null())
      files.push_back(csv_table("expected_step.csv", expected["step"]["classes"]));
    files.push_back(per_rank(expected, "operators", "expected_operators.csv"));
    files.push_back(csv_table("expected_collectives.csv", expected["collectives"]));
  }
  if (!tree["mfu"].is_null()) files.push_back(csv_table("mfu.csv", tree["mfu"]["terms"]));
  std::erase_if(files, [](const CsvFile& f) { return f.text.empty(); });
  return files;
}

}  // namespace stepscope
