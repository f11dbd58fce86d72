// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/network/block.h"

#include "engine/nn/kernels/gelu.h"
#include "engine/nn/kernels/rotary.h"
#include "engine/nn/kernels/swiglu.h"
#include "stepscope/base/element.h"

namespace stepscope::nn {
namespace {

// A layer's values as pointers.
template <class T>
struct Values {
  Values(const NetworkRun& run, std::int64_t layer)
      : input(value_of<T>(run, layer, BlockValue::input)),
        norm1(value_of<T>(run, layer, BlockValue::norm1)),
        qkv(value_of<T>(run, layer, BlockValue::qkv)),
        attention(value_of<T>(run, layer, BlockValue::attention)),
        middle(value_of<T>(run, layer, BlockValue::middle)),
        norm2(value_of<T>(run, layer, BlockValue::norm2)),
        up(value_of<T>(run, layer, BlockValue::up)),
        act(value_of<T>(run, layer, BlockValue::act)),
        logsumexp(value_of<float>(run, layer, BlockValue::logsumexp)),
        statistics1{value_of<float>(run, layer, BlockValue::mean1),
                    value_of<float>(run, layer, BlockValue::rstd1)},
        statistics2{value_of<float>(run, layer, BlockValue::mean2),
                    value_of<float>(run, layer, BlockValue::rstd2)},
        narrow(run.in_scratch<T>(run.memory.narrow)) {}

  T* input;
  T* norm1;
  T* qkv;
  T* attention;
  T* middle;
  T* norm2;
  T* up;
  T* act;
  float* logsumexp;
  NormStatistics statistics1;
  NormStatistics statistics2;
  T* narrow;
};

template <class T>
void rotate(const NetworkRun& run, T* qkv, bool backward) {
  const NetworkConfig& c = run.config;
  if (c.family != NetworkFamily::llama) return;
  const std::int64_t heads = c.heads + c.kv_heads;
  const OpScope scope(run.observer, LeafOp::rotary,
                      dims(run.batch, run.tokens, heads, head_size(c)));
  rotary(run.batch, run.tokens, heads, head_size(c), qkv_width(c), c.rope_theta, qkv, backward);
}

template <class T>
void project_qkv(const NetworkRun& run, const Values<T>& v, const BlockTensors<const T*>& w) {
  linear<T>(run, w.qkv, qkv_width(run.config), run.config.channels, v.norm1, v.qkv);
  rotate(run, v.qkv, false);
}

OpDims head_dims(const NetworkRun& run, std::int64_t heads) {
  return dims(run.batch, heads, run.tokens, head_size(run.config));
}

template <class T>
void attend(const NetworkRun& run, const Values<T>& v) {
  const OpDims kv = head_dims(run, run.config.kv_heads);
  const OpScope scope(run.observer, LeafOp::attention, head_dims(run, run.config.heads), kv, kv);
  attention_forward(run.attention(), v.qkv, v.attention, v.logsumexp, run.work());
}

// Writes into narrow.
template <class T>
void project_attention(const NetworkRun& run, std::int64_t layer, const Values<T>& v,
                       const BlockTensors<const T*>& w) {
  linear<T>(run, w.proj, run.config.channels, run.config.channels, v.attention, v.narrow);
  if (run.dropout > 0) drop<T>(run, DropoutSite::attention, layer, v.narrow, v.narrow);
}

template <class T>
void activate(const NetworkRun& run, const Values<T>& v) {
  const NetworkConfig& c = run.config;
  const OpDims shape = dims(run.rows(), feed_forward_width(c));
  if (c.family == NetworkFamily::gpt2) {
    const OpScope scope(run.observer, LeafOp::gelu, shape);
    gelu_forward(run.rows() * c.hidden, v.up, v.act);
  } else {
    const OpScope scope(run.observer, LeafOp::swiglu, shape);
    swiglu_forward(run.rows(), c.hidden, v.up, v.act);
  }
}

// Computes the gradient of `up` from that of `act`, into wide.
template <class T>
T* activate_backward(const NetworkRun& run, const Values<T>& v, T* dact) {
  const NetworkConfig& c = run.config;
  const OpDims shape = dims(run.rows(), c.hidden);
  T* wide = run.in_scratch<T>(run.memory.wide);
  if (c.family == NetworkFamily::gpt2) {
    const OpScope scope(run.observer, LeafOp::gelu_backward, shape, shape);
    gelu_backward(run.rows() * c.hidden, v.up, dact, wide);
  } else {
    const OpScope scope(run.observer, LeafOp::swiglu_backward, shape,
                        dims(run.rows(), feed_forward_width(c)));
    swiglu_backward(run.rows(), c.hidden, v.up, dact, wide);
  }
  return wide;
}

// The gradient of a branch, computed from that of the residual stream.
template <class T>
const T* branch_gradient(const NetworkRun& run, DropoutSite site, std::int64_t layer,
                         const T* stream) {
  if (run.dropout <= 0) return stream;
  T* dropped = run.in_scratch<T>(run.memory.dropped);
  drop<T>(run, site, layer, stream, dropped);
  return dropped;
}

}  // namespace

template <class T>
void block_forward(const NetworkRun& run, std::int64_t layer, const BlockTensors<const T*>& w) {
  const NetworkConfig& c = run.config;
  const Values<T> v(run, layer);
  const T* x = layer == 0 ? v.input : v.narrow;
  const T* residual = layer == 0 ? nullptr : value_of<T>(run, layer - 1, BlockValue::middle);
  norm_forward<T>(run, w.norm1, x, residual, v.input, v.norm1, v.statistics1);
  project_qkv(run, v, w);
  attend(run, v);
  project_attention(run, layer, v, w);
  norm_forward<T>(run, w.norm2, v.narrow, v.input, v.middle, v.norm2, v.statistics2);
  linear<T>(run, w.up, feed_forward_width(c), c.channels, v.norm2, v.up);
  activate(run, v);
  linear<T>(run, w.down, c.channels, c.hidden, v.act, v.narrow);
  if (run.dropout > 0) drop<T>(run, DropoutSite::feed_forward, layer, v.narrow, v.narrow);
}

template <class T>
void block_recompute(const NetworkRun& run, std::int64_t layer, const BlockTensors<const T*>& w) {
  const NetworkConfig& c = run.config;
  const Values<T> v(run, layer);
  const bool full = run.memory.recompute[static_cast<std::size_t>(layer)] == Recompute::full;
  norm_forward<T>(run, w.norm1, v.input, nullptr, v.input, v.norm1, v.statistics1);
  if (full) project_qkv(run, v, w);
  attend(run, v);
  if (full) {
    project_attention(run, layer, v, w);
    norm_forward<T>(run, w.norm2, v.narrow, v.input, v.middle, v.norm2, v.statistics2);
    linear<T>(run, w.up, feed_forward_width(c), c.channels, v.norm2, v.up);
  } else {
    norm_forward<T>(run, w.norm2, v.middle, nullptr, v.middle, v.norm2, v.statistics2);
  }
  activate(run, v);
}

template <class T>
void block_backward(const NetworkRun& run, std::int64_t layer, const BlockTensors<const T*>& w,
                    const BlockTensors<T*>& dw, bool accumulate) {
  const NetworkConfig& c = run.config;
  const Values<T> v(run, layer);
  T* stream = run.in_scratch<T>(run.memory.stream_gradient);
  T* wide = run.in_scratch<T>(run.memory.wide);
  // gelu works in place. swiglu cannot: its two halves are wider than their product.
  T* dact = c.family == NetworkFamily::gpt2 ? wide : run.in_scratch<T>(run.memory.act_gradient);
  linear_backward<T>(run, w.down, dw.down, c.channels, c.hidden, v.act,
                     branch_gradient<T>(run, DropoutSite::feed_forward, layer, stream), dact,
                     accumulate);
  const T* dup = activate_backward(run, v, dact);
  linear_backward<T>(run, w.up, dw.up, feed_forward_width(c), c.channels, v.norm2, dup, v.narrow,
                     accumulate);
  norm_backward<T>(run, w.norm2, dw.norm2, v.middle, v.narrow, stream, v.statistics2, accumulate);
  linear_backward<T>(run, w.proj, dw.proj, c.channels, c.channels, v.attention,
                     branch_gradient<T>(run, DropoutSite::attention, layer, stream), v.narrow,
                     accumulate);
  {
    const OpDims q = head_dims(run, c.heads);
    const OpDims kv = head_dims(run, c.kv_heads);
    const OpScope scope(run.observer, LeafOp::attention_backward, q, q, kv, kv);
    attention_backward(run.attention(), v.qkv, v.attention, v.logsumexp, v.narrow, wide,
                       run.work());
  }
  rotate(run, wide, true);
  linear_backward<T>(run, w.qkv, dw.qkv, qkv_width(c), c.channels, v.norm1, wide, v.narrow,
                     accumulate);
  norm_backward<T>(run, w.norm1, dw.norm1, v.input, v.narrow, stream, v.statistics1, accumulate);
}

template void block_forward(const NetworkRun&, std::int64_t, const BlockTensors<const float*>&);
template void block_forward(const NetworkRun&, std::int64_t, const BlockTensors<const Bf16*>&);
template void block_recompute(const NetworkRun&, std::int64_t, const BlockTensors<const float*>&);
template void block_recompute(const NetworkRun&, std::int64_t, const BlockTensors<const Bf16*>&);
template void block_backward(const NetworkRun&, std::int64_t, const BlockTensors<const float*>&,
                             const BlockTensors<float*>&, bool);
template void block_backward(const NetworkRun&, std::int64_t, const BlockTensors<const Bf16*>&,
                             const BlockTensors<Bf16*>&, bool);

}  // namespace stepscope::nn
