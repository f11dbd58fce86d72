// SPDX-License-Identifier: Apache-2.0
// Checkpoints of llm.c ("gpt2_124M.bin"): 256 int32 (magic 20240326; version 3 with f32 or 5 with
// bf16 tensors; longest sequence, vocabulary, layers, heads, channels, padded vocabulary), then the
// sixteen kinds of GPT-2's tensors, each of all layers, matrices [out, in] with the padded
// vocabulary's rows (karpathy/llm.c, train_gpt2.py, write_model; read by train_gpt2.c). The file
// has no optimizer states.
#pragma once

#include <string>

#include "engine/nn/network/network_config.h"
#include "engine/zero/checkpoint/stored_weights.h"
#include "stepscope/base/element.h"
#include "stepscope/base/result.h"

namespace stepscope::zero {

// The configuration of the network in a file. Errors: not such a file, another version, sizes of no
// valid network, a file that is shorter or longer than its sizes demand.
[[nodiscard]] Result<nn::NetworkConfig> llmc_network(const std::string& path);

// Reads the weights for a GPT-2 network of the file's sizes. The padded vocabularies may differ.
[[nodiscard]] Result<StoredWeights> open_llmc(const std::string& path,
                                              const nn::NetworkConfig& config);

// Writes a tied GPT-2 network with hidden = 4 * channels; others are an error. Rows that pad the
// vocabulary are zero. The file at `path` appears complete or not at all.
[[nodiscard]] Result<Done> write_llmc(const std::string& path, const nn::NetworkConfig& config,
                                      ElementType type, const ReadWeights& weights);

}  // namespace stepscope::zero
