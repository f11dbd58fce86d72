// SPDX-License-Identifier: Apache-2.0
// DistributedDataParallel reduces gradients bucket by bucket while backward runs: when each bucket
// was ready, when its all-reduce was launched, when it was done, and how much of it nothing hid.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stepscope/analysis/matching/collective_calls.h"

namespace stepscope {

struct DdpBucket {
  std::int64_t step = 0;     // Step::index
  std::uint32_t bucket = 0;  // in the order of launching, from 0 in each step
  std::optional<Bytes> bytes;
  std::optional<Ns> ready;  // end of the last computation that its thread had started for it
  Ns launched{};            // start of the launch call; of the operator without a device
  Ns done{};
  Ns exposed{};
};

// A bucket's all-reduce is launched inside a parameter's AccumulateGrad (the reducer is a hook of
// it); `exposed` is parallel to rank.calls. Empty for traces without such rows, and of FSDP.
[[nodiscard]] std::vector<DdpBucket> find_ddp_buckets(const RankView& view, const RankCalls& rank,
                                                      std::span<const Ns> exposed);

}  // namespace stepscope
