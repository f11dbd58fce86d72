// SPDX-License-Identifier: Apache-2.0
// The rules that check_plan applies in turn, and what they share. Each assumes that the previous
// ones passed, so that numbers are in range and products cannot overflow.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

#include "stepscope/base/result.h"
#include "stepscope/cost/plan/training_plan.h"

namespace stepscope::plan_rules {

using Int = std::int64_t;
using Problem = std::optional<Error>;
using Rule = Problem(const Transformer&, const Plan&);

inline constexpr Int most_devices = 10'000'000;

[[nodiscard]] Error problem(std::string what, std::string hint);
[[nodiscard]] std::string decimal(Int n);
[[nodiscard]] std::string joined(std::span<const Int> list);
// "1, 2, 4 or 8": the values up to `limit` that `fits` accepts, and those that divide n.
[[nodiscard]] std::string choices(Int limit, const std::function<bool(Int)>& fits);
[[nodiscard]] std::string divisors(Int n);
// "--tp * --cp".
[[nodiscard]] std::string product_of(const Plan& p, std::initializer_list<const Int*> members);

// plan_rules_layer.cc
[[nodiscard]] Rule grid, context, tensor, sequence_division, exchange, states;
// plan_rules_stages.cc
[[nodiscard]] Rule experts, stages, batch, schedule, sharding, secondary_sharding;
// plan_rules_model.cc
[[nodiscard]] Rule tokens, recomputation, narrow_copies, images;
// plan_rules_trained.cc
[[nodiscard]] Rule training;

}  // namespace stepscope::plan_rules
