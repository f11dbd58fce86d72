// SPDX-License-Identifier: Apache-2.0
// Collapsed ("folded") stacks: `root;...;leaf count`, one line a stack, as FlameGraph, py-spy raw,
// async-profiler, bpftrace and Austin write them. Lines that begin with # are comments; a count may
// have a fraction.
#pragma once

#include <string_view>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/result.h"
#include "stepscope/stack/profile_builder.h"

namespace stepscope {

// A line of it, for whoever guesses the format; false where it is none.
[[nodiscard]] bool split_collapsed(std::string_view line, std::string_view& stack, double& count);

[[nodiscard]] Result<Done> read_collapsed(ByteSource& source, ProfileBuilder& into);

}  // namespace stepscope
