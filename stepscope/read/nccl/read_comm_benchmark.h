// SPDX-License-Identifier: Apache-2.0
// Reads outputs of nccl-tests (all_reduce_perf and the others, also RCCL's; text of every version
// and the JSON of -J) and of the OSU micro-benchmarks. Other output and launchers' prefixes are
// allowed. Columns are found by their titles. nccl-tests gives the number of ranks (rank lines,
// else the ratio of busbw to algbw); OSU does not.
#pragma once

#include <string>
#include <string_view>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/result.h"
#include "stepscope/event/comm_benchmark.h"

namespace stepscope {

// `head`: the first bytes of the source. Errors: no row of either tool; the text does not name the
// operation.
[[nodiscard]] Result<CommBenchmark> parse_comm_benchmark(ByteSource& source, std::string_view head,
                                                         std::string_view path);

// The same of a text in memory.
[[nodiscard]] Result<CommBenchmark> parse_comm_benchmark(std::string_view text,
                                                         std::string_view path);

// Whether a line has the titles of nccl-tests' columns.
[[nodiscard]] bool has_benchmark_titles(std::string_view text);

}  // namespace stepscope
