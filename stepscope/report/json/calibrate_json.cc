// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/json/calibrate_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "stepscope/pipeline/version.h"
#include "stepscope/report/json/json_values.h"
#include "stepscope/report/json/link_json.h"
#include "stepscope/report/sentences/run_sentences.h"
#include "stepscope/say/say.h"

namespace stepscope {
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

// Of one device: a rank's core where it was measured.
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

}  // namespace stepscope
