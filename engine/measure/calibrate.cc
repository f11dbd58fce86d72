// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/calibrate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string_view>
#include <vector>

#include "engine/measure/time_collectives.h"
#include "engine/measure/time_core.h"
#include "engine/nn/kernels/fma_peak.h"
#include "engine/zero/drive/offload_file.h"

namespace stepscope {
namespace {

// A line of Linux's list of processors; empty where the list lacks it.
std::string processor_line(std::string_view key) {
  std::ifstream info("/proc/cpuinfo");
  std::string line;
  while (std::getline(info, line)) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find(": ");
    return colon == std::string::npos ? std::string() : line.substr(colon + 2);
  }
  return {};
}

// The mean over ranks, at every rank: they share caches and memory, so one alone says too much.
Result<Done> mean_over_ranks(Communicator* comm, std::vector<double>& values) {
  if (comm == nullptr || values.empty()) return Done{};
  const auto summed = wait_for(*comm, all_reduce(*comm, values, "calibrate: means"));
  if (!summed) return summed.error();
  for (double& v : values) v /= comm->size();
  return Done{};
}

// Waits for all ranks; where one is to stop, all are.
Result<Done> wait_for_all(const CalibrateRequest& request) {
  const bool stop = request.stop != nullptr && request.stop->requested();
  std::vector<double> stopped = {stop ? 1.0 : 0.0};
  if (auto met = mean_over_ranks(request.comm, stopped); !met) return met.error();
  if (stopped[0] > 0) return interrupted();
  return Done{};
}

Result<Done> measure_core(const CalibrateRequest& request, ElementType type, Dtype dtype,
                          Calibration& c) {
  Communicator* const comm = request.comm;
  const bool quick = request.quick;
  const Ns loop = quick ? Ns{100'000'000} : Ns{500'000'000};
  if (auto met = wait_for_all(request); !met) return met.error();
  const auto peak = nn::fma_peak(type, loop);
  if (!peak) return Done{};  // an instruction that this CPU lacks: no peak of that format
  if (auto met = wait_for_all(request); !met) return met.error();
  const CoreSweep sweep{.time_an_operation = quick ? Ns{2'000'000} : Ns{20'000'000},
                        .quick = quick};
  std::vector<OperationTiming> timings = time_core(type, sweep);
  std::vector<double> values = {peak->rate.value};
  for (const OperationTiming& t : timings) values.push_back(t.time.count());
  if (auto mean = mean_over_ranks(comm, values); !mean) return mean.error();
  double most = 0;
  for (std::size_t i = 0; i < timings.size(); ++i) {
    timings[i].time = Seconds{values[i + 1]};
    if (timings[i].operation.kind == OperationClass::matmul)
      most = std::max(most, timings[i].operation.forward.matrix.value / values[i + 1]);
  }
  c.peaks[index(dtype)] = FlopRate{values[0]};
  c.matmul_max[index(dtype)] = FlopRate{most};
  c.operations.insert(c.operations.end(), timings.begin(), timings.end());
  return Done{};
}

Result<Done> measure_drive(const CalibrateRequest& request, Calibration& c) {
  Communicator* const comm = request.comm;
  if (request.drive.empty()) return Done{};
  if (auto met = wait_for_all(request); !met) return met.error();
  const Bytes size{(request.quick ? std::int64_t{64} : std::int64_t{512}) << 20};
  const auto rate = zero::measure_offload(request.drive, size, Bytes{4 << 20});
  // Whether it failed on any rank has to be known on all, or the others would wait.
  std::vector<double> values = {rate ? 0.0 : 1.0, rate ? rate->read.value : 0.0,
                                rate ? rate->write.value : 0.0};
  if (auto mean = mean_over_ranks(comm, values); !mean) return mean.error();
  if (!rate) return rate.error();
  if (values[0] > 0) return Error{.what = "another rank could not measure the drive"};
  c.drive = Nvme{.read = ByteRate{values[1]}, .write = ByteRate{values[2]}, .capacity = {}};
  c.sources.push_back("drive: " + rate->description);
  return Done{};
}

Result<Calibration> measure(const CalibrateRequest& request) {
  Communicator* const comm = request.comm;
  Calibration c;
  c.ranks = comm == nullptr ? 1 : comm->size();
  c.name = processor_line("model name");
  if (c.name.empty()) c.name = "this machine";
  c.vendor = processor_line("vendor_id");
  c.memory = Bytes{static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE)};
  c.sources = {fmt::format("stepscope calibrate, {} ranks at once ({}), oneDNN and own kernels",
                           c.ranks, request.transport)};
  const ElementType types[] = {ElementType::f32, ElementType::bf16};
  for (const ElementType type : types) {
    const Dtype dtype = type == ElementType::f32 ? Dtype::fp32 : Dtype::bf16;
    if (auto core = measure_core(request, type, dtype, c); !core) return core.error();
  }
  if (auto met = wait_for_all(request); !met) return met.error();
  std::vector<double> memory = {
      time_memory(request.quick ? Ns{50'000'000} : Ns{500'000'000}).value};
  if (auto mean = mean_over_ranks(comm, memory); !mean) return mean.error();
  c.memory_rate = ByteRate{memory[0]};
  if (comm != nullptr) {
    LinkSweep sweep;
    if (request.quick) sweep = {.to = Bytes{4 << 20}, .time_a_size = Ns{3'000'000}, .most = 50};
    auto timings = time_collectives(*comm, sweep);
    if (!timings) return timings.error();
    c.collectives = std::move(*timings);
  }
  if (auto drive = measure_drive(request, c); !drive) return drive.error();
  return c;
}

}  // namespace

Result<CalibrateResult> calibrate(const CalibrateRequest& request) {
  auto measured = measure(request);
  if (!measured) return measured.error();
  auto made = calibrated_machine(*measured);
  if (!made) return made.error();
  return CalibrateResult{.measured = std::move(*measured), .made = std::move(*made)};
}

}  // namespace stepscope
