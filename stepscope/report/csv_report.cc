// SPDX-License-Identifier: Apache-2.0
// Flattened from the JSON, so that the two cannot differ.
#include "stepscope/report/csv_report.h"

#include "stepscope/report/json_report.h"
#include "stepscope/report/json_values.h"

namespace stepscope {
namespace {

std::string cell(const Json& v) {
  if (v.is_null()) return {};
  std::string text =
      v.is_string() ? v.get<std::string>() : v.dump(-1, ' ', false, Json::error_handler_t::replace);
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

class Table {
 public:
  void add(const Json& row) {
    Json flat = Json::object();
    flatten("", row, flat);
    if (text_.empty()) {
      for (const auto& [key, v] : flat.items()) columns_.push_back(key);
      line([&](const std::string& key) { return cell(key); });
    }
    line([&](const std::string& key) {
      return flat.contains(key) ? cell(flat[key]) : std::string();
    });
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  template <class Cell>
  void line(Cell cell_of) {
    for (const std::string& column : columns_) {
      if (&column != columns_.data()) text_ += ',';
      text_ += cell_of(column);
    }
    text_ += "\r\n";
  }
  std::vector<std::string> columns_;
  std::string text_;
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

CsvFile plain(const Json& rows, const std::string& file) {
  Table table;
  for (const Json& row : rows) table.add(row);
  return {file, table.text()};
}

}  // namespace

std::vector<CsvFile> analyze_csv(const AnalyzeReport& report) {
  const Json root = Json::parse(analyze_json(report));
  std::vector<CsvFile> files = {
      per_rank(root, "steps", "steps.csv"),          gaps(root),
      plain(root["collectives"], "collectives.csv"), plain(root["stragglers"], "stragglers.csv"),
      per_rank(root, "kernels", "kernels.csv"),      per_rank(root, "operators", "operators.csv")};
  if (!root["mfu"].is_null()) files.push_back(plain(root["mfu"]["terms"], "mfu.csv"));
  std::erase_if(files, [](const CsvFile& f) { return f.text.empty(); });
  return files;
}

}  // namespace stepscope
