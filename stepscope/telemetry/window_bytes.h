// SPDX-License-Identifier: Apache-2.0
// A RankWindow as bytes, to send it to the rank that gathers. Little-endian, one version; both ends
// run the same build.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/telemetry/rank_window.h"

namespace stepscope {

// Replaces what `out` holds; uses its memory.
void encode(const RankWindow& window, std::vector<std::byte>& out);
// Bytes after the window are ignored, so that a collective may pad. Fails on what encode() does not
// write: cut short, of another version, or damaged.
[[nodiscard]] Result<RankWindow> decode_window(std::span<const std::byte> bytes);

}  // namespace stepscope
