// SPDX-License-Identifier: Apache-2.0
// The dialects of GPU logs: whether the first bytes of a file are theirs, and their readers.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "stepscope/read/gpu_log/gpu_rows.h"

namespace stepscope {

struct GpuLogFormat {
  std::string_view name;
  bool (*matches)(std::string_view head);
  std::unique_ptr<GpuLogDialect> (*make)();
};

// `nvidia-smi --query-gpu=… --format=csv`: a table with commas, whose header has the names of the
// query, with units in brackets. A table that begins with an instant lacks its header.
[[nodiscard]] bool is_smi_query(std::string_view head);
[[nodiscard]] std::unique_ptr<GpuLogDialect> make_smi_query();

// `nvidia-smi dmon -o DT`, with or without --format csv: columns whose names stand behind "#Date".
[[nodiscard]] bool is_smi_dmon(std::string_view head);
[[nodiscard]] std::unique_ptr<GpuLogDialect> make_smi_dmon();

// `dcgmi dmon`: columns whose names stand behind "#Entity". dcgmi writes no times: each line must
// begin with an instant that another program put there (`ts`).
[[nodiscard]] bool is_dcgmi_dmon(std::string_view head);
[[nodiscard]] std::unique_ptr<GpuLogDialect> make_dcgmi_dmon();

// Text of dcgm-exporter's metrics with an instant on each line, as Prometheus writes it out
// (`promtool tsdb dump-openmetrics`): DCGM_FI_DEV_SM_CLOCK{gpu="0",UUID="GPU-…"} 1980 1764065472.
[[nodiscard]] bool is_dcgm_exposition(std::string_view head);
[[nodiscard]] std::unique_ptr<GpuLogDialect> make_dcgm_exposition();

// In the order in which they are tried.
[[nodiscard]] std::span<const GpuLogFormat> gpu_log_formats();

}  // namespace stepscope
