// SPDX-License-Identifier: Apache-2.0
#include "engine/train/train_weights.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "engine/nn/network/generate.h"
#include "engine/zero/checkpoint/llmc_file.h"
#include "engine/zero/checkpoint/safetensors.h"
#include "engine/zero/train/tokenizer.h"

namespace stepscope {
namespace {

// The whole master weights by unit, at every rank.
Result<std::vector<std::vector<float>>> gather_all(zero::Engine& engine) {
  std::vector<std::vector<float>> units;
  for (std::size_t u = 0; u < engine.plan().units.size(); ++u) {
    units.emplace_back(static_cast<std::size_t>(engine.plan().units[u].count));
    if (auto done = engine.gather_master(u, units.back()); !done) return done.error();
  }
  return units;
}

Result<Done> write_gathered(const std::string& path, const zero::Engine& engine,
                            const std::vector<std::vector<float>>& values) {
  const ElementType type = engine.config().type;
  const zero::ReadWeights read = [&](std::size_t unit, std::int64_t first,
                                     std::span<float> into) -> Result<Done> {
    const auto from = std::span(values[unit]).subspan(static_cast<std::size_t>(first), into.size());
    std::ranges::copy(from, into.begin());
    return Done{};
  };
  if (path.ends_with(".safetensors"))
    return zero::write_safetensors(path, engine.plan().units, type, read);
  return zero::write_llmc(path, engine.config().network, type, read);
}

// As passes read them.
std::vector<std::vector<std::byte>> as_parameters(const std::vector<std::vector<float>>& units,
                                                  ElementType type) {
  std::vector<std::vector<std::byte>> all;
  for (const std::vector<float>& unit : units) {
    std::vector<std::byte>& bytes = all.emplace_back(unit.size() * element_bytes(type));
    if (type == ElementType::f32) {
      std::ranges::copy(std::as_bytes(std::span(unit)), bytes.begin());
      continue;
    }
    for (std::size_t i = 0; i < unit.size(); ++i) {
      const Bf16 narrow = to_bf16(unit[i]);
      std::copy_n(std::as_bytes(std::span(&narrow, 1)).data(), sizeof narrow,
                  bytes.data() + i * sizeof narrow);
    }
  }
  return all;
}

}  // namespace

Result<Done> read_weights(zero::Engine& engine, const std::string& path) {
  const nn::NetworkConfig& config = engine.config().network;
  const auto weights = path.ends_with(".safetensors")
                           ? zero::open_safetensors(path, engine.plan().units)
                           : zero::open_llmc(path, config);
  if (!weights) return weights.error();
  auto state = engine.state();
  if (!state) return state.error();
  for (const zero::StateExtent& extent : state->extents)
    if (auto read = weights->read(extent.unit, extent.first, extent.master); !read) return read;
  return engine.state_loaded(state->cursor);
}

Result<Done> write_weights(zero::Engine& engine, Communicator& comm, const TrainRequest& request) {
  if (request.export_file.empty()) return Done{};
  const auto units = gather_all(engine);
  if (!units) return units.error();
  if (comm.rank() != 0) return Done{};
  return write_gathered(request.export_file, engine, *units);
}

Result<std::string> generate_text(zero::Engine& engine, Communicator& comm,
                                  const TrainRequest& request) {
  if (request.generate == 0) return std::string();
  const auto units = gather_all(engine);
  if (!units) return units.error();
  if (comm.rank() != 0) return std::string();
  const zero::EngineConfig& c = engine.config();
  const auto parameters = as_parameters(*units, c.type);
  auto network = nn::Network::create(c.network, c.type, 1, c.tokens, {});
  if (!network) return network.error();
  const auto memory = [](Bytes bytes) {
    return std::vector<std::byte>(static_cast<std::size_t>(bytes.value) + 64);
  };
  const auto aligned = [](std::vector<std::byte>& v) {
    void* at = v.data();
    std::size_t room = v.size();
    std::align(64, v.size() - 64, at, room);
    return std::span(static_cast<std::byte*>(at), v.size() - 64);
  };
  auto activations = memory(network->activation_bytes());
  auto scratch = memory(network->scratch_bytes());
  network->use_memory(aligned(activations), aligned(scratch));
  std::vector<std::int32_t> prompt =
      zero::encode_bytes(request.prompt.empty() ? "\n" : request.prompt);
  const auto values = [&](std::size_t unit) {
    return std::span<const std::byte>(parameters[unit]);
  };
  const auto tokens = nn::generate(*network, values, prompt, request.generate,
                                   {.temperature = 0.8F, .top_k = 40, .seed = request.seed});
  if (!tokens) return tokens.error();
  return request.prompt + zero::decode_bytes(*tokens);
}

}  // namespace stepscope
