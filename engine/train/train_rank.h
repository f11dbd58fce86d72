// SPDX-License-Identifier: Apache-2.0
// One rank of a run of training, from its data to its trace; rank 0 also has the results of the
// job.
#pragma once

#include <memory>

#include "engine/comm/communicator/communicator.h"
#include "engine/train/train_progress.h"
#include "engine/train/train_request.h"
#include "engine/train/train_result.h"
#include "stepscope/base/result.h"

namespace stepscope {

// Called by all ranks of `comm`. `request.transport` is the name of the one that `comm` has. Errors
// as train()'s.
[[nodiscard]] Result<TrainResult> train_rank(const TrainRequest& request,
                                             std::unique_ptr<Communicator> comm,
                                             const TrainProgress& progress);

}  // namespace stepscope
