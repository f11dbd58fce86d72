// SPDX-License-Identifier: Apache-2.0
// Initial values of parameters. Each value depends only on (seed, unit, element), so a rank draws
// its shard independently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/nn/network/units.h"

namespace stepscope::nn {

// Writes the elements [first, first + values.size()) of a unit, the `unit_index`-th of
// network_units. The Box-Muller transform makes normal values from Philox bits.
void initialize(const Unit& unit, std::size_t unit_index, std::uint64_t seed, std::int64_t first,
                std::span<float> values);

}  // namespace stepscope::nn
