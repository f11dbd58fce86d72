// SPDX-License-Identifier: Apache-2.0
// Collapsed ("folded") stacks: `root;...;leaf count`, one stack a line, as FlameGraph, py-spy raw,
// async-profiler, bpftrace and Austin write them. Lines that begin with # are comments. Counts may
// have a fraction.
#pragma once

#include <string_view>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/result.h"
#include "stepscope/stack/profile_builder.h"

namespace stepscope {

// Splits one line, also for detecting the format. False if it is not such a line.
[[nodiscard]] bool split_collapsed(std::string_view line, std::string_view& stack, double& count);

[[nodiscard]] Result<Done> read_collapsed(ByteSource& source, ProfileBuilder& into);

}  // namespace stepscope
