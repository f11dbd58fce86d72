// SPDX-License-Identifier: Apache-2.0
// One rank of `stepscope train`, from its data to its trace; rank 0 also speaks for the job.
#pragma once

#include "stepscope/base/stop.h"
#include "stepscope/cli/train_flags.h"
#include "stepscope/comm/communicator/communicator.h"

namespace stepscope {

// Exit code of this rank. Called by all ranks of `comm`.
[[nodiscard]] int train_rank(const TrainFlags& flags, std::unique_ptr<Communicator> comm,
                             const StopFlag& stop);

}  // namespace stepscope
