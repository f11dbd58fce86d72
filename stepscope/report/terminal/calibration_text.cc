// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/terminal/calibration_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>
#include <vector>

#include "stepscope/report/sentences/calibrate_sentence.h"
#include "stepscope/report/terminal/link_text.h"
#include "stepscope/report/terminal/text_table.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"

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

// The catalogue's numbers are fitted together, to whole steps, and make up for each other.
std::string unmeasured_sentence(const KernelFit& fit) {
  return fmt::format(
      "Without a usable time: {}. Their numbers are still the base machine's. Where these made up "
      "for errors of the replaced numbers, predicted steps are further off than before. python -m "
      "stepscope.torch.kernels measures all of them.",
      fmt::join(fit.unmeasured, ", "));
}

std::string numbers_text(const KernelFit& fit, std::size_t width) {
  std::vector<std::vector<std::string>> rows;
  for (const FittedNumber& n : fit.numbers)
    rows.push_back({n.name, n.before ? format_digits(*n.before) : "-", format_digits(n.value)});
  std::string kept;
  for (const std::string& name : fit.kept) kept += (kept.empty() ? "" : ", ") + name;
  return text_table({{"number", false}, {"before"}, {"fitted"}}, std::move(rows), width) +
         wrapped("As they were, because the files do not tell them: " + kept + ".", width) +
         (fit.unmeasured.empty() ? "" : wrapped(unmeasured_sentence(fit), width));
}

std::string kernels_text(const CalibrateFromResult& r, std::size_t width) {
  const KernelFit& fit = *r.kernel_fit;
  std::string out;
  for (const KernelTimes& k : r.kernels) {
    std::string line =
        fmt::format("{}: {} of {}{}", printable(k.path), counted(k.kernels.size(), "kernel"),
                    k.device.empty() ? "a device that it does not name" : printable(k.device),
                    k.units ? fmt::format(" with {} multiprocessors", *k.units) : std::string());
    if (k.failed > 0) line += fmt::format("; {} failed when they were measured", k.failed);
    if (k.other_devices > 0) line += fmt::format("; {} of other devices left out", k.other_devices);
    if (k.unread > 0)
      line += fmt::format("; {} not understood, the first is line {}: {}",
                          counted(k.unread, "line"), k.first_unread, k.why_unread);
    out += wrapped(line, width);
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
  out += fmt::format(
      "Off on average: the fits below {}, the machine file's model {}, the machine as it was {}.\n",
      format_percent(fit.fitted_error), format_percent(fit.modelled_error),
      format_percent(fit.before_error));
  return out + '\n' + link_fits_text(fit.transfers, width);
}

}  // namespace

std::string calibration_text(const CalibrateResult& r, const TextOptions& options) {
  const auto width = static_cast<std::size_t>(options.width);
  const Calibration& c = r.measured;
  const std::vector<TransferFit> fits = fit_transfers(c.collectives);
  std::string out =
      wrapped(printable(calibrate_sentence(r, fits)), width) +
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
  std::string out = wrapped(printable(calibrate_sentence(r)), width) + '\n';
  if (r.kernel_fit) out += kernels_text(r, width);
  if (r.kernel_fit && r.fit) out += '\n';
  if (r.fit) out += links_text(r, width);
  return out + details_line(options);
}

}  // namespace stepscope
