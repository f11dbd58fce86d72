// SPDX-License-Identifier: Apache-2.0
// Weights from and to other tools' files, and text that the trained network writes.
#pragma once

#include <string>

#include "stepscope/base/result.h"
#include "stepscope/cli/train_flags.h"
#include "stepscope/comm/communicator/communicator.h"
#include "stepscope/zero/engine/engine.h"

namespace stepscope {

// --init-from: .safetensors, else an llm.c checkpoint. Each rank reads its shards; training starts
// at step 0 with these weights. Errors name file and byte.
[[nodiscard]] Result<Done> read_weights(zero::Engine& engine, const std::string& path);
// --export, on rank 0; the others bring their shards. Nothing without the flag.
[[nodiscard]] Result<Done> write_weights(zero::Engine& engine, Communicator& comm,
                                         const TrainFlags& flags);
// --generate, to standard output from rank 0 (standard error where JSON goes to the former).
[[nodiscard]] Result<Done> generate_text(zero::Engine& engine, Communicator& comm,
                                         const TrainFlags& flags);

}  // namespace stepscope
