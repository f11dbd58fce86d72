// SPDX-License-Identifier: Apache-2.0
// Networks by name. The GPT-2 shapes are those of the config.json files of
// huggingface.co/openai-community (gpt2, gpt2-medium, -large, -xl) without dropout; llama-3.2-1b
// has the shape of meta-llama/Llama-3.2-1B with plain rotary positions (no frequency scaling). The
// tiny networks are stepscope's own and train in seconds on a CPU (bytes as tokens). llama-60m to
// llama-350m have the shapes that GaLore (arXiv 2403.03507) trains from scratch.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "engine/nn/network/network_config.h"

namespace stepscope::nn {

struct NamedPreset {
  std::string_view name;
  NetworkConfig config;
};

[[nodiscard]] std::span<const NamedPreset> network_presets();
[[nodiscard]] std::optional<NetworkConfig> network_preset(std::string_view name);

}  // namespace stepscope::nn
