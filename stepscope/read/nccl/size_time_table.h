// SPDX-License-Identifier: Apache-2.0
// Tables of messages' sizes and the times of a collective, as a loop of one's own measures them:
// CSV with a header, JSON (a list of objects, an object of lists, or an object with such a list as
// "measurements"), or a JSON list of pairs [size, time].
//
//   size        size, bytes, nbytes, message_size, …, in bytes, with the suffix _bytes, _kb, _mb,
//               _gb, _kib, _mib or _gib in that unit; a cell may have its own ("1.5MiB"). It is the
//               whole buffer of a rank's call, as nccl-tests has it.
//   time        time, latency, elapsed, duration, seconds with _ns, _us, _ms or _s; of one call
//   collective  optional: collective, op or operation ("all_reduce", "AllReduce")
//   ranks       optional: ranks, world_size, gpus
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "stepscope/base/collective_kind.h"
#include "stepscope/base/result.h"
#include "stepscope/event/comm_benchmark.h"
#include "stepscope/read/log/time_unit.h"

namespace stepscope {

// "all_reduce", "AllReduce", "allreduce". Absent: no collective with a size.
[[nodiscard]] std::optional<CollectiveKind> collective_named(std::string_view name);

// What a table does not say.
struct SizeTimeOptions {
  CollectiveKind kind = CollectiveKind::all_reduce;
  TimeUnit unit = TimeUnit::s;
};

[[nodiscard]] bool looks_like_size_times(std::string_view text);

// One benchmark for each collective and number of ranks, in the table's order. Rows without a size
// and a time above 0 are counted. Errors: no row; a collective that is not known; JSON that does
// not parse.
[[nodiscard]] Result<std::vector<CommBenchmark>> parse_size_times(
    std::string_view text, std::string_view path, const SizeTimeOptions& options = {});

}  // namespace stepscope
