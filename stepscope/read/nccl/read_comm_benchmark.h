// SPDX-License-Identifier: Apache-2.0
// Outputs of nccl-tests (all_reduce_perf and its siblings, also RCCL's; text of every version and
// the JSON of -J) and of the OSU micro-benchmarks, among other output and behind launchers'
// prefixes. Columns are found by their titles. A file of nccl-tests says how many ranks it had (its
// rank lines, else the ratio of busbw to algbw); one of OSU does not.
#pragma once

#include <string>
#include <string_view>

#include "stepscope/base/result.h"
#include "stepscope/event/comm_benchmark.h"

namespace stepscope {

// Errors: no row of either; an operation that the text does not tell.
[[nodiscard]] Result<CommBenchmark> parse_comm_benchmark(std::string_view text,
                                                         std::string_view path);
[[nodiscard]] Result<CommBenchmark> read_comm_benchmark(const std::string& path);

}  // namespace stepscope
