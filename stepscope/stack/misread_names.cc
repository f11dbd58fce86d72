// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stack/misread_names.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>

#include "stepscope/base/ascii.h"
#include "stepscope/stack/frame.h"

namespace stepscope {
namespace {

// Classes of transformers are a family and a part (src/transformers/models/*/modeling_*.py).
constexpr std::array<std::string_view, 39> families = {
    "Bloom",    "Cohere",   "Cohere2",    "DeepseekV2",   "DeepseekV3", "Falcon",  "GPT2",
    "GPTNeoX",  "Gemma",    "Gemma2",     "Gemma3",       "Glm",        "Glm4",    "GptOss",
    "Granite",  "Llama",    "Llama4Text", "Llama4Vision", "Mamba2",     "MiniMax", "Mistral",
    "Mistral3", "Mixtral",  "MllamaText", "Nemotron",     "Olmo",       "Olmo2",   "Olmoe",
    "Phi",      "Phi3",     "Phimoe",     "Qwen2",        "Qwen2Moe",   "Qwen2VL", "Qwen2_5_VL",
    "Qwen3",    "Qwen3Moe", "SmolLM3",    "Starcoder2"};
constexpr std::array<std::string_view, 9> parts = {
    "DecoderLayer", "Attention", "MLP",           "Model",          "ForCausalLM",
    "RMSNorm",      "Block",     "SdpaAttention", "FlashAttention2"};

// One letter inserted, left out or replaced; no digit.
bool one_letter_apart(std::string_view a, std::string_view b) {
  if (a == b) return false;
  const auto [at, other] = std::ranges::mismatch(a, b);
  a.remove_prefix(static_cast<std::size_t>(at - a.begin()));
  b.remove_prefix(static_cast<std::size_t>(other - b.begin()));
  while (!a.empty() && !b.empty() && a.back() == b.back()) {
    a.remove_suffix(1);
    b.remove_suffix(1);
  }
  return a.size() <= 1 && b.size() <= 1 && std::ranges::none_of(a, is_digit) &&
         std::ranges::none_of(b, is_digit);
}

}  // namespace

std::string likely_class(std::string_view name) {
  std::string likely;
  for (const std::string_view family : families)
    for (const std::string_view part : parts) {
      std::string known = std::string(family).append(part);
      if (known == name) return {};
      if (likely.empty() && one_letter_apart(name, known)) likely = std::move(known);
    }
  return likely;
}

std::vector<MisreadName> misread_names(const Profile& profile) {
  if (std::ranges::none_of(profile.inputs,
                           [](const ProfileInput& i) { return i.notes.contains("rows_repaired"); }))
    return {};
  std::map<std::string, std::string> likely;
  const std::set<StringId> frames(profile.tree.frame.begin(), profile.tree.frame.end());
  for (const StringId frame : frames) {
    std::string_view rest = frame_of(profile.strings[frame]).function;
    while (!rest.empty()) {
      const std::string_view name = rest.substr(0, rest.find('.'));
      rest.remove_prefix(std::min(rest.size(), name.size() + 1));
      if (std::string known = likely_class(name); !known.empty())
        likely.emplace(name, std::move(known));
    }
  }
  std::vector<MisreadName> out;
  for (auto& [written, known] : likely) out.push_back({written, std::move(known)});
  return out;
}

}  // namespace stepscope
