// SPDX-License-Identifier: Apache-2.0
// How long a collective should take on a machine: every algorithm's time over a range of sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepscope/base/collective_kind.h"
#include "stepscope/base/result.h"
#include "stepscope/cost/time/collective_sweep.h"
#include "stepscope/say/message.h"

namespace stepscope {

struct PredictCollectiveRequest {
  std::string machine{};  // of the catalogue, or a machine file
  CollectiveKind kind = CollectiveKind::all_reduce;
  SweepRange range{};                        // sizes of the whole buffer
  int group = 2;                             // devices that take part, neighbours in the machine
  std::optional<int> devices_of_a_domain{};  // that share the fast links; absent: the machine's
};

struct PredictCollectiveResult {
  std::string machine{};  // its name
  CollectiveSweep sweep{};
  Messages warnings{};  // what the machine does not say, and what took its place
};

// Errors: the machine is missing or unknown, or the group does not fit it.
[[nodiscard]] Result<PredictCollectiveResult> predict_collective(
    const PredictCollectiveRequest& request);

}  // namespace stepscope
