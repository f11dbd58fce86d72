// SPDX-License-Identifier: Apache-2.0
// Metrics of dcgm-exporter in Prometheus' text formats.
#include <array>
#include <cmath>
#include <map>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"
#include "stepscope/read/gpu_log/gpu_log_dialects.h"

namespace stepscope {
namespace {

constexpr std::array<GpuFieldName, 12> dcgm_metrics = {{
    {"DCGM_FI_DEV_SM_CLOCK", GpuField::sm_clock},
    {"DCGM_FI_DEV_MEM_CLOCK", GpuField::memory_clock},
    {"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", GpuField::reasons},
    {"DCGM_FI_DEV_CLOCKS_EVENT_REASONS", GpuField::reasons},
    {"DCGM_FI_DEV_GPU_TEMP", GpuField::temperature},
    {"DCGM_FI_DEV_POWER_USAGE", GpuField::power},
    {"DCGM_FI_DEV_POWER_MGMT_LIMIT", GpuField::power_limit},
    {"DCGM_FI_DEV_GPU_UTIL", GpuField::utilization},
    {"DCGM_FI_DEV_FB_USED", GpuField::memory_used},
    {"DCGM_FI_PROF_SM_ACTIVE", GpuField::sm_active},
    {"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", GpuField::tensor_active},
    {"DCGM_FI_PROF_DRAM_ACTIVE", GpuField::dram_active},
}};

// Sets what the labels say of the GPU. False if they do not end.
bool read_labels(std::string_view& rest, LoggedGpu& gpu) {
  while (true) {
    while (!rest.empty() && (is_blank(rest.front()) || rest.front() == ',')) rest.remove_prefix(1);
    if (rest.starts_with('}')) {
      rest.remove_prefix(1);
      return true;
    }
    const std::size_t equals = rest.find("=\"");
    if (equals == std::string_view::npos) return false;
    const std::string_view label = rest.substr(0, equals);
    rest.remove_prefix(equals + 2);
    std::string value;
    while (!rest.empty() && rest.front() != '"') {
      if (rest.front() == '\\' && rest.size() > 1) rest.remove_prefix(1);
      value += rest.front();
      rest.remove_prefix(1);
    }
    if (rest.empty()) return false;
    rest.remove_prefix(1);
    if (label == "gpu") {
      if (const auto index = number_of<int>(value); index && *index >= 0) gpu.index = *index;
    } else if (label == "UUID") {
      gpu.uuid = std::move(value);
    } else if (label == "modelName") {
      gpu.name = std::move(value);
    } else if (label == "Hostname") {
      gpu.host = std::move(value);
    }
  }
}

// The instant behind a value: seconds (OpenMetrics) or milliseconds (Prometheus) since the epoch.
std::optional<Ns> instant_of(std::string_view text) {
  const auto value = number_of<double>(text);
  constexpr double first_s = 3e7;    // 1970
  constexpr double most_s = 7e9;     // 2191: Ns ends in 2262
  constexpr double first_ms = 1e11;  // 1973
  if (!value) return std::nullopt;
  const bool seconds = *value > first_s && *value <= most_s;
  if (!seconds && !(*value >= first_ms && *value <= most_s * 1e3)) return std::nullopt;
  return Ns{std::llround(*value * (seconds ? 1e9 : 1e6))};
}

class DcgmExposition final : public GpuLogDialect {
 public:
  void take(std::string_view line, std::uint64_t byte, GpuRows& rows) override {
    if (line.starts_with('#')) return;
    const std::size_t brace = line.find('{');
    if (brace == std::string_view::npos) return rows.note("no_gpu", byte);
    const GpuField field = field_named(trimmed(line.substr(0, brace)), dcgm_metrics);
    if (field == GpuField::none) return;
    LoggedGpu gpu;
    std::string_view rest = line.substr(brace + 1);
    if (!read_labels(rest, gpu)) return rows.note("broken_labels", byte);
    rest = trimmed(rest);
    const std::size_t blank = rest.find_first_of(" \t");
    const std::string_view stamp =
        blank == std::string_view::npos ? std::string_view() : trimmed(rest.substr(blank));
    const auto time = instant_of(stamp.substr(0, stamp.find_first_of(" \t")));
    if (!time) {
      ++without_time_;
      return rows.note("no_time", byte);
    }
    // A scrape gives one line for each metric: together they are one reading.
    GpuRow& row = rows_[{gpu.host, gpu.uuid, gpu.index.value_or(-1), *time}];
    const LoggedGpu before = std::move(row.gpu);
    row.gpu = std::move(gpu);
    row.gpu.power_limit_watts = before.power_limit_watts;
    row.timed = true;
    row.reading.time = *time;
    bool local = false;
    set_field(row, field, {}, rest.substr(0, blank), local);
  }

  Result<Done> finish(GpuRows& rows) override {
    for (const auto& [key, row] : rows_) rows.add(row, 0);
    rows_.clear();
    if (without_time_ == 0 || !rows.log().readings.empty()) return Done{};
    return Error{.what = "metrics of dcgm-exporter without their times",
                 .hint = "write them out of Prometheus: promtool tsdb dump-openmetrics"};
  }

 private:
  std::map<std::tuple<std::string, std::string, int, Ns>, GpuRow> rows_;
  std::uint64_t without_time_ = 0;
};

}  // namespace

bool is_dcgm_exposition(std::string_view head) {
  for (const std::string_view begin : {"DCGM_FI_", "# HELP DCGM_FI_", "# TYPE DCGM_FI_"})
    if (head.starts_with(begin) || head.find('\n' + std::string(begin)) != std::string_view::npos)
      return true;
  return false;
}

std::unique_ptr<GpuLogDialect> make_dcgm_exposition() { return std::make_unique<DcgmExposition>(); }

}  // namespace stepscope
