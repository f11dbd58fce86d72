// SPDX-License-Identifier: Apache-2.0
#include "stepscope/pipeline/calibrate/calibrate_from.h"

#include <fmt/format.h>

#include <span>

#include "stepscope/cost/machine/machine.h"
#include "stepscope/read/nccl/read_comm_benchmark.h"

namespace stepscope {
namespace {

// The machine that the benchmarks ran on: as given, else as the first that names its device.
Result<Machine> benchmarked_machine(const CalibrateFromRequest& request,
                                    std::span<const CommBenchmark> benchmarks) {
  if (!request.machine.empty()) return machine_named(request.machine);
  for (const CommBenchmark& b : benchmarks) {
    if (b.device.empty()) continue;
    if (const Machine* found = find_machine(b.device)) return *found;
    return Error{.what = "is of a " + b.device + ", which no machine of the catalogue is",
                 .file = b.path,
                 .hint = "give --machine FILE"};
  }
  return Error{.what = "--from: no file says on which machine it was measured",
               .hint = "give --machine NAME or FILE"};
}

}  // namespace

Result<CalibrateFromResult> calibrate_from(const CalibrateFromRequest& request,
                                           const Progress& progress) {
  CalibrateFromResult result;
  std::vector<CommBenchmark> read;
  for (const std::string& path : request.files) {
    if (progress.stopped()) return interrupted();
    if (auto benchmark = read_comm_benchmark(path))
      read.push_back(std::move(*benchmark));
    else
      fail(progress, result.failures, benchmark.error());
  }
  if (read.empty()) return result;
  const auto base = benchmarked_machine(request, read);
  if (!base) return base.error();
  std::string source = "stepscope calibrate --from";
  for (CommBenchmark& benchmark : read) {
    auto one = place_benchmark(std::move(benchmark), *base, request.place);
    if (!one) {
      fail(progress, result.failures, one.error());
      continue;
    }
    source +=
        fmt::format(" {} ({}, {} ranks)", one->benchmark.path, one->benchmark.tool, one->ranks);
    result.benchmarks.push_back(std::move(*one));
  }
  if (result.benchmarks.empty()) return result;
  auto fit = fit_benchmarks(*base, result.benchmarks, source);
  if (fit)
    result.fit = std::move(*fit);
  else
    fail(progress, result.failures, fit.error());
  return result;
}

}  // namespace stepscope
