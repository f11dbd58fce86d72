// SPDX-License-Identifier: Apache-2.0
// bench/collectives FILE.csv [--json OUT]: compares the model of collectives with measurements. For
// each source and operation the error of
//   catalogue   the unchanged machine files
//   group       links fitted without the predicted group (its members and domains)
//   nodes links fitted without all groups over the same number of domains
//   size        links fitted without the predicted octave of sizes
//   alpha-beta  a start and a bus rate, fitted to each group itself (not held out)
//   spec        bytes on the wire divided by the specified rate
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "collective_rows.h"
#include "stepscope/stats/summary.h"

namespace {

using namespace stepscope;
using namespace stepscope::bench;

enum class Method : std::uint8_t { catalogue, group, nodes, size, alpha_beta, spec };
constexpr std::array<std::string_view, 6> method_names = {"catalogue", "group",      "nodes",
                                                          "size",      "alpha-beta", "spec"};
constexpr int size_folds = 5;

using Predictions = std::array<std::optional<double>, method_names.size()>;  // seconds

struct Bench {
  CollectiveRows data;
  std::vector<Predictions> predicted;  // one per row
};

std::optional<double>& prediction(Bench& bench, std::size_t row, Method method) {
  return bench.predicted[row][static_cast<std::size_t>(method)];
}

std::optional<double> modelled(const Network& network, const CollectiveRow& row) {
  const auto time = modelled_time(network, row.timing);
  return time ? std::optional(time->count()) : std::nullopt;
}

// Fits to a machine's rows for which `held` is false and predicts the others.
template <class Held>
void hold_out(Bench& bench, std::size_t machine, Method method, const Held& held) {
  std::vector<CollectiveTiming> known;
  std::vector<std::size_t> asked;
  for (std::size_t i = 0; i < bench.data.rows.size(); ++i) {
    const CollectiveRow& row = bench.data.rows[i];
    if (row.machine != machine) continue;
    if (held(row.timing))
      asked.push_back(i);
    else
      known.push_back(row.timing);
  }
  if (known.empty()) return;  // no data for a fit: no prediction
  const LinkFit fit = fit_links(unmeasured(*bench.data.machines[machine]), known);
  for (const std::size_t i : asked) {
    prediction(bench, i, method) = modelled(fit.network, bench.data.rows[i]);
  }
}

int octave(const CollectiveTiming& timing) {
  return static_cast<int>(std::floor(std::log2(static_cast<double>(timing.bytes.value) + 1)));
}

void cross_validate(Bench& bench) {
  for (std::size_t m = 0; m < bench.data.machines.size(); ++m) {
    std::set<std::pair<int, int>> groups;
    for (const CollectiveRow& row : bench.data.rows) {
      if (row.machine == m) groups.insert({row.timing.group.domains, row.timing.group.members});
    }
    for (const auto& [domains, members] : groups) {
      if (groups.size() < 2) break;
      hold_out(bench, m, Method::group, [&](const CollectiveTiming& t) {
        return t.group.domains == domains && t.group.members == members;
      });
    }
    std::set<int> domain_counts;
    for (const auto& [domains, members] : groups) domain_counts.insert(domains);
    for (const int domains : domain_counts) {
      if (domains == 1) continue;  // the rest has no data on links in a domain
      hold_out(bench, m, Method::nodes,
               [&](const CollectiveTiming& t) { return t.group.domains == domains; });
    }
    for (int fold = 0; fold < size_folds; ++fold) {
      hold_out(bench, m, Method::size,
               [&](const CollectiveTiming& t) { return octave(t) % size_folds == fold; });
    }
  }
}

// min over a, b of sum ((a + b V) / t - 1)^2: two parameters for each group, operation and source.
void predict_alpha_beta(Bench& bench) {
  std::map<std::tuple<std::string, CollectiveKind, int, int>, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < bench.data.rows.size(); ++i) {
    const auto& [line, source, machine, t] = bench.data.rows[i];
    groups[{source, t.kind, t.group.domains, t.group.members}].push_back(i);
  }
  for (const auto& [key, rows] : groups) {
    if (rows.size() < 3) continue;
    double aa = 0, ab = 0, bb = 0, a1 = 0, b1 = 0;
    for (const std::size_t i : rows) {
      const CollectiveTiming& t = bench.data.rows[i].timing;
      const double a = 1 / t.time.count();
      const double b = bus_bytes(t) / t.time.count();
      aa += a * a, ab += a * b, bb += b * b, a1 += a, b1 += b;
    }
    const double det = aa * bb - ab * ab;
    for (const std::size_t i : rows) {
      const double start = (a1 * bb - b1 * ab) / det;
      const double per_byte = (b1 * aa - a1 * ab) / det;
      prediction(bench, i, Method::alpha_beta) =
          start + per_byte * bus_bytes(bench.data.rows[i].timing);
    }
  }
}

void predict_spec(Bench& bench) {
  for (std::size_t i = 0; i < bench.data.rows.size(); ++i) {
    const CollectiveTiming& t = bench.data.rows[i].timing;
    const double rate = t.group.domains > 1 ? t.group.across.value : t.group.within.value;
    prediction(bench, i, Method::spec) = bus_bytes(t) / rate;
  }
}

struct Errors {
  std::vector<double> relative;  // predicted / measured - 1
};

using Table =
    std::map<std::pair<std::string, std::string>, std::array<Errors, method_names.size()>>;

void print_line(const std::string& source, const std::string& op, Method method,
                const Errors& errors) {
  if (errors.relative.empty()) return;
  std::vector<double> sizes;
  for (const double e : errors.relative) sizes.push_back(std::abs(e));
  fmt::print("| {} | {} | {} | {} | {:.1f} | {:.1f} | {:+.1f} | {:.0f} |\n", source, op,
             method_names[static_cast<std::size_t>(method)], sizes.size(), 100 * *mean(sizes),
             100 * *median(sizes), 100 * *mean(errors.relative), 100 * std::ranges::max(sizes));
}

void print(const Bench& bench) {
  Table table;
  for (std::size_t i = 0; i < bench.data.rows.size(); ++i) {
    const CollectiveRow& row = bench.data.rows[i];
    const std::string op(collective_kind_names[static_cast<std::size_t>(row.timing.kind)]);
    for (std::size_t m = 0; m < method_names.size(); ++m) {
      if (!bench.predicted[i][m]) continue;
      const double error = *bench.predicted[i][m] / row.timing.time.count() - 1;
      table[{row.source, op}][m].relative.push_back(error);
      table[{"~ all", "all"}][m].relative.push_back(error);
      const std::string machine = "~ " + bench.data.machines[row.machine]->name;
      table[{machine, op}][m].relative.push_back(error);
      table[{machine, "all"}][m].relative.push_back(error);
    }
  }
  fmt::print("| source | operation | method | n | MAPE % | median % | bias % | worst % |\n");
  fmt::print("|---|---|---|---|---|---|---|---|\n");
  for (const auto& [key, methods] : table) {
    for (std::size_t m = 0; m < method_names.size(); ++m) {
      print_line(key.first, key.second, static_cast<Method>(m), methods[m]);
    }
  }
  for (const auto& [reason, count] : bench.data.left_out) {
    fmt::print("left out: {} ({})\n", reason, count);
  }
}

bool write_json(const Bench& bench, const std::string& path) {
  nlohmann::ordered_json json;
  json["schema"] = "stepscope.bench_collectives/1";
  json["rows"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < bench.data.rows.size(); ++i) {
    const auto& [line, source, machine, t] = bench.data.rows[i];
    nlohmann::ordered_json row;
    row["line"] = line;
    row["source"] = source;
    row["machine"] = bench.data.machines[machine]->name;
    row["operation"] = collective_kind_names[static_cast<std::size_t>(t.kind)];
    row["ranks"] = t.group.size;
    row["domains"] = t.group.domains;
    row["total_bytes"] = t.bytes.value;
    row["measured_us"] = t.time.count() * 1e6;
    for (std::size_t m = 0; m < method_names.size(); ++m) {
      std::string key(method_names[m]);
      std::ranges::replace(key, '-', '_');
      const auto& predicted = bench.predicted[i][m];
      row[key + "_us"] = predicted ? nlohmann::ordered_json(*predicted * 1e6) : nullptr;
    }
    json["rows"].push_back(std::move(row));
  }
  json["left_out"] = bench.data.left_out;
  std::ofstream out(path);
  out << json.dump(1) << '\n';
  out.flush();
  return out.good();
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.size() != 1 && !(args.size() == 3 && args[1] == "--json")) {
    fmt::print(stderr, "usage: collectives FILE.csv [--json OUT]\n");
    return 2;
  }
  auto rows = read_collectives(args[0]);
  if (!rows) {
    fmt::print(stderr, "collectives: {}\n", rows.error().message());
    return 1;
  }
  Bench bench{.data = *std::move(rows), .predicted = {}};
  bench.predicted.resize(bench.data.rows.size());
  for (std::size_t i = 0; i < bench.data.rows.size(); ++i) {
    const CollectiveRow& row = bench.data.rows[i];
    prediction(bench, i, Method::catalogue) = modelled(bench.data.networks[row.machine], row);
  }
  cross_validate(bench);
  predict_alpha_beta(bench);
  predict_spec(bench);
  print(bench);
  if (args.size() < 3 || write_json(bench, args[2])) return 0;
  fmt::print(stderr, "collectives: cannot write {}\n", args[2]);
  return 1;
}
