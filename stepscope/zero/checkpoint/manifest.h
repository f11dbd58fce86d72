// SPDX-License-Identifier: Apache-2.0
// manifest.json of a checkpoint: what the ranks' files hold, in text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/zero/checkpoint/checkpoint.h"
#include "stepscope/zero/checkpoint/rank_file.h"

namespace stepscope::zero {

struct Manifest {
  CheckpointInfo info{};
  std::vector<RankFileSummary> files{};  // by rank
};
[[nodiscard]] std::string manifest_text(const Manifest& manifest);
// Strict: an unknown, missing or impossible field is an error with line and column.
[[nodiscard]] Result<Manifest> parse_manifest(std::string_view text, std::string_view path);

}  // namespace stepscope::zero
