// SPDX-License-Identifier: Apache-2.0
#include "collective_rows.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "csv_table.h"
#include "stepscope/cost/time/collective_sweep.h"

namespace stepscope::bench {
namespace {

struct SystemWord {
  std::string_view word;  // in the system's text; more specific ones first
  std::string_view machine;
};
constexpr std::array<SystemWord, 18> system_words = {{
    {"Perlmutter", "A100-40GB SXM, 4 in a mesh (Perlmutter)"},
    {"GB300", "GB300 (per GPU, NVL72)"},
    {"GB200", "GB200 (per GPU, NVL72)"},
    {"B300", "B300 SXM"},
    {"B200", "B200 SXM (HGX/DGX)"},
    {"H200", "H200 SXM"},
    {"H100", "H100-80GB SXM"},
    {"A100-40GB", "A100-40GB SXM"},
    {"A100", "A100-80GB SXM"},
    {"V100", "V100-32GB SXM2"},
    {"MI355X", "MI355X"},
    {"MI325X", "MI325X"},
    {"MI300X", "MI300X"},
    {"Gaudi3", "Gaudi 3"},
    {"Gaudi 3", "Gaudi 3"},
    {"Gaudi2", "Gaudi 2"},
    {"Gaudi 2", "Gaudi 2"},
    {"MI250X", "MI250X (one GCD of two)"},
}};

struct OperationWord {
  std::string_view word;
  CollectiveKind kind;
};
constexpr std::array<OperationWord, 7> operation_words = {{
    {"allreduce", CollectiveKind::all_reduce},
    {"allgather", CollectiveKind::all_gather},
    {"reducescatter", CollectiveKind::reduce_scatter},
    {"alltoall", CollectiveKind::all_to_all},
    {"broadcast", CollectiveKind::broadcast},
    {"reduce", CollectiveKind::reduce},
    {"sendrecv", CollectiveKind::send_recv},
}};

std::optional<double> number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

std::optional<int> count(const std::string& text) {
  const auto value = number(text);
  if (!value || *value < 1 || *value > 1e7 || *value != std::floor(*value)) return std::nullopt;
  return static_cast<int>(*value);
}

std::optional<CollectiveKind> operation(std::string text) {
  std::erase_if(text, [](char c) { return c == '_' || c == '-' || c == ' '; });
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  const auto* at = std::ranges::find(operation_words, text, &OperationWord::word);
  if (at == operation_words.end()) return std::nullopt;
  return at->kind;
}

// "… Ring" and "… NVLS" name the algorithm that was forced or ran.
std::optional<Algorithm> algorithm(const std::string& system) {
  if (system.ends_with(" Ring")) return Algorithm::ring;
  if (system.ends_with(" Tree")) return Algorithm::tree;
  return std::nullopt;
}

struct Columns {
  std::size_t source, system, op, gpus, nodes, per_node, bytes, time, busbw;
};

Result<Columns> columns_of(const CsvTable& table) {
  constexpr std::array<std::string_view, 9> names = {"source", "system",  "op",
                                                     "n_gpus", "nodes",   "gpus_per_node",
                                                     "bytes",  "time_us", "busbw_GBps"};
  std::array<std::size_t, 9> at{};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Result<std::size_t> found = column(table, names[i]);
    if (!found) return found.error();
    at[i] = *found;
  }
  return Columns{at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7], at[8]};
}

std::optional<std::size_t> machine_of(const std::string& system, CollectiveRows& into) {
  const auto* word = std::ranges::find_if(
      system_words, [&](const SystemWord& w) { return system.find(w.word) != system.npos; });
  if (word == system_words.end()) return std::nullopt;
  const Machine* machine = find_machine(word->machine);
  if (machine == nullptr) return std::nullopt;
  const auto at = std::ranges::find(into.machines, machine);
  if (at != into.machines.end()) return static_cast<std::size_t>(at - into.machines.begin());
  const Result<Network> network = make_network(*machine);
  if (!network) return std::nullopt;
  into.machines.push_back(machine);
  into.networks.push_back(*network);
  return into.machines.size() - 1;
}

std::optional<Seconds> time_of(const std::vector<std::string>& row, const Columns& c,
                               const CollectiveTiming& timing) {
  if (const auto us = number(row[c.time]); us && *us > 0) return Seconds{*us * 1e-6};
  const auto busbw = number(row[c.busbw]);
  if (!busbw || *busbw <= 0) return std::nullopt;
  return Seconds{bus_bytes(timing) / (*busbw * 1e9)};
}

// The reason why the row cannot be used, or empty.
std::string add_row(const std::vector<std::string>& row, const Columns& c, std::size_t line,
                    CollectiveRows& into) {
  const auto kind = operation(row[c.op]);
  if (!kind) return "operation \"" + row[c.op] + "\" is not modelled";
  const auto machine = machine_of(row[c.system], into);
  if (!machine) return "no machine for system \"" + row[c.system] + "\"";
  const auto gpus = count(row[c.gpus]);
  const auto nodes = count(row[c.nodes]);
  const auto per_node = count(row[c.per_node]);
  const auto bytes = number(row[c.bytes]);
  if (!gpus || !nodes || !per_node || !bytes || *bytes < 0 || *bytes > 1e15) {
    return "a count or size is no number";
  }
  if (*gpus != *nodes * *per_node) return "nodes times devices is not the group";
  if (*gpus < 2) return "a group of one";
  const Network& network = into.networks[*machine];
  const bool one_domain = *gpus <= network.domain;
  const auto group = one_domain && *nodes > 1 && network.domain > 8
                         ? place_in_domains(1, *gpus, network)
                         : place_in_domains(*nodes, *per_node, network);
  if (!group) return "the group does not fit the machine's links";
  CollectiveTiming timing{.kind = *kind,
                          .group = *group,
                          .bytes = Bytes{static_cast<std::int64_t>(*bytes)},
                          .algorithm = algorithm(row[c.system])};
  const auto time = time_of(row, c, timing);
  if (!time) return "neither time nor busbw";
  timing.time = *time;
  if (!modelled_time(network, timing)) return "the algorithm that ran is not modelled";
  into.rows.push_back({line, row[c.source], *machine, timing});
  return {};
}

}  // namespace

double bus_bytes(const CollectiveTiming& timing) {
  return busbw_factor(timing.kind, timing.group.size).value() *
         static_cast<double>(timing.bytes.value);
}

Network unmeasured(const Machine& machine) {
  Machine bare = machine;
  if (bare.scale_up) bare.scale_up->timing.reset();
  if (bare.scale_out) bare.scale_out->timing.reset();
  Result<Network> network = make_network(bare);
  check(network.has_value(), "a machine whose network was made before");
  return *std::move(network);
}

Result<CollectiveRows> read_collectives(const std::string& path) {
  const Result<CsvTable> table = read_csv(path);
  if (!table) return table.error();
  const Result<Columns> columns = columns_of(*table);
  if (!columns) {
    Error error = columns.error();
    error.file = path;
    return error;
  }
  CollectiveRows rows;
  for (std::size_t i = 0; i < table->rows.size(); ++i) {
    const std::string reason = add_row(table->rows[i], *columns, table->lines[i], rows);
    if (!reason.empty()) ++rows.left_out[reason];
  }
  return rows;
}

}  // namespace stepscope::bench
