// SPDX-License-Identifier: Apache-2.0
// How much the best plan depends on what its machine can do.
#pragma once

#include <optional>
#include <vector>

#include "stepscope/cost/search/search.h"
#include "stepscope/cost/search/search_found.h"

namespace stepscope {

inline constexpr std::array<double, 4> sensitivity_factors = {0.8, 0.9, 1.1, 1.2};
inline constexpr double most_memory = sensitivity_factors.back();

struct SensitivityInput {
  const Transformer& model;
  const Machine& machine;
  const Network& network;
  double capacity = 0;  // bytes
};

// The plan result.best[0] evaluated again with each rate scaled. For memory the fastest plan of
// `front`, which holds plans up to most_memory times the capacity.
[[nodiscard]] std::optional<Error> add_sensitivity(const SensitivityInput& input,
                                                   const std::vector<Candidate>& front,
                                                   SearchResult& result);

}  // namespace stepscope
