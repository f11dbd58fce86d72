// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/network/network_memory.h"

#include <algorithm>

#include "engine/nn/kernels/attention.h"
#include "engine/nn/kernels/cross_entropy.h"
#include "engine/nn/kernels/layer_norm.h"
#include "engine/nn/kernels/rms_norm.h"

namespace stepscope::nn {
namespace {

bool keeps(Recompute kind, BlockValue value) {
  using enum BlockValue;
  if (kind == Recompute::none || value == input) return true;
  if (kind == Recompute::full) return false;
  return value == qkv || value == middle || value == up;
}

// Hands out places one after the other.
class Places {
 public:
  std::int64_t take(std::int64_t bytes) {
    const std::int64_t place = used_;
    used_ += (bytes + 63) / 64 * 64;
    return place;
  }
  [[nodiscard]] std::int64_t used() const { return used_; }

 private:
  std::int64_t used_ = 0;
};

struct Sizes {
  std::int64_t element;
  std::int64_t batch;
  std::int64_t tokens;
};

std::int64_t bytes_of(const NetworkConfig& c, Sizes s, BlockValue value) {
  using enum BlockValue;
  const std::int64_t rows = s.batch * s.tokens;
  const std::int64_t f32 = 4;
  switch (value) {
    case qkv:
      return rows * qkv_width(c) * s.element;
    case up:
      return rows * feed_forward_width(c) * s.element;
    case act:
      return rows * c.hidden * s.element;
    case logsumexp:
      return rows * c.heads * f32;
    case mean1:
    case mean2:
      return c.family == NetworkFamily::gpt2 ? rows * f32 : 0;
    case rstd1:
    case rstd2:
      return rows * f32;
    default:
      return rows * c.channels * s.element;
  }
}

std::int64_t work_floats(const NetworkConfig& c, Sizes s) {
  const std::size_t attention =
      attention_scratch({s.batch, s.tokens, c.heads, c.kv_heads, head_size(c)});
  const std::size_t head = head_scratch({s.batch * s.tokens, c.vocab, c.padded_vocab, c.channels});
  const std::size_t norm = c.family == NetworkFamily::gpt2 ? layer_norm_scratch(c.channels)
                                                           : rms_norm_scratch(c.channels);
  return static_cast<std::int64_t>(
      std::max({attention, head, norm, static_cast<std::size_t>(c.padded_vocab)}));
}

}  // namespace

NetworkMemory lay_out(const NetworkConfig& c, ElementType type, std::int64_t batch,
                      std::int64_t tokens, const RecomputePlan& plan) {
  const Sizes s{static_cast<std::int64_t>(element_bytes(type)), batch, tokens};
  const std::int64_t rows = batch * tokens;
  NetworkMemory m;
  std::array<std::int64_t, 3> layer_bytes{};
  for (const Recompute kind : {Recompute::none, Recompute::selective, Recompute::full}) {
    Places places;
    for (std::size_t v = 0; v < block_value_count; ++v) {
      const auto value = static_cast<BlockValue>(v);
      m.kept[static_cast<std::size_t>(kind)][v] =
          keeps(kind, value) ? places.take(bytes_of(c, s, value)) : NetworkMemory::nowhere;
    }
    layer_bytes[static_cast<std::size_t>(kind)] = places.used();
  }
  std::array<bool, block_value_count> again{};
  for (std::int64_t layer = 0; layer < c.layers; ++layer) {
    const Recompute kind = recompute_of(plan, layer);
    m.recompute.push_back(kind);
    m.layer_begin.push_back(m.activation_bytes);
    m.activation_bytes += layer_bytes[static_cast<std::size_t>(kind)];
    for (std::size_t v = 0; v < block_value_count; ++v) {
      again[v] = again[v] || !keeps(kind, static_cast<BlockValue>(v));
    }
  }
  Places places;
  for (std::size_t v = 0; v < block_value_count; ++v) {
    m.recomputed[v] =
        again[v] ? places.take(bytes_of(c, s, static_cast<BlockValue>(v))) : NetworkMemory::nowhere;
  }
  const std::int64_t row = rows * s.element;
  const bool llama = c.family == NetworkFamily::llama;
  m.stream_gradient = places.take(row * c.channels);
  m.narrow = places.take(row * c.channels);
  m.wide = places.take(row * std::max({qkv_width(c), feed_forward_width(c), 2 * c.channels}));
  m.act_gradient = places.take(llama ? row * c.hidden : 0);
  m.dropped = places.take(c.dropout > 0 ? row * c.channels : 0);
  m.mean = places.take(llama ? 0 : rows * 4);
  m.rstd = places.take(rows * 4);
  m.work = places.take(work_floats(c, s) * 4);
  m.scratch_bytes = places.used();
  return m;
}

}  // namespace stepscope::nn
