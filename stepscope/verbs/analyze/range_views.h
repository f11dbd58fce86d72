// SPDX-License-Identifier: Apache-2.0
// The program's own ranges (annotations, NVTX, modules) and the buckets of DistributedDataParallel,
// as tables.
#pragma once

#include <cstddef>
#include <string>

#include "stepscope/analysis/runs/job.h"
#include "stepscope/face/tree/csv_tables.h"

namespace stepscope {

// The ranges of a rank above its operators, in the order of the tree. Empty without one.
[[nodiscard]] std::string ranges_text(const RankResult& rank, std::size_t width);
// One row a range of every rank: its path, count and times. Operators and kernels are left out.
[[nodiscard]] TreeTable ranges_table(const Json& tree);

// Count, size and times of each bucket over all ranks and steps. Empty without one.
[[nodiscard]] Json ddp_bucket_sums_tree(const JobResult& job);
[[nodiscard]] std::string ddp_buckets_text(const JobResult& job, std::size_t width);

}  // namespace stepscope
