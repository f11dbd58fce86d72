// SPDX-License-Identifier: Apache-2.0
// Memory snapshots of PyTorch 1.13 to 2.x: the pickle that torch.cuda.memory._dump_snapshot writes
// (of XPU and other devices that follow it too), the same as JSON, and the pages that
// torch.cuda._memory_viz writes, which hold such a pickle. Nothing in them is ever run
// (read/bytes/pickle.h).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/base/stop.h"
#include "stepscope/event/memory_snapshot.h"
#include "stepscope/read/bytes/plain_value.h"

namespace stepscope {

// Whether this is such a snapshot, and not another file of plain data.
[[nodiscard]] bool is_memory_snapshot(const PlainValue& value);

// What cannot be used is counted in notes. Errors: no snapshot.
[[nodiscard]] Result<MemorySnapshot> memory_snapshot_of(const PlainTree& tree,
                                                        std::string_view path);

// Of one file's inflated text, whatever its form; a page may hold several. Errors name `path`.
[[nodiscard]] Result<std::vector<MemorySnapshot>> parse_memory_snapshots(std::string text,
                                                                         const std::string& path);

struct SnapshotFiles {
  std::vector<MemorySnapshot> snapshots{};
  std::vector<Error> errors{};  // one a file that gave nothing
};

// Files, compressed or not; directories stand for the snapshots in them.
[[nodiscard]] SnapshotFiles read_memory_snapshots(std::span<const std::string> inputs,
                                                  const StopFlag* stop = nullptr);

}  // namespace stepscope
