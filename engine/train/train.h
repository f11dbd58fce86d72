// SPDX-License-Identifier: Apache-2.0
// `stepscope train`: trains a network with ZeRO on the cores of this machine, or over MPI, and
// accounts for every step.
//
// Ranks that are processes ("shm") are copies of the calling program, started with the same command
// line: each has to come to train() with the same request, as the processes of an MPI job do. There
// train() is the rank, and returns when it has ended; in the process that has started the copies it
// returns when all of them have. Only rank 0's process has the results (TrainResult::has_results).
// The exit status of a program shows its result to the process that has started it: 0, or
// interrupted_status, or lost_peer_status where the error's code is ErrorCode::group_failed, or any
// other (comm/groups/rank_processes.h).
#pragma once

#include "engine/train/train_progress.h"
#include "engine/train/train_request.h"
#include "engine/train/train_result.h"
#include "stepscope/base/result.h"

namespace stepscope {

// Errors, by code:
//   refused       the request contradicts itself or names what is not there; nothing was begun. All
//                 processes of a job have the same error (speaks_for_launched())
//   group_failed  a rank died or hangs
//   interrupted   ranks that are processes were stopped, or one could not go on for that
//   reported      another rank, or another process, reports the failure: nothing is left to say
//   failed        anything else; the text names rank and step
// A run that `progress.stop` has stopped is no error where this process has its result.
[[nodiscard]] Result<TrainResult> train(const TrainRequest& request,
                                        const TrainProgress& progress = {});

}  // namespace stepscope
