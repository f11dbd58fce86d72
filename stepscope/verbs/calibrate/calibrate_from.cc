// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/calibrate/calibrate_from.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <span>

#include "stepscope/base/files/open_source.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/read/bytes/file_head.h"
#include "stepscope/read/kernels/read_kernel_times.h"
#include "stepscope/read/nccl/read_comm_benchmark.h"
#include "stepscope/read/nccl/size_time_table.h"
#include "stepscope/verbs/inputs/other_verbs.h"

namespace stepscope {
namespace {

constexpr std::size_t most_table_bytes = 8 << 20;  // of sizes and times

struct MeasuredFile {
  std::string path;
  std::string device;
};

// The machine that was measured: as given, else as the first file that names its device.
Result<Machine> measured_machine(const CalibrateFromRequest& request,
                                 std::span<const MeasuredFile> files) {
  if (!request.machine.empty()) return machine_named(request.machine);
  for (const MeasuredFile& f : files) {
    if (f.device.empty()) continue;
    if (const Machine* found = find_machine(f.device)) return *found;
    return Error{.what = "is of a " + f.device + ", which no machine of the catalogue is",
                 .file = f.path,
                 .hint = "give --machine FILE"};
  }
  return Error{.what = "--from: no file says on which machine it was measured",
               .hint = "give --machine NAME or FILE"};
}

void fit_kernel_times(CalibrateFromResult& result, Machine& machine, const Progress& progress) {
  if (result.kernels.empty()) return;
  std::string source = "stepscope calibrate --from";
  for (const KernelTimes& k : result.kernels)
    source += fmt::format(" {} ({} kernels)", k.path, k.kernels.size());
  auto fit = fit_kernels(machine, result.kernels, source);
  if (!fit) return fail(progress, result.failures, fit.error());
  machine = fit->machine;
  result.machine = machine;
  result.kernel_fit = std::move(*fit);
}

void fit_links_of(CalibrateFromResult& result, Machine& machine, const Progress& progress) {
  if (result.benchmarks.empty()) return;
  std::string source = "stepscope calibrate --from";
  for (const PlacedBenchmark& b : result.benchmarks)
    source += fmt::format(" {} ({}, {} ranks)", b.benchmark.path, b.benchmark.tool, b.ranks);
  auto fit = fit_benchmarks(machine, result.benchmarks, source);
  if (!fit) return fail(progress, result.failures, fit.error());
  machine = fit->machine;
  result.machine = machine;
  result.fit = std::move(*fit);
}

}  // namespace

Result<CalibrateFromResult> calibrate_from(const CalibrateFromRequest& request,
                                           const Progress& progress) {
  CalibrateFromResult result;
  std::vector<CommBenchmark> read;
  std::vector<MeasuredFile> files;
  for (const std::string& path : request.files) {
    if (progress.stopped()) return interrupted();
    const auto head = head_of_file(path);
    auto source = head ? open_source(path) : Result<std::unique_ptr<ByteSource>>(head.error());
    if (!source) {
      fail(progress, result.failures, source.error());
      continue;
    }
    std::optional<Error> error;
    if (looks_like_kernel_times(head->text)) {
      if (auto kernels = parse_kernel_times(**source, path)) {
        files.push_back({path, kernels->device});
        result.kernels.push_back(std::move(*kernels));
      } else {
        error = kernels.error();
      }
    } else if (looks_like_size_times(head->text)) {
      const auto text = read_text(path, most_table_bytes);
      auto tables = text ? parse_size_times(*text, path, request.table)
                         : Result<std::vector<CommBenchmark>>(text.error());
      if (tables) {
        files.push_back({path, {}});
        std::ranges::move(*tables, std::back_inserter(read));
      } else {
        error = tables.error();
      }
    } else if (auto found = parse_comm_benchmark(**source, head->text, path, request.kind)) {
      files.push_back({path, found->front().device});
      std::ranges::move(*found, std::back_inserter(read));
    } else {
      error = with_analyze(found.error(), "calibrate");
    }
    if (error) fail(progress, result.failures, *error);
  }
  if (progress.stopped()) return interrupted();
  if (files.empty()) return result;
  auto base = measured_machine(request, files);
  if (!base) return base.error();
  if (request.gpus_per_node && base->scale_up) base->scale_up->domain = request.gpus_per_node;
  for (CommBenchmark& benchmark : read) {
    auto one = place_benchmark(std::move(benchmark), *base, request.place);
    if (one)
      result.benchmarks.push_back(std::move(*one));
    else
      fail(progress, result.failures, one.error());
  }
  Machine machine = *base;
  fit_kernel_times(result, machine, progress);
  fit_links_of(result, machine, progress);
  if (progress.stopped()) return interrupted();
  return result;
}

}  // namespace stepscope
