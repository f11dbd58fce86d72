// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/calibrate/calibrate_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "stepscope/face/text/text_table.h"
#include "stepscope/face/tree/json_values.h"
#include "stepscope/face/tree/names.h"
#include "stepscope/face/tree/version.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"
#include "stepscope/say/say.h"
#include "stepscope/verbs/sections/link_views.h"

namespace stepscope {

const TransferFit* speaking_fit(std::span<const TransferFit> fits) {
  const TransferFit* best = nullptr;
  const auto worth = [](const TransferFit& f) {
    return std::tuple(f.kind == CollectiveKind::all_reduce, f.group_size);
  };
  for (const TransferFit& f : fits)
    if (f.answer.fit && (best == nullptr || worth(f) > worth(*best))) best = &f;
  return best;
}

namespace {

// "all-reduce of 8 ranks: α 20.1 µs (small sizes), β 202 GB/s (large sizes)"
Message link_words(const TransferFit& f) {
  const auto& pieces = f.answer.fit->pieces;
  std::string kind = name_of(collective_kind_names, f.kind);
  std::ranges::replace(kind, '_', '-');
  return msg::line_of_links(kind, f.group_size, Seconds{pieces.front().start},
                            digits_of(gb_per_second(pieces.back().slope)), pieces.size() > 1);
}

}  // namespace

Message calibrate_sentence(const CalibrateResult& r, std::span<const TransferFit> fits) {
  const Calibration& c = r.measured;
  Messages peaks;
  for (std::size_t d = 0; d < dtype_count; ++d) {
    const auto& peak = r.made.machine.peak_rates[d];
    if (!peak) continue;
    const bool large = peak->value >= tera;
    peaks.push_back(
        msg::peak_of(Digits{peak->value / (large ? tera : giga)}, large, dtype_names[d]));
  }
  const TransferFit* fit = speaking_fit(fits);
  return joined(msg::sentences,
                {msg::calibrated(c.name, std::move(peaks), Digits{c.memory_rate.value / giga},
                                 fit != nullptr ? link_words(*fit) : Message()),
                 msg::model_is_off(Percent{r.made.compute_error},
                                   value_if(!c.collectives.empty(), Percent{r.made.link_error}))});
}

Message calibrate_sentence(const CalibrateFromResult& r) {
  Messages said;
  if (r.kernel_fit) {
    const KernelFit& fit = *r.kernel_fit;
    Messages shares;
    for (const FittedNumber& n : fit.numbers) {
      constexpr std::string_view key = "matmul_efficiency.";
      if (n.name.starts_with(key))
        shares.push_back(msg::share_in(Percent{n.value}, n.name.substr(key.size())));
    }
    if (!shares.empty()) said.push_back(msg::products_reach(std::move(shares)));
    said.push_back(
        msg::kernels_off(fit.rows.size(), Percent{fit.median_error}, Percent{fit.median_before}));
  }
  if (r.fit) {
    const BenchmarkFit& fit = *r.fit;
    const TransferFit* speaking = speaking_fit(fit.transfers);
    said.push_back(msg::fitted_links(r.kernel_fit.has_value(),
                                     speaking != nullptr ? link_words(*speaking) : Message()));
    said.push_back(
        msg::links_off(Percent{fit.modelled_error}, fit.rows.size(), Percent{fit.before_error}));
    for (const bool across : {false, true})
      if (const double reached = across ? fit.reached_across : fit.reached_inside; reached < 1)
        said.push_back(msg::links_slower(across, Percent{reached}));
  }
  return msg::fitted(r.machine->name, msg::sentences(std::move(said)));
}

namespace {

Json nanoseconds(Seconds t) { return t.count() * ns_per_s; }
Json nanoseconds(std::optional<Seconds> t) { return t ? nanoseconds(*t) : Json(nullptr); }

Json peaks_json(const Machine& machine) {
  Json peaks = Json::array();
  for (std::size_t d = 0; d < dtype_count; ++d) {
    if (!machine.peak_rates[d]) continue;
    const auto& most = machine.matmul_max[d];
    peaks.push_back({{"dtype", dtype_names[d]},
                     {"peak_flops", machine.peak_rates[d]->value},
                     {"matmul_max_flops", most ? Json(most->value) : Json(nullptr)}});
  }
  return peaks;
}

// The machine of one device: a rank's core where it was measured.
Json machine_json(const Machine& machine) {
  const auto& nvme = machine.nvme;
  return {{"name", machine.name},
          {"vendor", text_or_null(machine.vendor)},
          {"memory_bytes", value(machine.memory)},
          {"memory_gb_per_s", gb_per_s(machine.memory_rate)},
          {"drive_read_gb_per_s", nvme ? gb_per_s(nvme->read) : Json(nullptr)},
          {"drive_write_gb_per_s", nvme ? gb_per_s(nvme->write) : Json(nullptr)},
          {"peaks", peaks_json(machine)}};
}

// "256 x 512 x 128" of a product, "4 x 64 x 64" of attention by its pairs and tokens, else null.
Json shape_of(const Operation& operation) {
  if (operation.forward.matmuls.empty()) return nullptr;
  const MatmulShape& s = operation.forward.matmuls.front();
  if (operation.kind == OperationClass::attention)
    return fmt::format("{} heads × {} tokens × {}", s.batch, s.m, s.k);
  return fmt::format("{} × {} × {}", s.m, s.n, s.k);
}

Json operation_row(const OperationTiming& t, const std::optional<Seconds>& modelled) {
  const bool forward = t.direction == Direction::forward;
  const Pass& pass = forward ? t.operation.forward : t.operation.backward;
  return {{"class", name_of(operation_class_names, t.operation.kind)},
          {"direction", forward ? "forward" : "backward"},
          {"dtype", dtype_names[index(t.dtype)]},
          {"shape", shape_of(t.operation)},
          {"flops", pass.flops().value},
          {"bytes", pass.bytes()},
          {"measured_ns", nanoseconds(t.time)},
          {"modelled_ns", nanoseconds(modelled)}};
}

Json operations_json(const Calibration& c, const Machine& machine) {
  const auto modelled = modelled_times(machine, c.operations);
  Json rows = Json::array();
  for (std::size_t i = 0; i < c.operations.size(); ++i)
    rows.push_back(operation_row(c.operations[i], modelled[i]));
  return rows;
}

Json operations_json(const KernelFit& fit) {
  Json rows = Json::array();
  for (const KernelFitRow& r : fit.rows)
    if (r.operation) rows.push_back(operation_row(*r.operation, r.modelled));
  return rows;
}

Json kernel_fit_json(const CalibrateFromResult& r) {
  if (!r.kernel_fit) return nullptr;
  const KernelFit& fit = *r.kernel_fit;
  Json files = Json::array();
  for (const KernelTimes& k : r.kernels)
    files.push_back({{"path", k.path},
                     {"device", text_or_null(k.device)},
                     {"units", k.units ? Json(*k.units) : Json(nullptr)},
                     {"kernels", k.kernels.size()},
                     {"failed", k.failed},
                     {"other_devices", k.other_devices},
                     {"unread", k.unread},
                     {"first_unread_line", k.unread > 0 ? Json(k.first_unread) : Json(nullptr)},
                     {"why_unread", text_or_null(k.why_unread)}});
  Json kinds = Json::array();
  for (const KernelKindError& e : fit.kinds)
    kinds.push_back({{"kind", e.kind},
                     {"times", e.rows},
                     {"median_error", e.median},
                     {"worst_error", e.worst},
                     {"worst_shape", e.worst_shape},
                     {"median_error_before", e.median_before},
                     {"worst_error_before", e.worst_before}});
  Json numbers = Json::array();
  for (const FittedNumber& n : fit.numbers)
    numbers.push_back({{"name", n.name},
                       {"before", n.before ? Json(*n.before) : Json(nullptr)},
                       {"value", n.value}});
  return {{"files", std::move(files)},
          {"kinds", std::move(kinds)},
          {"numbers", std::move(numbers)},
          {"kept", fit.kept},
          {"unmeasured", fit.unmeasured},
          {"median_error", fit.median_error},
          {"median_error_before", fit.median_before}};
}

double mean_error(const KernelFit& fit) {
  double sum = 0;
  std::size_t count = 0;
  for (const KernelFitRow& r : fit.rows) {
    if (!r.modelled) continue;
    sum += std::abs(*r.modelled / r.measured - 1);
    ++count;
  }
  return count > 0 ? sum / static_cast<double>(count) : 0;
}

Json collectives_json(std::span<const BenchmarkRow> benchmarks) {
  Json rows = Json::array();
  for (const BenchmarkRow& r : benchmarks) {
    const auto factor = busbw_factor(r.kind, r.ranks);
    const double seconds = r.measured.count();
    const double rate =
        factor && seconds > 0 ? static_cast<double>(r.bytes.value) * *factor / seconds : 0;
    rows.push_back({{"kind", name_of(collective_kind_names, r.kind)},
                    {"group_size", r.ranks},
                    {"hosts", r.hosts},
                    {"bytes", r.bytes.value},
                    {"calls", r.spread ? Json(r.spread->calls) : Json(nullptr)},
                    {"measured_ns", nanoseconds(r.measured)},
                    {"low_ns", r.spread ? nanoseconds(r.spread->low) : Json(nullptr)},
                    {"high_ns", r.spread ? nanoseconds(r.spread->high) : Json(nullptr)},
                    {"fitted_ns", nanoseconds(r.fitted)},
                    {"modelled_ns", nanoseconds(r.modelled)},
                    {"before_ns", nanoseconds(r.before)},
                    {"busbw_gb_per_s", rate > 0 ? Json(rate / giga) : Json(nullptr)}});
  }
  return rows;
}

Json benchmarks_json(std::span<const PlacedBenchmark> benchmarks) {
  Json rows = Json::array();
  for (const PlacedBenchmark& b : benchmarks)
    rows.push_back({{"path", b.benchmark.path},
                    {"tool", b.benchmark.tool},
                    {"test", b.benchmark.test},
                    {"kind", name_of(collective_kind_names, b.benchmark.kind)},
                    {"ranks", b.ranks},
                    {"hosts", b.hosts},
                    {"hosts_assumed", b.hosts_assumed},
                    {"times", b.benchmark.points.size()},
                    {"notes", b.benchmark.notes}});
  return rows;
}

Json tree_of(const std::string& sentence, const std::string& file, const Machine& machine) {
  return {{"schema", "stepscope.calibrate/1"},
          {"version", std::string(version())},
          {"answer", {{"sentence", sentence}}},
          {"file", file},
          {"machine", machine_json(machine)}};
}

}  // namespace

Json calibrate_tree(const CalibrateResult& r, const std::string& file) {
  const Machine& machine = r.made.machine;
  const std::vector<TransferFit> fits = fit_transfers(r.measured.collectives);
  const std::vector<BenchmarkRow> rows = benchmark_rows(r.measured.collectives, machine, fits);
  Json tree = tree_of(say_stopped(calibrate_sentence(r, fits)), file, machine);
  tree["ranks"] = r.measured.ranks;
  tree["errors"] = {
      {"operations", r.measured.operations.empty() ? Json(nullptr) : Json(r.made.compute_error)},
      {"collectives", rows.empty() ? Json(nullptr) : Json(r.made.link_error)},
      {"before", nullptr}};
  tree["operations"] = operations_json(r.measured, machine);
  tree["kernel_fit"] = nullptr;
  tree["collectives"] = collectives_json(rows);
  tree["link_fits"] = link_fits_json(fits);
  tree["benchmarks"] = Json::array();
  tree["sources"] = machine.sources;
  tree["terms"] = terms_json({"placement"});
  tree["warnings"] = Json::array();
  return tree;
}

Json calibrate_tree(const CalibrateFromResult& r, const std::string& file) {
  Json tree = tree_of(say_stopped(calibrate_sentence(r)), file, *r.machine);
  tree["ranks"] = nullptr;
  tree["errors"] = {{"operations", r.kernel_fit ? Json(mean_error(*r.kernel_fit)) : Json(nullptr)},
                    {"collectives", r.fit ? Json(r.fit->modelled_error) : Json(nullptr)},
                    {"before", r.fit ? Json(r.fit->before_error) : Json(nullptr)}};
  tree["operations"] = r.kernel_fit ? operations_json(*r.kernel_fit) : Json::array();
  tree["kernel_fit"] = kernel_fit_json(r);
  tree["collectives"] = r.fit ? collectives_json(r.fit->rows) : Json::array();
  tree["link_fits"] = link_fits_json(r.fit ? r.fit->transfers : std::vector<TransferFit>{});
  tree["benchmarks"] = benchmarks_json(r.benchmarks);
  tree["sources"] = r.machine->sources;
  tree["terms"] = terms_json({"placement"});
  Json& warnings = tree["warnings"] = Json::array();
  for (const Error& failure : r.failures) warnings.push_back(failure.message());
  return tree;
}

namespace {

std::string rates(const Calibration& c, const Machine& machine) {
  std::string out;
  for (std::size_t d = 0; d < dtype_count; ++d) {
    const auto& peak = machine.peak_rates[d];
    if (!peak) continue;
    out += fmt::format("  {:<6} peak {} GFLOP/s a core", dtype_names[d],
                       format_digits(peak->value / giga));
    if (c.matmul_max[d])
      out += fmt::format(", products up to {} ({})", format_digits(c.matmul_max[d]->value / giga),
                         format_percent(c.matmul_max[d]->value / peak->value));
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
      fmt::format("{} at once\n", counted(static_cast<std::uint64_t>(c.ranks), "rank")) +
      rates(c, r.made.machine);
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
