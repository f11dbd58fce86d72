// SPDX-License-Identifier: Apache-2.0
// The parameters of a block, of the head and of the embedding as pointers into their units' flat
// vectors, in the order of network_units. P is `const T*` for values and `T*` for gradients. Biases
// that a model family lacks are null.
#pragma once

#include <cstdint>

#include "engine/nn/network/network_config.h"

namespace stepscope::nn {

template <class P>
struct NormTensors {
  P weight = nullptr;
  P bias = nullptr;
};
template <class P>
struct LinearTensors {
  P weight = nullptr;
  P bias = nullptr;
};
template <class P>
struct BlockTensors {
  NormTensors<P> norm1;
  LinearTensors<P> qkv;
  LinearTensors<P> proj;
  NormTensors<P> norm2;
  LinearTensors<P> up;
  LinearTensors<P> down;
};
template <class P>
struct EndTensors {
  P table = nullptr;      // of tokens
  P positions = nullptr;  // gpt2
  NormTensors<P> norm;    // the final one
  P head = nullptr;       // = table where tied
};

template <class P>
class FlatUnit {
 public:
  FlatUnit(P begin, bool has_bias) : at_(begin), has_bias_(has_bias) {}
  P take(std::int64_t count) {
    P part = at_;
    if (at_ != nullptr) at_ += count;
    return part;
  }
  NormTensors<P> norm(std::int64_t channels) {
    P weight = take(channels);
    return {weight, has_bias_ ? take(channels) : nullptr};
  }
  LinearTensors<P> linear(std::int64_t out, std::int64_t in) {
    P weight = take(out * in);
    return {weight, has_bias_ ? take(out) : nullptr};
  }

 private:
  P at_;
  bool has_bias_;
};

template <class P>
BlockTensors<P> block_tensors(const NetworkConfig& c, P unit) {
  FlatUnit<P> flat(unit, c.family == NetworkFamily::gpt2);
  BlockTensors<P> t;
  t.norm1 = flat.norm(c.channels);
  t.qkv = flat.linear(qkv_width(c), c.channels);
  t.proj = flat.linear(c.channels, c.channels);
  t.norm2 = flat.norm(c.channels);
  t.up = flat.linear(feed_forward_width(c), c.channels);
  t.down = flat.linear(c.channels, c.hidden);
  return t;
}

// Pointers into the unit of the embedding.
template <class P>
EndTensors<P> embed_tensors(const NetworkConfig& c, P unit) {
  FlatUnit<P> flat(unit, false);
  EndTensors<P> t;
  t.table = flat.take(c.padded_vocab * c.channels);
  if (c.family == NetworkFamily::gpt2) t.positions = flat.take(c.context * c.channels);
  return t;
}

// Pointers into the unit of the final norm and the head.
template <class P>
EndTensors<P> head_tensors(const NetworkConfig& c, P unit) {
  FlatUnit<P> flat(unit, c.family == NetworkFamily::gpt2);
  EndTensors<P> t;
  if (c.tied) {
    t.head = t.table = flat.take(c.padded_vocab * c.channels);
    if (c.family == NetworkFamily::gpt2) t.positions = flat.take(c.context * c.channels);
  }
  t.norm = flat.norm(c.channels);
  if (!c.tied) t.head = flat.take(c.padded_vocab * c.channels);
  return t;
}

}  // namespace stepscope::nn
