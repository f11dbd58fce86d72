// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/csv/csv_tables.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace stepscope {
namespace {

// As the JSON has it: a number that is none is null there, broken UTF-8 replaced.
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

// The columns of the tables of an analysis (TreeTable::columns).
constexpr std::string_view steps_columns =
    "rank:int index:int name:text start_ns:int wall_ns:int budget_ns.compute:int "
    "budget_ns.comm_overlapped:int budget_ns.comm_exposed_wait:int "
    "budget_ns.comm_exposed_transfer:int budget_ns.comm_exposed_unsplit:int "
    "budget_ns.copy_exposed:int budget_ns.idle_data:int budget_ns.idle_host:int "
    "budget_ns.idle_sync:int budget_ns.idle_launch:int budget_ns.idle_dependency:int "
    "budget_ns.idle_unexplained:int budget_ns.not_recorded:int "
    "phases_ns.forward:int phases_ns.backward:int "
    "phases_ns.recompute:int phases_ns.optimizer:int phases_ns.data:int phases_ns.other:int";
constexpr std::string_view gaps_columns =
    "rank:int cause:text start_ns:int wall_ns:int step:int host_activity:text culprit:text";
constexpr std::string_view collectives_columns =
    "name:text group:text dimension:text group_size:int dtype:text count:int matched:int "
    "split:int bytes:int algbw_gb_per_s:real busbw_gb_per_s:real link_share:real "
    "transfer_ns:int wait_ns:int exposed_ns:int duration_ns:int skew_ns:int last_rank:int "
    "last_rank_share:real clock_uncertainty_ns:int";
constexpr std::string_view stragglers_columns =
    "rank:int role:text late_ns:int late_share:real last_count:int collectives:int "
    "persistence:real upper_bound_ns:int significant:bool cause:text";
constexpr std::string_view ranks_columns =
    "rank:int steps:int device:text gpu_name:text role:text budget_ns.compute:int "
    "budget_ns.comm_overlapped:int budget_ns.comm_exposed_wait:int "
    "budget_ns.comm_exposed_transfer:int budget_ns.comm_exposed_unsplit:int "
    "budget_ns.copy_exposed:int budget_ns.idle_data:int budget_ns.idle_host:int "
    "budget_ns.idle_sync:int budget_ns.idle_launch:int budget_ns.idle_dependency:int "
    "budget_ns.idle_unexplained:int budget_ns.not_recorded:int "
    "phases_ns.forward:int phases_ns.backward:int "
    "phases_ns.recompute:int phases_ns.optimizer:int phases_ns.data:int phases_ns.other:int "
    "outside_ns.before:int outside_ns.after:int outside_ns.between:int overlap.ratio:real "
    "overlap.efficiency:real overlap.compute_ns:int overlap.comm_ns:int overlap.overlap_ns:int "
    "overlap.step_ns:int overlap.no_overlap_ns:int overlap.perfect_overlap_ns:int "
    "overlap.schedule_bound_ns:int host.launches:int host.launch_ns:int "
    "host.empty_queue_launches:int host.starved_ns:int host.slack_p10_ns:int "
    "host.slack_p50_ns:int host.slack_p90_ns:int host.queue_mean:real host.queue_max:int "
    "host.launch_bound:bool host.sync_ns:int host.allocator_ns:int host.data_ns:int "
    "host.gc_ns:int host.overhead_ns:int host.negative_latencies:int";
constexpr std::string_view budget_columns =
    "category:text ns:int share:real worst_ns:real worst_rank:int stdev_ns:real";
constexpr std::string_view kernels_columns =
    "rank:int name:text class:text count:int total_ns:int mean_ns:int min_ns:int max_ns:int "
    "share:real flops:real tflops:real bytes:int gb_per_s:real tensor_core:bool";
constexpr std::string_view operators_columns =
    "rank:int name:text class:text shape:text dtype:text calls:int host_self_ns:int "
    "device_ns:int mean_ns:int min_ns:int max_ns:int share:real flops:real tflops:real "
    "bytes:int gb_per_s:real peak_share:real bandwidth_share:real bound:text";

// Objects of scalars become columns "key.inner"; arrays are left out.
void flatten(const std::string& prefix, const Json& object, Json& out) {
  for (const auto& [key, v] : object.items()) {
    if (v.is_object())
      flatten(prefix + key + '.', v, out);
    else if (!v.is_array())
      out[prefix + key] = v;
  }
}

Json flat(const Json& row) {
  Json out = Json::object();
  flatten("", row, out);
  return out;
}

TreeTable table_of(std::string name, const Json& rows, std::string_view columns = {}) {
  TreeTable table{std::move(name), Json::array(), columns};
  for (const Json& row : rows) table.rows.push_back(flat(row));
  return table;
}

// The rows of ranks[].key, each with its rank in front.
TreeTable per_rank(const Json& root, const std::string& key, std::string name,
                   std::string_view columns = {}) {
  TreeTable table{std::move(name), Json::array(), columns};
  for (const Json& rank : root["ranks"])
    for (const Json& row : rank[key]) {
      Json with_rank = {{"rank", rank["rank"]}};
      with_rank.update(flat(row));
      table.rows.push_back(std::move(with_rank));
    }
  return table;
}

TreeTable gaps(const Json& root) {
  TreeTable table{"gaps", Json::array(), gaps_columns};
  for (const Json& rank : root["ranks"])
    for (const Json& cause : rank["gaps"])
      for (const Json& gap : cause["largest"]) {
        Json row = {{"rank", rank["rank"]}, {"cause", cause["cause"]}};
        row.update(flat(gap));
        table.rows.push_back(std::move(row));
      }
  return table;
}

// One row a rank, its sums; what differs by kernel, gap, ... has tables of its own.
TreeTable ranks(const Json& root) {
  TreeTable table{"ranks", Json::array(), ranks_columns};
  for (const Json& rank : root["ranks"]) {
    Json row = {{"rank", rank["rank"]}, {"steps", rank["steps"].size()}};
    for (const char* key :
         {"device", "gpu_name", "role", "budget_ns", "phases_ns", "outside_ns", "overlap", "host"})
      if (!rank[key].is_null()) row[key] = rank[key];
    table.rows.push_back(flat(row));
  }
  return table;
}

// One row a category: of a step, mean over ranks and steps, and where the ranks differ.
TreeTable budget(const Json& root) {
  TreeTable table{"budget", Json::array(), budget_columns};
  const Json& job = root["job"];
  std::int64_t whole = 0;
  for (const auto& [category, ns] : job["budget_ns"].items()) whole += ns.get<std::int64_t>();
  if (whole == 0) return table;  // no step
  for (const auto& [category, ns] : job["budget_ns"].items()) {
    Json row = {{"category", category},
                {"ns", ns},
                {"share", ns.get<double>() / static_cast<double>(whole)}};
    const Json& spread = job["spread"][category];
    for (const char* key : {"worst_ns", "worst_rank", "stdev_ns"}) row[key] = spread[key];
    table.rows.push_back(std::move(row));
  }
  return table;
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

std::vector<CsvFile> csv_files(std::span<const TreeTable> tables) {
  std::vector<CsvFile> files;
  for (const TreeTable& t : tables)
    if (!t.rows.empty()) files.push_back({t.name + ".csv", csv_text(t.rows)});
  return files;
}

std::vector<TreeTable> analyze_tables(const Json& tree) {
  std::vector<TreeTable> tables = {
      per_rank(tree, "steps", "steps", steps_columns),
      gaps(tree),
      table_of("collectives", tree["collectives"], collectives_columns),
      table_of("stragglers", tree["stragglers"], stragglers_columns),
      ranks(tree),
      budget(tree),
      per_rank(tree, "kernels", "kernels", kernels_columns),
      per_rank(tree, "operators", "operators", operators_columns)};
  if (const Json& expected = tree["expected"]; !expected.is_null()) {
    if (!expected["step"].is_null())
      tables.push_back(table_of("expected_step", expected["step"]["classes"]));
    tables.push_back(per_rank(expected, "operators", "expected_operators"));
    tables.push_back(table_of("expected_collectives", expected["collectives"]));
  }
  if (!tree["mfu"].is_null()) tables.push_back(table_of("mfu", tree["mfu"]["terms"]));
  return tables;
}

std::vector<TreeTable> whatif_tables(const Json& tree) {
  return {table_of("scenarios", tree["scenarios"])};
}

std::vector<TreeTable> project_tables(const Json& tree) {
  return {table_of("changes", tree["changes"]), table_of("width", tree["width"])};
}

std::vector<TreeTable> compare_tables(const Json& tree) {
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
  return {table_of("launches", launches), table_of("parts", parts)};
}

std::vector<TreeTable> sweep_tables(const Json& tree) {
  Json rows = tree["values"];
  for (Json& row : rows) {
    const Json interval = row["interval"];
    row["low"] = interval.is_null() ? Json(nullptr) : interval[0];
    row["high"] = interval.is_null() ? Json(nullptr) : interval[1];
    row.erase("interval");
  }
  return {table_of("values", rows)};
}

std::vector<TreeTable> predict_tables(const Json& tree) {
  Json memory = Json::array();
  for (const auto& [key, bytes] : tree["memory_bytes"].items())
    memory.push_back({{"name", key}, {"bytes", bytes}});
  std::vector<TreeTable> tables = {table_of("terms", tree["step_terms"]),
                                   table_of("memory", memory), table_of("layers", tree["layers"]),
                                   table_of("layer_sums", tree["layer_sums"])};
  for (const Json& of_layer : tree["layer_tables"]) {
    Json rows = of_layer["rows"];
    rows.push_back(of_layer["sum"]);
    std::string name = of_layer["name"].get<std::string>();
    std::ranges::replace(name, ' ', '_');
    tables.push_back(table_of(name, rows));
  }
  if (!tree["comparison"].empty()) tables.push_back(table_of("comparison", tree["comparison"]));
  return tables;
}

std::vector<TreeTable> plan_tables(const Json& tree) {
  Json rejected = Json::array();
  rejected.push_back({{"what", "feasible"}, {"plans", tree["feasible"]}});
  for (const auto& [reason, plans] : tree["rejected"].items())
    rejected.push_back({{"what", reason}, {"plans", plans}});
  return {table_of("plans", tree["best"]),
          table_of("pareto", tree["pareto"]),
          table_of("by_devices", tree["by_devices"]),
          table_of("against", tree["against"]),
          table_of("rejected", rejected),
          table_of("sensitivity", tree["sensitivity"])};
}

std::vector<TreeTable> stacks_tables(const Json& tree) {
  Json rows = Json::array();
  for (const Json& t : tree["threads"])
    for (const Json& p : t["phases"])
      rows.push_back({{"thread", t["name"]},
                      {"process", t["process"]},
                      {"input", t["input"]},
                      {"pass", p["pass"]},
                      {"phase", p["phase"]},
                      {"weight", p["weight"]}});
  return {table_of("threads", rows), table_of("phases", tree["phases"]),
          table_of("functions", tree["functions"])};
}

std::vector<TreeTable> train_tables(const Json& tree) {
  std::vector<TreeTable> tables;
  for (const char* name : {"steps", "rank_steps", "memory", "collectives"})
    if (!tree[name].empty()) tables.push_back(table_of(name, tree[name]));
  return tables;
}

std::vector<TreeTable> collective_tables(const Json& tree) {
  TreeTable table{"collective", Json::array()};
  for (const Json& size : tree["sizes"])
    for (const Json& algorithm : size["algorithms"]) {
      Json row = {{"op", tree["op"]}, {"group", tree["group"]}, {"bytes", size["bytes"]}};
      row["algorithm"] = algorithm["name"];
      for (const char* key : {"protocol", "offered", "time_ns", "algbw_gb_per_s", "busbw_gb_per_s"})
        row[key] = algorithm[key];
      table.rows.push_back(std::move(row));
    }
  return {std::move(table)};
}

}  // namespace stepscope
