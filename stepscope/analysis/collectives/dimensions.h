// SPDX-License-Identifier: Apache-2.0
// Finds the dimension of parallelism of a process group. Sources in order: the user's list; the
// group's name ("mesh_tp", "TENSOR_MODEL_PARALLEL_GROUP"); the user's sizes, if its ranks are those
// of a group that they make; its calls (messages that members answer: a pipeline; DeepEP kernels:
// an expert exchange). Otherwise a group that spans the job is `world`,
// or `dp` if it is the only group of a job with signs of DDP, FSDP or ZeRO. All others are unknown.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/analysis/matching/collective_match.h"
#include "stepscope/base/enum_names.h"
#include "stepscope/base/result.h"

namespace stepscope {

enum class Dimension : std::uint8_t { dp, tp, sp, pp, cp, ep, world, unknown };
inline constexpr auto dimension_names = enum_names<Dimension::unknown>;
inline constexpr std::size_t dimension_count = dimension_names.size();

// Key: group name, description or ranks ("0,1,2,3").
using GroupDimensions = std::map<std::string, Dimension, std::less<>>;

// Parses lines "group dimension"; '#' begins a comment; ranks may be written "[0, 1]". The error
// names the line.
[[nodiscard]] Result<GroupDimensions> parse_group_dimensions(std::string_view text);

// The dimension in a group's name or description. Absent if the name has no dimension or a product
// of several. Data with context or expert parallelism is dp: those ranks average gradients.
[[nodiscard]] std::optional<Dimension> dimension_of_name(std::string_view name);

// One dimension per group of `matches`. `sized`: the groups that the user's sizes make; their
// descriptions are names of dimensions.
[[nodiscard]] std::vector<Dimension> find_dimensions(std::span<const RankView> views,
                                                     const CollectiveMatches& matches,
                                                     const GroupDimensions& user = {},
                                                     std::span<const CommGroup> sized = {});

// The groups that the user lists by their ranks, described by the names of their dimensions.
[[nodiscard]] std::vector<CommGroup> listed_groups(const GroupDimensions& user);

// Label of a group in tables: its description if that is informative, else its name.
[[nodiscard]] std::string group_label(const CommGroup& group);

}  // namespace stepscope
