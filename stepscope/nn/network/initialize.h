// SPDX-License-Identifier: Apache-2.0
// Initial values of parameters, each a function of (seed, unit, element) alone: a rank draws its
// shard without any other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "stepscope/nn/network/units.h"

namespace stepscope::nn {

// Writes the elements [first, first + values.size()) of a unit, the `unit_index`-th of
// network_units. Normal values come from Philox bits by Box and Muller's transform.
void initialize(const Unit& unit, std::size_t unit_index, std::uint64_t seed, std::int64_t first,
                std::span<float> values);

}  // namespace stepscope::nn
