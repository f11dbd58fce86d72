// SPDX-License-Identifier: Apache-2.0
// DistributedDataParallel reduces gradients bucket by bucket while backward runs. For each bucket:
// when it was ready, when its all-reduce was launched, when that ended, and its exposed part.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stepscope/analysis/matching/collective_calls.h"

namespace stepscope {

struct DdpBucket {
  std::int64_t step = 0;     // Step::index
  std::uint32_t bucket = 0;  // in launch order, from 0 in each step
  std::optional<Bytes> bytes;
  std::optional<Ns> ready;  // end of the last computation that its thread had launched for it
  Ns launched{};            // start of the launch call; of the operator if there is no device
  Ns done{};
  Ns exposed{};
};

// The rows of AccumulateGrad in a trace. DDP's reducer is a hook of it.
class AccumulateRows {
 public:
  explicit AccumulateRows(const Trace& trace);
  [[nodiscard]] bool named(StringId name) const { return names_[index(name)]; }
  // True if such a row contains the begin of this one; false for no_slice.
  [[nodiscard]] bool contain(SliceId launch) const;

 private:
  const Trace* trace_;
  std::vector<bool> names_;  // by StringId
};

// A bucket's all-reduce is launched inside a parameter's AccumulateGrad, because the reducer is a
// hook of it. `exposed` is parallel to rank.calls. Empty for FSDP and for traces without such rows.
[[nodiscard]] std::vector<DdpBucket> find_ddp_buckets(const RankView& view, const RankCalls& rank,
                                                      std::span<const Ns> exposed);

}  // namespace stepscope
