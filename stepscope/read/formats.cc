// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/formats.h"

#include <array>

namespace stepscope {
namespace {

constexpr std::array<std::string_view, 3> json_endings = {".json", ".json.gz", ".json.zst"};

// Kineto is the only JSON format so far: what is no JSON gets its reader's message, which names the
// byte.
constexpr std::array<Format, 1> all = {{
    {"kineto", [](std::string_view) { return true; }, read_kineto, json_endings},
}};

}  // namespace

std::span<const Format> formats() { return all; }

}  // namespace stepscope
