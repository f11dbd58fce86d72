// SPDX-License-Identifier: Apache-2.0
// Finds the first source of values that are not finite: the parameters, a pass, or the sums of
// finite gradients. To find the pass, the step's passes run again and each output is checked.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "engine/zero/engine/engine.h"
#include "engine/zero/engine/exact_norm.h"

namespace stepscope::zero {
namespace {

std::string_view direction_of(nn::PassKind kind) {
  switch (kind) {
    case nn::PassKind::embed:
    case nn::PassKind::block:
      return "forward";
    case nn::PassKind::head:
      return "loss";
    case nn::PassKind::block_recompute:
      return "recomputation";
    case nn::PassKind::block_backward:
    case nn::PassKind::embed_backward:
      break;
  }
  return "backward";
}

}  // namespace

// The first unit with a parameter that is not finite, or -1.
Result<std::int64_t> Engine::first_bad_parameters() {
  std::ranges::fill(flags_, 0);
  for (std::size_t u = 0; u < plan_.units.size(); ++u) {
    auto seen = visit_master(u, [&](std::span<const float> part) {
      if (largest_exponent(part) == not_finite) flags_[u] = 1;
      return Done{};
    });
    if (!seen) return seen.error();
  }
  auto done = exchange_.all_reduce_now(flags_, Reduction::max, "parameters that are not finite");
  if (!done) return done.error();
  const auto first = std::ranges::find(flags_, 1);
  return first == flags_.end() ? -1 : std::distance(flags_.begin(), first);
}

Result<Done> Engine::name_non_finite(std::span<const nn::MicroBatch> micro_batches) {
  non_finite_ = {.step = cursor_.step, .where = {}};
  const std::vector<std::int64_t> exponents(flags_.begin() + 1, flags_.end() - 1);
  auto parameters = first_bad_parameters();
  if (!parameters) return parameters.error();
  if (*parameters >= 0) {
    non_finite_.where = "parameters of " + plan_.units[static_cast<std::size_t>(*parameters)].name;
    return Done{};
  }

  searching_ = true;
  first_bad_ = -1;
  auto done = exchange_.expect_fetches(plan_.step_fetches);
  if (done) done = run_actions(plan_.step, plan_.passes, micro_batches, false);
  searching_ = false;
  if (!done) return done;
  constexpr auto never = std::numeric_limits<std::int64_t>::max();
  const std::int64_t ranks = comm_.size();
  std::array<std::int64_t, 1> first = {first_bad_ < 0 ? never : first_bad_ * ranks + comm_.rank()};
  done = exchange_.all_reduce_now(first, Reduction::min, "first pass that is not finite");
  if (!done) return done;
  if (first[0] != never) {
    const std::int64_t rank = first[0] % ranks;
    const std::int64_t at = first[0] / ranks;
    const auto passes = static_cast<std::int64_t>(plan_.passes.size());
    const nn::Pass& pass = plan_.passes[static_cast<std::size_t>(at % passes)];
    non_finite_.where = plan_.units[pass.unit].name;
    non_finite_.where.append(", ").append(direction_of(pass.kind));
    non_finite_.where.append(", micro-batch ").append(std::to_string(at / passes));
    non_finite_.where.append(" of rank ").append(std::to_string(rank));
    return Done{};
  }
  // Each rank's residual stream is finite, but a weight's gradient or the sum over ranks is not.
  for (const nn::Pass& pass : plan_.passes) {
    if (pass.writes_gradient && exponents[pass.unit] == not_finite) {
      non_finite_.where = "gradients of " + plan_.units[pass.unit].name;
      return Done{};
    }
  }
  non_finite_.where = "the sum of losses";
  return Done{};
}

}  // namespace stepscope::zero
