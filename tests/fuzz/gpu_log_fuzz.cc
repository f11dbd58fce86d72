// SPDX-License-Identifier: Apache-2.0
// Any bytes as a log of GPUs, joined with a rank. Its readings are sorted and of its GPUs, and the
// figures of a span are finite.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <tuple>

#include "stepscope/analysis/ranks/gpu_match.h"
#include "stepscope/base/files/text_source.h"
#include "stepscope/read/gpu_log/read_gpu_log.h"

namespace stepscope {
namespace {

bool sound(const GpuLog& log) {
  const bool sorted = std::ranges::is_sorted(
      log.readings, {}, [](const GpuReading& r) { return std::tuple(r.gpu, r.time); });
  return sorted && !log.readings.empty() &&
         std::ranges::all_of(log.readings, [&](const GpuReading& r) {
           return r.gpu < log.gpus.size() && (r.reasons & ~r.reasons_known) == 0 &&
                  std::isfinite(r.sm_clock_mhz.value_or(0));
         });
}

}  // namespace
}  // namespace stepscope

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stepscope;
  TextSource source(std::string_view(reinterpret_cast<const char*>(data), size));
  auto log = read_gpu_log(source, "rank0.csv");
  if (!log) return 0;
  if (!sound(*log)) std::abort();
  const std::vector<DeviceProperties> devices(log->gpus.size());
  const GpuReading& first = log->readings.front();
  const TimeSpan span{first.time, first.time + std::chrono::seconds{10}};
  const std::vector<GpuOwner> owners = {
      {.rank = 0, .device = 0, .devices = devices, .absolute = true, .window = span}};
  const std::vector<GpuLog> logs = {std::move(*log)};
  const GpuMatches matches = match_gpus(logs, owners, 1, std::nullopt);
  if (matches.logs.size() != 1 || matches.ranks.size() > 1) std::abort();
  const std::vector<TimeSpan> spans = {span};
  const GpuState state = gpu_states(logs[0].readings, Ns{0}, {}, spans)[0];
  if (!std::isfinite(state.sm_clock_mhz.mean().value_or(0)) || state.covered < Ns{0}) std::abort();
  return 0;
}
