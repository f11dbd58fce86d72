// SPDX-License-Identifier: Apache-2.0
// Weights from and to other tools' files, and text that the trained network writes.
#pragma once

#include <string>

#include "engine/comm/communicator/communicator.h"
#include "engine/train/train_request.h"
#include "engine/zero/engine/engine.h"
#include "stepscope/base/result.h"

namespace stepscope {

// From .safetensors, else an llm.c checkpoint. Each rank reads its shards; training starts at step
// 0 with these weights. Errors name file and byte.
[[nodiscard]] Result<Done> read_weights(zero::Engine& engine, const std::string& path);
// To the request's export_file, on rank 0; the others bring their shards. Nothing where it is
// empty.
[[nodiscard]] Result<Done> write_weights(zero::Engine& engine, Communicator& comm,
                                         const TrainRequest& request);
// The prompt and what the network makes of it, at rank 0; empty at the others, and where no text is
// asked for.
[[nodiscard]] Result<std::string> generate_text(zero::Engine& engine, Communicator& comm,
                                                const TrainRequest& request);

}  // namespace stepscope
