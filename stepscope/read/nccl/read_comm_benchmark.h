// SPDX-License-Identifier: Apache-2.0
// Reads outputs of nccl-tests (all_reduce_perf and the others, also RCCL's; text of every version
// and the JSON of -J) and of the OSU micro-benchmarks. Other output and launchers' prefixes are
// allowed. Columns are found by their titles; rows of nccl-tests without titles by their figures,
// which agree with each other. The number of ranks is that of nccl-tests' rank lines, of the
// launcher's command, or the only one that the figures allow (benchmark_figures.h). OSU names none.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/result.h"
#include "stepscope/event/comm_benchmark.h"

namespace stepscope {

// One benchmark for each collective and place: a test's announcement, titles behind names of ranks,
// and sizes that begin again begin a table. Repeated tests of one place are one. `head`: the first
// bytes of the source. `given`: the collective of tables that name none. Errors: no row of either
// tool; a table does not name its collective; two tests that differ name no hosts.
[[nodiscard]] Result<std::vector<CommBenchmark>> parse_comm_benchmark(
    ByteSource& source, std::string_view head, std::string_view path,
    std::optional<CollectiveKind> given = std::nullopt);

// The same of a text in memory.
[[nodiscard]] Result<std::vector<CommBenchmark>> parse_comm_benchmark(
    std::string_view text, std::string_view path,
    std::optional<CollectiveKind> given = std::nullopt);

// Whether a line has the titles of nccl-tests' columns, or is a row of them by its figures.
[[nodiscard]] bool has_benchmark_lines(std::string_view text);

}  // namespace stepscope
