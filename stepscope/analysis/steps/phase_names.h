// SPDX-License-Identifier: Apache-2.0
// The part of training of a host row, from its name alone. Decided once per distinct name. Knows
// the names of PyTorch's operators, annotations and Python frames, DDP, FSDP, DeepSpeed and
// Megatron.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "stepscope/base/enum_names.h"
#include "stepscope/base/string_pool.h"

namespace stepscope {

enum class Phase : std::uint8_t { forward, backward, recompute, optimizer, data, other };
inline constexpr auto phase_names = enum_names<Phase::other>;
inline constexpr std::size_t phase_count = phase_names.size();

// nullopt if the name does not show it ("aten::mm", "ProfilerStep#3"); never Phase::other.
[[nodiscard]] std::optional<Phase> phase_of_name(std::string_view name);

// The phase whose whole the name promises: "forward", "## backward ##", "optimizer_step 3". Other
// words than pass, step and phase name a part ("block.forward", "Optimizer.step#AdamW.step"). Only
// forward, backward and optimizer.
[[nodiscard]] std::optional<Phase> whole_phase_of_name(std::string_view name);

// Indexed by StringId.
[[nodiscard]] std::vector<std::optional<Phase>> phases_of_names(const StringPool& strings);

}  // namespace stepscope
