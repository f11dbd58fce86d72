// SPDX-License-Identifier: Apache-2.0
// A GPT-2 or Llama style decoder, forward and backward, in f32 or bf16. It computes one pass over
// one unit at a time, on the calling thread. It owns neither parameters nor activations, knows no
// ranks, and allocates nothing while it runs.
//
//   Network n = *Network::create(config, ElementType::f32, batch, tokens, recompute);
//   n.use_memory(activations, scratch);             // of activation_bytes() and scratch_bytes()
//   for (const Pass& pass : training_passes(config, recompute))
//     n.run(pass, batch, values of pass.unit, gradient of pass.unit, false);
//   n.loss_sum() / n.loss_tokens()
//
// Losses and gradients are sums over tokens. The same passes over the same bits give the same bits,
// whichever values are recomputed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "engine/nn/network/network_config.h"
#include "engine/nn/network/network_memory.h"
#include "engine/nn/network/op_observer.h"
#include "engine/nn/network/passes.h"
#include "engine/nn/network/units.h"
#include "stepscope/base/element.h"
#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"

namespace stepscope::nn {

// `batch` sequences of `tokens`, row by row.
struct MicroBatch {
  std::int64_t batch = 0;
  std::int64_t tokens = 0;
  std::span<const std::int32_t> inputs{};   // batch * tokens, each below the vocabulary
  std::span<const std::int32_t> targets{};  // as `inputs`; a target of -1 is not counted
  std::uint64_t dropout_seed = 0;           // different in each micro-batch of each step
};

struct NetworkRun;

class Network {
 public:
  // Errors: invalid sizes (check_network), a sequence longer than the context, a type other than
  // f32 and bf16, a byte count that overflows.
  [[nodiscard]] static Result<Network> create(const NetworkConfig& config, ElementType type,
                                              std::int64_t max_batch, std::int64_t max_tokens,
                                              const RecomputePlan& recompute);

  [[nodiscard]] const NetworkConfig& config() const { return config_; }
  [[nodiscard]] ElementType type() const { return type_; }
  [[nodiscard]] std::int64_t max_tokens() const { return max_tokens_; }
  // The exact bytes that all layers keep from forward to backward at the largest micro-batch.
  [[nodiscard]] Bytes activation_bytes() const { return {memory_.activation_bytes}; }
  [[nodiscard]] Bytes scratch_bytes() const { return {memory_.scratch_bytes}; }
  // Both must begin at a multiple of 64 bytes and outlive the network's use. Their contents may be
  // arbitrary.
  void use_memory(std::span<std::byte> activations, std::span<std::byte> scratch);

  // Runs one pass. The passes of a micro-batch follow the order of training_passes or
  // evaluation_passes, one micro-batch after the other. `parameters`: the unit's elements.
  // `gradient`: the unit's elements if the pass writes it, otherwise ignored. `accumulate`: false
  // in all passes of a step's first micro-batch (gradients are overwritten), true in later
  // micro-batches. Evaluation runs without dropout.
  void run(const Pass& pass, const MicroBatch& micro, std::span<const std::byte> parameters,
           std::span<std::byte> gradient, bool accumulate);

  // The results of the last head pass.
  [[nodiscard]] double loss_sum() const { return loss_sum_; }
  [[nodiscard]] std::int64_t loss_tokens() const { return loss_tokens_; }

  // Whether all outputs of the last pass are finite: the residual stream (embed, block, recompute),
  // the loss and the stream's gradient (head), or the stream's gradient (backward). Reads all of
  // them.
  [[nodiscard]] bool output_finite() const;

  // Replaces a head pass in evaluation: computes the logits of one row (of batch * tokens), one
  // logit per token of the vocabulary.
  void logits(const MicroBatch& micro, std::span<const std::byte> head_parameters, std::int64_t row,
              std::span<float> logits);

  // Null: no observer. The observer must outlive its use.
  void observe(OpObserver* observer) { observer_ = observer; }

  // FLOPs of forward and backward without recomputation: 6 FLOPs per weight and token, and 6 layers
  // * channels * tokens^2 of attention per sequence. Causal attention counts half (Megatron-LM's
  // count).
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
