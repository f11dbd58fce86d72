// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/network/network.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>

#include "engine/nn/kernels/cross_entropy.h"
#include "engine/nn/kernels/embedding.h"
#include "engine/nn/network/block.h"
#include "engine/nn/network/network_run.h"

namespace stepscope::nn {
namespace {

template <class T>
const T* values_as(std::span<const std::byte> bytes) {
  return reinterpret_cast<const T*>(bytes.data());
}
template <class T>
T* values_as(std::span<std::byte> bytes) {
  return reinterpret_cast<T*>(bytes.data());
}

// An upper bound of lay_out's counts, in floating point.
bool too_large(const NetworkConfig& c, std::int64_t batch, std::int64_t tokens) {
  const double rows = static_cast<double>(batch) * static_cast<double>(tokens);
  const double widest = static_cast<double>(10 * c.channels + 4 * c.hidden + c.padded_vocab);
  return rows * widest * 8 * static_cast<double>(c.layers + 8) > 0x1p62;
}

void embed(const NetworkRun& run, const MicroBatch& micro, auto tensors) {
  using T = std::remove_cvref_t<decltype(*tensors.table)>;
  const std::int64_t c = run.config.channels;
  T* input = value_of<T>(run, 0, BlockValue::input);
  {
    const OpScope scope(run.observer, LeafOp::embedding, dims(run.config.padded_vocab, c),
                        dims(run.batch, run.tokens));
    embedding_forward(run.batch, run.tokens, c, micro.inputs.data(), tensors.table,
                      tensors.positions, input);
  }
  if (run.dropout > 0) drop<T>(run, DropoutSite::embedding, 0, input, input);
}

template <class T>
void embed_backward(const NetworkRun& run, const MicroBatch& micro, const EndTensors<T*>& gradient,
                    bool add) {
  const std::int64_t c = run.config.channels;
  T* stream = run.in_scratch<T>(run.memory.stream_gradient);
  if (run.dropout > 0) drop<T>(run, DropoutSite::embedding, 0, stream, stream);
  const OpScope scope(run.observer, LeafOp::embedding_backward, dims(run.batch, run.tokens, c),
                      dims(run.batch, run.tokens));
  embedding_backward(run.batch, run.tokens, c, run.config.padded_vocab, run.config.context,
                     micro.inputs.data(), stream, gradient.table, gradient.positions, add);
}

struct HeadValues {
  std::byte* sum;
  std::byte* norm;
  NormStatistics statistics;
};

// The final norm of the last block's output; it uses the memory of wide gradients.
template <class T>
HeadValues head_norm(const NetworkRun& run, const EndTensors<const T*>& w) {
  const std::int64_t bytes =
      run.rows() * run.config.channels * static_cast<std::int64_t>(sizeof(T));
  const HeadValues v{
      run.scratch + run.memory.wide,
      run.scratch + run.memory.wide + bytes,
      {run.in_scratch<float>(run.memory.mean), run.in_scratch<float>(run.memory.rstd)}};
  norm_forward<T>(run, w.norm, run.in_scratch<T>(run.memory.narrow),
                  value_of<T>(run, run.config.layers - 1, BlockValue::middle),
                  reinterpret_cast<T*>(v.sum), reinterpret_cast<T*>(v.norm), v.statistics);
  return v;
}

template <class T>
double head(const NetworkRun& run, const MicroBatch& micro, const EndTensors<const T*>& w,
            const EndTensors<T*>* dw, bool accumulate) {
  const NetworkConfig& c = run.config;
  const HeadValues v = head_norm(run, w);
  const auto* norm = reinterpret_cast<const T*>(v.norm);
  T* dnorm = run.in_scratch<T>(run.memory.narrow);
  double loss = 0;
  {
    const OpScope scope(
        run.observer,
        dw == nullptr ? LeafOp::linear_cross_entropy : LeafOp::linear_cross_entropy_trained,
        dims(run.rows(), c.channels), dims(c.padded_vocab, c.channels), dims(run.rows()));
    loss = head_cross_entropy<T>({run.rows(), c.vocab, c.padded_vocab, c.channels}, norm, w.head,
                                 micro.targets.data(), dw == nullptr ? nullptr : dnorm,
                                 dw == nullptr ? nullptr : dw->head, accumulate, run.work());
  }
  if (dw == nullptr) return loss;
  // In a tied unit, the positions' gradient is added here at the end.
  if (!accumulate && dw->positions != nullptr) {
    std::fill_n(dw->positions, c.context * c.channels, T{});
  }
  T* stream = run.in_scratch<T>(run.memory.stream_gradient);
  std::fill_n(stream, run.rows() * c.channels, T{});
  norm_backward<T>(run, w.norm, dw->norm, reinterpret_cast<const T*>(v.sum), dnorm, stream,
                   v.statistics, accumulate);
  return loss;
}

}  // namespace

Result<Network> Network::create(const NetworkConfig& config, ElementType type,
                                std::int64_t max_batch, std::int64_t max_tokens,
                                const RecomputePlan& recompute) {
  if (auto checked = check_network(config); !checked) return checked.error();
  const auto wrong = [](std::string what, std::string hint) {
    return Error{.what = "network: " + std::move(what), .hint = std::move(hint)};
  };
  if (type != ElementType::f32 && type != ElementType::bf16) {
    return wrong("element type " + std::string{element_name(type)}, "f32 or bf16");
  }
  if (max_tokens < 1 || max_tokens > config.context) {
    return wrong("sequences of " + std::to_string(max_tokens) + " tokens",
                 "between 1 and its context of " + std::to_string(config.context));
  }
  if (max_batch < 1) return wrong("batch " + std::to_string(max_batch), "at least 1");
  if (recompute.kind == Recompute::every_k && recompute.every < 1) {
    return wrong("recompute every " + std::to_string(recompute.every), "at least 1");
  }
  if (too_large(config, max_batch, max_tokens)) {
    return wrong("batch " + std::to_string(max_batch) + " needs more memory than can be counted",
                 "a smaller batch, and gradient accumulation");
  }
  Network network(config, type, lay_out(config, type, max_batch, max_tokens, recompute));
  network.max_batch_ = max_batch;
  network.max_tokens_ = max_tokens;
  return network;
}

void Network::use_memory(std::span<std::byte> activations, std::span<std::byte> scratch) {
  const auto fits = [](std::span<std::byte> memory, std::int64_t bytes) {
    return memory.size() >= static_cast<std::size_t>(bytes) &&
           reinterpret_cast<std::uintptr_t>(memory.data()) % 64 == 0;
  };
  check(fits(activations, memory_.activation_bytes), "activations: aligned and large enough");
  check(fits(scratch, memory_.scratch_bytes), "scratch: aligned and large enough");
  activations_ = activations;
  scratch_ = scratch;
}

void Network::check_micro_batch(const MicroBatch& micro) const {
  check(!scratch_.empty(), "use_memory comes before run");
  check(micro.batch >= 1 && micro.batch <= max_batch_ && micro.tokens >= 1 &&
            micro.tokens <= max_tokens_,
        "a micro-batch within the largest");
  check(micro.inputs.size() == static_cast<std::size_t>(micro.batch * micro.tokens),
        "inputs of batch * tokens");
}

NetworkRun Network::run_of(std::int64_t batch, std::int64_t tokens) const {
  return {config_, memory_, observer_, activations_.data(), scratch_.data(), batch, tokens, 0, 0};
}

template <class T>
void Network::run_as(const Pass& pass, const MicroBatch& micro,
                     std::span<const std::byte> parameters, std::span<std::byte> gradient,
                     bool accumulate) {
  NetworkRun run = run_of(micro.batch, micro.tokens);
  run.dropout_seed = micro.dropout_seed;
  run.dropout = pass.training ? config_.dropout : 0;
  const T* values = values_as<T>(parameters);
  T* gradients = pass.writes_gradient ? values_as<T>(gradient) : nullptr;
  switch (pass.kind) {
    case PassKind::embed:
      return embed(run, micro, embed_tensors(config_, values));
    case PassKind::block:
      return block_forward(run, pass.layer, block_tensors(config_, values));
    case PassKind::head: {
      check(micro.targets.size() == micro.inputs.size(), "a target for each input");
      const EndTensors<T*> dw = head_tensors(config_, gradients);
      loss_sum_ = head(run, micro, head_tensors(config_, values),
                       pass.writes_gradient ? &dw : nullptr, accumulate);
      loss_tokens_ = std::ranges::count_if(micro.targets, [](std::int32_t t) { return t >= 0; });
      return;
    }
    case PassKind::block_recompute:
      return block_recompute(run, pass.layer, block_tensors(config_, values));
    case PassKind::block_backward:
      return block_backward(run, pass.layer, block_tensors(config_, values),
                            block_tensors(config_, gradients), accumulate);
    case PassKind::embed_backward:
      return embed_backward(run, micro, embed_tensors(config_, gradients),
                            accumulate || config_.tied);
  }
}

void Network::run(const Pass& pass, const MicroBatch& micro, std::span<const std::byte> parameters,
                  std::span<std::byte> gradient, bool accumulate) {
  check_micro_batch(micro);
  last_pass_ = pass;
  last_batch_ = micro.batch;
  last_tokens_ = micro.tokens;
  if (type_ == ElementType::f32) {
    run_as<float>(pass, micro, parameters, gradient, accumulate);
  } else {
    run_as<Bf16>(pass, micro, parameters, gradient, accumulate);
  }
}

template <class T>
void Network::logits_as(const NetworkRun& run, std::span<const std::byte> head_parameters,
                        std::int64_t row, std::span<float> logits) const {
  const EndTensors<const T*> w = head_tensors(config_, values_as<T>(head_parameters));
  const HeadValues v = head_norm(run, w);
  auto* out = reinterpret_cast<T*>(run.work());
  linear_forward<T>(1, config_.vocab, config_.channels,
                    reinterpret_cast<const T*>(v.norm) + row * config_.channels, w.head, nullptr,
                    out);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if constexpr (std::is_same_v<T, float>) {
      logits[i] = out[i];
    } else {
      logits[i] = to_float(out[i]);
    }
  }
}

void Network::logits(const MicroBatch& micro, std::span<const std::byte> head_parameters,
                     std::int64_t row, std::span<float> logits) {
  check_micro_batch(micro);
  check(row >= 0 && row < micro.batch * micro.tokens, "logits of a row that is there");
  check(logits.size() == static_cast<std::size_t>(config_.vocab), "a logit for each token");
  const NetworkRun run = run_of(micro.batch, micro.tokens);
  if (type_ == ElementType::f32) {
    logits_as<float>(run, head_parameters, row, logits);
  } else {
    logits_as<Bf16>(run, head_parameters, row, logits);
  }
}

template <class T>
bool Network::output_finite_as() const {
  const NetworkRun run = run_of(last_batch_, last_tokens_);
  const auto finite = [&](const T* values) {
    return std::all_of(values, values + run.rows() * config_.channels, [](T x) {
      if constexpr (std::is_same_v<T, float>) {
        return std::isfinite(x);
      } else {
        return std::isfinite(to_float(x));
      }
    });
  };
  const auto* stream = run.in_scratch<T>(memory_.stream_gradient);
  switch (last_pass_.kind) {
    case PassKind::embed:
      return finite(value_of<T>(run, 0, BlockValue::input));
    case PassKind::block:
      return finite(run.in_scratch<T>(memory_.narrow)) &&
             finite(value_of<T>(run, last_pass_.layer, BlockValue::middle));
    case PassKind::block_recompute:
      return finite(value_of<T>(run, last_pass_.layer, BlockValue::middle));
    case PassKind::head:
      return std::isfinite(loss_sum_) && (!last_pass_.writes_gradient || finite(stream));
    case PassKind::block_backward:
    case PassKind::embed_backward:
      return finite(stream);
  }
  return true;
}

bool Network::output_finite() const {
  return type_ == ElementType::f32 ? output_finite_as<float>() : output_finite_as<Bf16>();
}

Flops Network::model_flops(std::int64_t batch, std::int64_t tokens) const {
  const NetworkConfig& c = config_;
  const auto real = [](std::int64_t n) { return static_cast<double>(n); };
  const double layer =
      real(c.channels) * real(qkv_width(c) + c.channels + feed_forward_width(c) + c.hidden);
  const double weights = real(c.layers) * layer + real(c.vocab) * real(c.channels);
  const double pairs = real(c.layers) * real(c.channels) * real(tokens) * real(tokens);
  return {real(batch) * 6 * (weights * real(tokens) + pairs)};
}

}  // namespace stepscope::nn
