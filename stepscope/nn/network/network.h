// SPDX-License-Identifier: Apache-2.0
// A GPT-2 or Llama style decoder that computes one pass over one unit at a time, forward and
// backward, in f32 or bf16. It runs on the calling thread, owns neither parameters nor activations,
// knows no ranks, and allocates nothing while it runs.
//
//   Network n = *Network::create(config, ElementType::f32, batch, tokens, recompute);
//   n.use_memory(activations, scratch);             // of activation_bytes() and scratch_bytes()
//   for (const Pass& pass : training_passes(config, recompute))
//     n.run(pass, batch, values of pass.unit, gradient of pass.unit, false);
//   n.loss_sum() / n.loss_tokens()
//
// Losses and gradients are sums over tokens. The same passes over the same bits give the same bits,
// whatever is recomputed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "stepscope/base/element.h"
#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"
#include "stepscope/nn/network/network_config.h"
#include "stepscope/nn/network/network_memory.h"
#include "stepscope/nn/network/op_observer.h"
#include "stepscope/nn/network/passes.h"
#include "stepscope/nn/network/units.h"

namespace stepscope::nn {

// `batch` sequences of `tokens`, row by row.
struct MicroBatch {
  std::int64_t batch = 0;
  std::int64_t tokens = 0;
  std::span<const std::int32_t> inputs{};   // batch * tokens, each below the vocabulary
  std::span<const std::int32_t> targets{};  // likewise; -1: not counted
  std::uint64_t dropout_seed = 0;           // another in each micro-batch of each step
};

struct NetworkRun;

class Network {
 public:
  // Errors: sizes that fit no network (check_network), a sequence beyond the context, another type
  // than f32 and bf16, more bytes than can be counted.
  [[nodiscard]] static Result<Network> create(const NetworkConfig& config, ElementType type,
                                              std::int64_t max_batch, std::int64_t max_tokens,
                                              const RecomputePlan& recompute);

  [[nodiscard]] const NetworkConfig& config() const { return config_; }
  [[nodiscard]] ElementType type() const { return type_; }
  [[nodiscard]] std::int64_t max_tokens() const { return max_tokens_; }
  // What all layers keep from forward to backward at the largest micro-batch. Exact.
  [[nodiscard]] Bytes activation_bytes() const { return {memory_.activation_bytes}; }
  [[nodiscard]] Bytes scratch_bytes() const { return {memory_.scratch_bytes}; }
  // Both begin at a multiple of 64 bytes and outlive the network's use; contents may be anything.
  void use_memory(std::span<std::byte> activations, std::span<std::byte> scratch);

  // Runs one pass; a micro-batch's passes in the order of training_passes or evaluation_passes, one
  // micro-batch after the other. `parameters`: the unit's elements. `gradient`: likewise where the
  // pass writes it, else anything. `accumulate`: false in all passes of the first micro-batch of a
  // step (gradients are overwritten, whatever they held), true in those that follow.
  // Evaluation runs without dropout.
  void run(const Pass& pass, const MicroBatch& micro, std::span<const std::byte> parameters,
           std::span<std::byte> gradient, bool accumulate);

  // Of the last head pass.
  [[nodiscard]] double loss_sum() const { return loss_sum_; }
  [[nodiscard]] std::int64_t loss_tokens() const { return loss_tokens_; }

  // Whether all that the last pass handed on is finite: the residual stream (embed, block,
  // recompute), the loss and the gradient of the stream (head), the latter (backward). Reads it
  // all.
  [[nodiscard]] bool output_finite() const;

  // Instead of a head pass in evaluation: the logits of one row (of batch * tokens), as many as the
  // vocabulary has tokens.
  void logits(const MicroBatch& micro, std::span<const std::byte> head_parameters, std::int64_t row,
              std::span<float> logits);

  // Null: nobody. The observer outlives its use.
  void observe(OpObserver* observer) { observer_ = observer; }

  // Of forward and backward, causal attention counted half, without what is recomputed: 6 flops a
  // weight and token, 6 layers * channels * tokens^2 of attention a sequence (Megatron-LM's count).
  [[nodiscard]] Flops model_flops(std::int64_t batch, std::int64_t tokens) const;

 private:
  Network(const NetworkConfig& config, ElementType type, NetworkMemory memory)
      : config_(config), type_(type), memory_(std::move(memory)) {}
  void check_micro_batch(const MicroBatch& micro) const;
  [[nodiscard]] NetworkRun run_of(std::int64_t batch, std::int64_t tokens) const;
  template <class T>
  [[nodiscard]] bool output_finite_as() const;
  template <class T>
  void logits_as(const NetworkRun& run, std::span<const std::byte> head_parameters,
                 std::int64_t row, std::span<float> logits) const;
  template <class T>
  void run_as(const Pass& pass, const MicroBatch& micro, std::span<const std::byte> parameters,
              std::span<std::byte> gradient, bool accumulate);

  NetworkConfig config_;
  ElementType type_;
  NetworkMemory memory_;
  std::int64_t max_batch_ = 0;
  std::int64_t max_tokens_ = 0;
  std::span<std::byte> activations_{};
  std::span<std::byte> scratch_{};
  OpObserver* observer_ = nullptr;
  double loss_sum_ = 0;
  std::int64_t loss_tokens_ = 0;
  Pass last_pass_{};
  std::int64_t last_batch_ = 0;
  std::int64_t last_tokens_ = 0;
};

}  // namespace stepscope::nn
