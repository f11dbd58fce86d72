// SPDX-License-Identifier: Apache-2.0
// The stage matrix: trainings whose results may differ from each other, and for each its variants
// whose results must be equal in every bit: stage, message size, prefetching, recomputation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/zero/engine/engine_test_run.h"

namespace stepscope::matrix {

struct Training {
  nn::NetworkFamily family = nn::NetworkFamily::gpt2;  // llama: untied, grouped queries
  ElementType type = ElementType::f32;
  int micro_batches = 1;
  zero::Accumulation accumulation = zero::Accumulation::reduce_each_microstep;
  bool clips = false;
  bool drops = false;
};

struct Variant {
  int stage = 0;
  bool whole = true;  // one message a unit and at a time; else four, of 37 elements per rank
  int depth = 1;
  nn::Recompute recompute = nn::Recompute::none;
};

// `core` fits into every run of the tests; both cover every value of each member.
enum class Extent : std::uint8_t { core, full };
[[nodiscard]] std::vector<Training> trainings(Extent extent);
[[nodiscard]] std::vector<Variant> variants(Extent extent);

// Two steps. The ranks have different numbers of tokens.
[[nodiscard]] zero::TestRun run_of(const Training& training, const Variant& variant, int ranks);
// The reference of all variants: stage 0, one message a unit, no recomputation, on threads.
[[nodiscard]] zero::TestOutcome reference(const Training& training, int ranks);

// "gpt2  f32   accumulates, then reduces".
[[nodiscard]] std::string text_of(const Training& training);
[[nodiscard]] std::string text_of(const Variant& variant);

// The number of different values among weights, moments and each step's results on every rank.
[[nodiscard]] std::int64_t differences(const zero::TestOutcome& outcome,
                                       const zero::TestOutcome& reference);

}  // namespace stepscope::matrix
