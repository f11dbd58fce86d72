// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/terminal/calibration_text.h"

#include <fmt/format.h>

#include <span>
#include <vector>

#include "stepscope/report/sentences/run_sentences.h"
#include "stepscope/report/terminal/link_text.h"
#include "stepscope/report/terminal/text_table.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"
#include "stepscope/say/say.h"

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

std::string links(std::span<const BenchmarkRow> measured, std::size_t width) {
  std::vector<std::vector<std::string>> rows;
  for (const BenchmarkRow& r : measured) {
    const double bus = static_cast<double>(r.bytes.value) *
                       busbw_factor(r.kind, r.ranks).value_or(0) / r.measured.count();
    rows.push_back({std::string(collective_kind_names[static_cast<std::size_t>(r.kind)]),
                    format_bytes(static_cast<double>(r.bytes.value)),
                    format_time(r.measured.count() * ns_per_s), format_digits(bus / giga),
                    r.modelled ? format_time(r.modelled->count() * ns_per_s) : "-"});
  }
  return text_table({{"collective", false}, {"buffer"}, {"time"}, {"busbw GB/s"}, {"model"}},
                    std::move(rows), width);
}

std::string numbers_text(const KernelFit& fit, std::size_t width) {
  std::vector<std::vector<std::string>> rows;
  for (const FittedNumber& n : fit.numbers)
    rows.push_back({n.name, n.before ? format_digits(*n.before) : "-", format_digits(n.value)});
  return text_table({{"number", false}, {"before"}, {"fitted"}}, std::move(rows), width) +
         wrapped(msg::kept_as_they_were(fit.kept), width) +
         // The catalogue's numbers are fitted together, to whole steps, and make up for each other.
         (fit.unmeasured.empty() ? "" : wrapped(msg::not_measured(fit.unmeasured), width));
}

std::string kernels_text(const CalibrateFromResult& r, std::size_t width) {
  const KernelFit& fit = *r.kernel_fit;
  std::string out;
  for (const KernelTimes& k : r.kernels) {
    const auto if_any = [](const auto n) { return value_if(n > 0, n); };
    const Message line = msg::kernels_of_file(
        printable(k.path), k.kernels.size(), printable(k.device), k.units, if_any(k.failed),
        if_any(k.other_devices), if_any(k.unread), k.first_unread, k.why_unread);
    out += wrapped(say(line), width);
  }
  std::vector<std::vector<std::string>> rows;
  for (const KernelKindError& e : fit.kinds)
    rows.push_back({e.kind, std::to_string(e.rows), format_percent(e.median),
                    format_percent(e.worst), format_percent(e.median_before),
                    format_percent(e.worst_before), e.worst_shape});
  out += "\nOff from the measured times, by the fitted machine and by the one before:\n" +
         text_table({{"kernels", false},
                     {"times"},
                     {"median"},
                     {"worst"},
                     {"median before"},
                     {"worst before"},
                     {"worst shape", false}},
                    std::move(rows), width);
  return out + '\n' + numbers_text(fit, width);
}

std::string links_text(const CalibrateFromResult& r, std::size_t width) {
  const BenchmarkFit& fit = *r.fit;
  std::string out;
  for (const PlacedBenchmark& b : r.benchmarks) {
    Messages line = {msg::benchmark_of_file(
        printable(b.benchmark.path),
        collective_kind_names[static_cast<std::size_t>(b.benchmark.kind)], b.benchmark.tool,
        b.ranks, b.hosts, b.hosts_assumed, b.benchmark.points.size(),
        value_if(b.benchmark.many_at_once, Digits{b.benchmark.best_rate.value_or(0) / giga}))};
    for (const auto& [note, count] : b.benchmark.notes)
      line.push_back(msg::note_on(spaced(note), count));
    out += wrapped(say(msg::clauses(std::move(line))), width);
  }
  const auto time = [](std::optional<Seconds> t) {
    return t ? format_time(t->count() * ns_per_s) : std::string("-");
  };
  const auto off = [](std::optional<Seconds> t, Seconds measured) {
    return t ? fmt::format("{:+.1f} %", 100 * (t->count() / measured.count() - 1))
             : std::string("-");
  };
  std::vector<std::vector<std::string>> rows;
  for (const BenchmarkRow& row : fit.rows)
    rows.push_back({std::string(collective_kind_names[static_cast<std::size_t>(row.kind)]),
                    std::to_string(row.ranks), std::to_string(row.hosts),
                    format_bytes(static_cast<double>(row.bytes.value)), time(row.measured),
                    off(row.fitted, row.measured), off(row.modelled, row.measured),
                    off(row.before, row.measured)});
  out += '\n' + text_table({{"collective", false},
                            {"ranks"},
                            {"hosts"},
                            {"buffer"},
                            {"measured"},
                            {"fit"},
                            {"machine"},
                            {"before"}},
                           std::move(rows), width);
  out += say_stopped(msg::off_on_average(Percent{fit.fitted_error}, Percent{fit.modelled_error},
                                         Percent{fit.before_error})) +
         '\n';
  return out + '\n' + link_fits_text(fit.transfers, width);
}

}  // namespace

std::string calibration_text(const CalibrateResult& r, const TextOptions& options) {
  const auto width = static_cast<std::size_t>(options.width);
  const Calibration& c = r.measured;
  const std::vector<TransferFit> fits = fit_transfers(c.collectives);
  std::string out =
      wrapped(printable(say_stopped(calibrate_sentence(r, fits))), width) +
      fmt::format("{} at once\n", counted(static_cast<std::uint64_t>(c.ranks), "rank")) + rates(c);
  if (!c.collectives.empty())
    out +=
        fmt::format("\nLinks between {}:\n", counted(static_cast<std::uint64_t>(c.ranks), "rank")) +
        links(benchmark_rows(c.collectives, r.made.machine, fits), width) + '\n' +
        link_fits_text(fits, width);
  return out + details_line(options);
}

std::string benchmark_text(const CalibrateFromResult& r, const TextOptions& options) {
  const auto width = static_cast<std::size_t>(options.width);
  std::string out = wrapped(printable(say_stopped(calibrate_sentence(r))), width) + '\n';
  if (r.kernel_fit) out += kernels_text(r, width);
  if (r.kernel_fit && r.fit) out += '\n';
  if (r.fit) out += links_text(r, width);
  return out + details_line(options);
}

}  // namespace stepscope
