// SPDX-License-Identifier: Apache-2.0
// Finds logs of GPUs among the inputs, and reads them. Memory is bounded except for the readings.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/result.h"
#include "stepscope/base/stop.h"
#include "stepscope/event/gpu_log.h"

namespace stepscope {

// Whether a file with these first (inflated) bytes is a log of GPUs.
[[nodiscard]] bool is_gpu_log(std::string_view head);

// The inputs that are such logs, judged by their first bytes, each once. Files that are named, or
// that a pattern gives, are tried unless they end as traces do; in directories, to any depth, files
// that end in .csv, .log, .txt, .prom (and .gz, .zst behind it).
[[nodiscard]] std::vector<std::string> find_gpu_logs(std::span<const std::string> inputs);

// Errors: those of the source; no such log; a log that lacks times, GPUs or all readings.
[[nodiscard]] Result<GpuLog> read_gpu_log(ByteSource& source, const std::string& path,
                                          const StopFlag* stop = nullptr);
[[nodiscard]] Result<GpuLog> read_gpu_log(const std::string& path, const StopFlag* stop = nullptr);

}  // namespace stepscope
