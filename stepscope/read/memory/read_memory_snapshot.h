// SPDX-License-Identifier: Apache-2.0
// Reads memory snapshots of PyTorch 1.13 to 2.x: the pickle of torch.cuda.memory._dump_snapshot
// (also for XPU and other devices with the same format), the same as JSON, and the HTML pages of
// torch.cuda._memory_viz, which contain such a pickle. Nothing in them is ever executed
// (read/bytes/pickle.h).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/base/stop.h"
#include "stepscope/event/memory_snapshot.h"
#include "stepscope/read/bytes/file_head.h"
#include "stepscope/read/bytes/plain_value.h"

namespace stepscope {

// Whether this is such a snapshot and not another file of plain data.
[[nodiscard]] bool is_memory_snapshot(const PlainValue& value);

// Whether a file with these first bytes may be one, in any form.
[[nodiscard]] bool begins_memory_snapshot(const FileHead& head, const std::string& path);

// The error about plain data that is no such snapshot.
[[nodiscard]] Error no_snapshot(std::string_view path);

// Unusable entries are counted in notes. Error: not a snapshot.
[[nodiscard]] Result<MemorySnapshot> memory_snapshot_of(const PlainTree& tree,
                                                        std::string_view path);

// Reads one file's inflated text in any form; a page may hold several. Errors name `path`.
[[nodiscard]] Result<std::vector<MemorySnapshot>> parse_memory_snapshots(std::string text,
                                                                         const std::string& path);

// The error of inputs without any snapshot.
inline constexpr std::string_view no_snapshot_here = "no memory snapshot here";

struct SnapshotFiles {
  std::vector<MemorySnapshot> snapshots{};
  std::vector<Error> errors{};  // one for each file that gave nothing
};

// Reads files, compressed or not; directories stand for the snapshots in them.
[[nodiscard]] SnapshotFiles read_memory_snapshots(std::span<const std::string> inputs,
                                                  const StopFlag* stop = nullptr);

}  // namespace stepscope
