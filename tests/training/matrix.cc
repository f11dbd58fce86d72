// SPDX-License-Identifier: Apache-2.0
#include "tests/training/matrix.h"

#include <bit>
#include <cstddef>

namespace stepscope::matrix {

using zero::Accumulation;

std::vector<Training> trainings(Extent extent) {
  constexpr auto gpt2 = nn::NetworkFamily::gpt2;
  constexpr auto llama = nn::NetworkFamily::llama;
  constexpr auto each = Accumulation::reduce_each_microstep;
  constexpr auto then = Accumulation::accumulate_then_reduce;
  if (extent == Extent::core) {
    return {{gpt2, ElementType::f32, 1, each, true, false},
            {gpt2, ElementType::bf16, 2, then, false, true},
            {llama, ElementType::f32, 2, then, true, true},
            {llama, ElementType::bf16, 2, each, true, false}};
  }
  std::vector<Training> all;
  for (const auto family : {gpt2, llama}) {
    for (const auto type : {ElementType::f32, ElementType::bf16}) {
      for (const int micro_batches : {1, 2, 2}) {
        const bool first = micro_batches == 1 || all.back().micro_batches == 1;
        for (const bool clips : {false, true}) {
          for (const bool drops : {false, true}) {
            all.push_back({family, type, micro_batches, first ? each : then, clips, drops});
          }
        }
      }
    }
  }
  return all;
}

std::vector<Variant> variants(Extent extent) {
  const bool core = extent == Extent::core;
  using enum nn::Recompute;
  const std::vector<nn::Recompute> recomputes =
      core ? std::vector{none, full} : std::vector{none, selective, full, every_k};
  const std::vector<int> depths = core ? std::vector{0, 2} : std::vector{0, 1, 100};
  std::vector<Variant> all;
  for (int stage = 0; stage <= 3; ++stage) {
    for (const bool whole : {false, true}) {
      for (const int depth : depths) {
        if (stage < 3 && depth != depths.front()) continue;  // only stage 3 fetches
        for (const auto recompute : recomputes) all.push_back({stage, whole, depth, recompute});
      }
    }
  }
  return all;
}

zero::TestRun run_of(const Training& training, const Variant& variant, int ranks) {
  zero::TestRun run{.ranks = ranks, .steps = 2, .uneven = true};
  zero::EngineConfig& config = run.engine;
  if (training.family == nn::NetworkFamily::llama) {
    config.network = {.family = nn::NetworkFamily::llama,
                      .layers = 2,
                      .heads = 4,
                      .kv_heads = 2,
                      .channels = 16,
                      .hidden = 24,
                      .vocab = 31,
                      .padded_vocab = 32,
                      .context = 8,
                      .tied = false};
  }
  config.network.dropout = training.drops ? 0.2F : 0.0F;
  config.type = training.type;
  config.micro_batches = training.micro_batches;
  config.accumulation = training.accumulation;
  config.optimizer.clip_norm = training.clips ? 0.25 : 0.0;
  config.stage = variant.stage;
  const auto size = static_cast<std::int64_t>(element_bytes(config.type));
  config.bucket_bytes = {variant.whole ? std::int64_t{1} << 20U : 37 * size * ranks};
  if (variant.whole) config.buckets = 1;
  config.prefetch_distance = variant.depth;
  config.recompute = {.kind = variant.recompute, .every = 2};
  return run;
}

zero::TestOutcome reference(const Training& training, int ranks) {
  return zero::train_threads(run_of(training, {}, ranks));
}

std::string text_of(const Training& training) {
  const bool each = training.accumulation == Accumulation::reduce_each_microstep;
  std::string out = training.family == nn::NetworkFamily::gpt2 ? "gpt2 " : "llama";
  out += training.type == ElementType::f32 ? "  f32 " : "  bf16";
  out += training.micro_batches == 1 ? "  one micro-batch       "
         : each                      ? "  reduces each          "
                                     : "  accumulates, reduces  ";
  return out;
}

std::string text_of(const Variant& variant) {
  return "stage " + std::to_string(variant.stage) +
         (variant.whole ? ", whole units" : ", 37 elements a message") + ", depth " +
         std::to_string(variant.depth) + ", recompute " +
         std::to_string(static_cast<int>(variant.recompute));
}

std::int64_t differences(const zero::TestOutcome& outcome, const zero::TestOutcome& reference) {
  std::int64_t count = zero::differences(outcome.state, reference.state);
  const auto differ = [](double a, double b) {
    return std::bit_cast<std::uint64_t>(a) != std::bit_cast<std::uint64_t>(b) ? 1 : 0;
  };
  for (const auto& steps : outcome.steps) {
    const auto& expected = reference.steps[0];
    if (steps.size() != expected.size()) return count + 1;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      count += differ(steps[i].loss, expected[i].loss);
      count += differ(steps[i].gradient_norm, expected[i].gradient_norm);
      count += steps[i].tokens != expected[i].tokens ? 1 : 0;
      count += steps[i].clipped != expected[i].clipped ? 1 : 0;
    }
  }
  return count;
}

}  // namespace stepscope::matrix
