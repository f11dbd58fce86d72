// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/csv/csv_tables.h"

#include <fmt/format.h>

#include <algorithm>
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
  if (!v.is_string()) return dump(v);
  const auto& text = v.get_ref<const std::string&>();
  return is_utf8(text) ? text : Json::parse(dump(v)).get<std::string>();
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

void drop_empty(std::vector<CsvFile>& files) {
  std::erase_if(files, [](const CsvFile& f) { return f.text.empty(); });
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
  drop_empty(files);
  return files;
}

std::vector<CsvFile> compare_csv(const Json& tree) {
  Json launches = Json::array();
  for (const char* arm : {"a", "b"})
    for (const Json& launch : tree[arm]["launches"]) {
      Json row = {{"arm", arm}};
      row.update(launch);
      launches.push_back(std::move(row));
    }
  Json parts = tree["parts"];
  for (Json& part : parts) {
    const Json interval = part["interval_ns"];
    part["low_ns"] = interval.is_null() ? Json(nullptr) : interval[0];
    part["high_ns"] = interval.is_null() ? Json(nullptr) : interval[1];
    part.erase("interval_ns");
  }
  std::vector<CsvFile> files = {csv_table("launches.csv", launches), csv_table("parts.csv", parts)};
  drop_empty(files);
  return files;
}

std::vector<CsvFile> sweep_csv(const Json& tree) {
  Json rows = tree["values"];
  for (Json& row : rows) {
    const Json interval = row["interval"];
    row["low"] = interval.is_null() ? Json(nullptr) : interval[0];
    row["high"] = interval.is_null() ? Json(nullptr) : interval[1];
    row.erase("interval");
  }
  return {csv_table("values.csv", rows)};
}

std::vector<CsvFile> predict_csv(const Json& tree) {
  Json memory = Json::array();
  for (const auto& [key, bytes] : tree["memory_bytes"].items())
    memory.push_back({{"name", key}, {"bytes", bytes}});
  std::vector<CsvFile> files = {
      csv_table("terms.csv", tree["step_terms"]), csv_table("memory.csv", memory),
      csv_table("layers.csv", tree["layers"]), csv_table("layer_sums.csv", tree["layer_sums"])};
  for (const Json& table : tree["layer_tables"]) {
    Json rows = table["rows"];
    rows.push_back(table["sum"]);
    std::string name = table["name"].get<std::string>();
    std::ranges::replace(name, ' ', '_');
    files.push_back(csv_table(name + ".csv", rows));
  }
  if (!tree["comparison"].empty()) files.push_back(csv_table("comparison.csv", tree["comparison"]));
  return files;
}

std::vector<CsvFile> plan_csv(const Json& tree) {
  Json rejected = Json::array();
  rejected.push_back({{"what", "feasible"}, {"plans", tree["feasible"]}});
  for (const auto& [reason, plans] : tree["rejected"].items())
    rejected.push_back({{"what", reason}, {"plans", plans}});
  std::vector<CsvFile> files = {csv_table("plans.csv", tree["best"]),
                                csv_table("pareto.csv", tree["pareto"]),
                                csv_table("by_devices.csv", tree["by_devices"]),
                                csv_table("against.csv", tree["against"]),
                                csv_table("rejected.csv", rejected),
                                csv_table("sensitivity.csv", tree["sensitivity"])};
  drop_empty(files);
  return files;
}

std::vector<CsvFile> stacks_csv(const Json& tree) {
  Json rows = Json::array();
  for (const Json& t : tree["threads"])
    for (const Json& p : t["phases"])
      rows.push_back({{"thread", t["name"]},
                      {"process", t["process"]},
                      {"input", t["input"]},
                      {"pass", p["pass"]},
                      {"phase", p["phase"]},
                      {"weight", p["weight"]}});
  std::vector<CsvFile> files = {csv_table("threads.csv", rows),
                                csv_table("phases.csv", tree["phases"]),
                                csv_table("functions.csv", tree["functions"])};
  drop_empty(files);
  return files;
}

std::vector<CsvFile> train_csv(const Json& tree) {
  std::vector<CsvFile> files;
  for (const char* name : {"steps", "rank_steps", "memory", "collectives"})
    if (!tree[name].empty()) files.push_back(csv_table(std::string(name) + ".csv", tree[name]));
  return files;
}

CsvFile collective_csv(const PredictCollectiveResult& result) {
  CsvFile file{
      "collective.csv",
      "op,group,bytes,algorithm,protocol,offered,time_ns,algbw_gb_per_s,busbw_gb_per_s\r\n"};
  const double factor = busbw_factor(result.sweep.kind, result.sweep.group.size).value();
  for (const SweepPoint& p : result.sweep.points)
    for (const AlgorithmTime& a : p.algorithms) {
      const double rate = (p.bytes / a.time).value / 1e9;
      file.text += fmt::format(
          "{},{},{},{},{},{},{},{},{}\r\n", name_of(collective_kind_names, result.sweep.kind),
          result.sweep.group.size, p.bytes.value, name_of(algorithm_names, a.algorithm),
          name_of(protocol_names, a.protocol), a.offered, nanoseconds_of(a.time), rate,
          rate * factor);
    }
  return file;
}

}  // namespace stepscope
