// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/terminal/calibration_text.h"

#include <fmt/format.h>

#include <vector>

#include "stepscope/report/terminal/link_text.h"
#include "stepscope/report/terminal/text_table.h"
#include "stepscope/words/format.h"
#include "stepscope/words/phrases.h"

namespace stepscope {
namespace {

std::string rates(const Calibration& c) {
  std::string out;
  for (std::size_t d = 0; d < dtype_count; ++d) {
    if (!c.peaks[d]) continue;
    out += fmt::format("  {:<6} peak {} GFLOP/s a core", dtype_names[d],
                       format_digits(c.peaks[d]->value / giga));
    if (c.matmul_max[d])
      out += fmt::format(", products up to {} ({})", format_digits(c.matmul_max[d]->value / giga),
                         format_percent(c.matmul_max[d]->value / c.peaks[d]->value));
    out += '\n';
  }
  out += fmt::format("  memory {} GB/s a core, {}\n", format_digits(c.memory_rate.value / giga),
                     format_bytes(static_cast<double>(c.memory.value)));
  if (c.drive && c.drive->read && c.drive->write)
    out += fmt::format("  drive  read {} GB/s, write {} GB/s a rank\n",
                       format_digits(c.drive->read->value / giga),
                       format_digits(c.drive->write->value / giga));
  return out;
}

std::string links(const Calibration& c, const CalibratedMachine& made, std::size_t width) {
  const auto network = make_network(made.machine);
  if (!network || c.collectives.empty()) return {};
  std::vector<std::vector<std::string>> rows;
  for (CollectiveTiming t : c.collectives) {
    if (const auto group = place(t.group.size, 1, *network)) t.group = *group;
    const auto modelled = modelled_time(*network, t);
    const double bus = static_cast<double>(t.bytes.value) *
                       busbw_factor(t.kind, t.group.size).value_or(0) / t.time.count();
    rows.push_back({std::string(collective_kind_names[static_cast<std::size_t>(t.kind)]),
                    format_bytes(static_cast<double>(t.bytes.value)),
                    format_time(t.time.count() * ns_per_s), format_digits(bus / giga),
                    modelled ? format_time(modelled->count() * ns_per_s) : "-"});
  }
  return fmt::format("Links between {}:\n", counted(static_cast<std::uint64_t>(c.ranks), "rank")) +
         text_table({{"collective", false}, {"buffer"}, {"time"}, {"busbw GB/s"}, {"model"}},
                    std::move(rows), width);
}

}  // namespace

std::string calibration_text(const Calibration& c, const CalibratedMachine& made,
                             std::size_t width) {
  std::string out =
      fmt::format("{} · {} at once\n", printable(c.name),
                  counted(static_cast<std::uint64_t>(c.ranks), "rank")) +
      rates(c) +
      fmt::format("The machine file's model of {}: off by {} on average.\n",
                  counted(c.operations.size(), "operation"), format_percent(made.compute_error));
  if (const std::string table = links(c, made, width); !table.empty())
    out += '\n' + table +
           fmt::format("The machine file's model of them: off by {} on average.\n",
                       format_percent(made.link_error)) +
           '\n' + link_fits_text(fit_transfers(c.collectives), width);
  return out;
}

std::string benchmark_text(std::span<const PlacedBenchmark> benchmarks, const BenchmarkFit& fit,
                           std::size_t width) {
  std::string out;
  for (const PlacedBenchmark& b : benchmarks) {
    std::string line =
        fmt::format("{}: {} of {}, {} on {}", printable(b.benchmark.path),
                    collective_kind_names[static_cast<std::size_t>(b.benchmark.kind)],
                    b.benchmark.tool, counted(static_cast<std::uint64_t>(b.ranks), "rank"),
                    counted(static_cast<std::uint64_t>(b.hosts), "host"));
    if (b.hosts_assumed) line += " (assumed; --nodes says otherwise)";
    line += fmt::format(", {}", counted(b.benchmark.points.size(), "time"));
    if (b.benchmark.many_at_once)
      line += fmt::format(": of messages under way together, up to {} GB/s; not fitted",
                          format_digits(b.benchmark.best_rate.value_or(0) / giga));
    for (const auto& [note, count] : b.benchmark.notes)
      line += fmt::format("; {}: {}", spaced(note), count);
    out += wrapped(line, width);
  }
  const auto time = [](std::optional<Seconds> t) {
    return t ? format_time(t->count() * ns_per_s) : std::string("-");
  };
  const auto off = [](std::optional<Seconds> t, Seconds measured) {
    return t ? fmt::format("{:+.1f} %", 100 * (t->count() / measured.count() - 1))
             : std::string("-");
  };
  std::vector<std::vector<std::string>> rows;
  for (const BenchmarkRow& r : fit.rows)
    rows.push_back({std::string(collective_kind_names[static_cast<std::size_t>(r.kind)]),
                    std::to_string(r.ranks), std::to_string(r.hosts),
                    format_bytes(static_cast<double>(r.bytes.value)), time(r.measured),
                    off(r.fitted, r.measured), off(r.modelled, r.measured),
                    off(r.before, r.measured)});
  out += '\n' + text_table({{"collective", false},
                            {"ranks"},
                            {"hosts"},
                            {"buffer"},
                            {"measured"},
                            {"fit"},
                            {"machine"},
                            {"before"}},
                           std::move(rows), width);
  out += fmt::format(
      "Off on average: the fits below {}, the machine file's model {}, the machine as it was {}.\n",
      format_percent(fit.fitted_error), format_percent(fit.modelled_error),
      format_percent(fit.before_error));
  return out + '\n' + link_fits_text(fit.transfers, width);
}

}  // namespace stepscope
