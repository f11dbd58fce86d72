// SPDX-License-Identifier: Apache-2.0
// Serialises a RankWindow, to send it to the rank that gathers. Little-endian, one version; both
// ends run the same build.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "engine/telemetry/rank_window.h"
#include "stepscope/base/result.h"

namespace stepscope {

// Replaces the contents of `out`.
void encode(const RankWindow& window, std::vector<std::byte>& out);
// Bytes behind the window are ignored, so that a collective may pad. Errors: data that encode()
// does not write (truncated, of another version, or damaged).
[[nodiscard]] Result<RankWindow> decode_window(std::span<const std::byte> bytes);

}  // namespace stepscope
