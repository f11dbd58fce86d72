// SPDX-License-Identifier: Apache-2.0
// Which dimension of parallelism a process group serves: from the user's list, from its name
// ("mesh_tp", "TENSOR_MODEL_PARALLEL_GROUP"), from what it does (nothing but sends and receives is
// a pipeline's, DeepEP kernels are an expert exchange's), else `world` when it spans the job, or
// `dp` when it is the only group of a job that shows DDP, FSDP or ZeRO. Otherwise unknown.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/analysis/matching/collective_match.h"
#include "stepscope/base/result.h"

namespace stepscope {

enum class Dimension : std::uint8_t { dp, tp, sp, pp, cp, ep, world, unknown };
inline constexpr std::size_t dimension_count = 8;
inline constexpr std::array<std::string_view, dimension_count> dimension_names = {
    "dp", "tp", "sp", "pp", "cp", "ep", "world", "unknown"};
static_assert(dimension_names[static_cast<std::size_t>(Dimension::unknown)] == "unknown");

// By group name, description or ranks ("0,1,2,3").
using GroupDimensions = std::map<std::string, Dimension, std::less<>>;

// Lines "group dimension"; '#' begins a comment; ranks may be written "[0, 1]". The error names the
// line.
[[nodiscard]] Result<GroupDimensions> parse_group_dimensions(std::string_view text);

// Of a group's name or description; absent when it names none or a product of several (data with
// context or expert parallelism is dp: those ranks average gradients).
[[nodiscard]] std::optional<Dimension> dimension_of_name(std::string_view name);

// Of each group of `matches`.
[[nodiscard]] std::vector<Dimension> find_dimensions(std::span<const RankView> views,
                                                     const CollectiveMatches& matches,
                                                     const GroupDimensions& user = {});

// What a group is called in tables: its description where that says something, else its name.
[[nodiscard]] std::string group_label(const CommGroup& group);

}  // namespace stepscope
