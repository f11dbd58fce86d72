// SPDX-License-Identifier: Apache-2.0
// What holds a GPU's memory: the account of each of PyTorch's memory snapshots, the messages of
// allocators that found no room, in any log, and printed tables of the allocator's totals.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stepscope/analysis/memory/memory_account.h"
#include "stepscope/base/progress.h"
#include "stepscope/base/result.h"
#include "stepscope/event/memory_snapshot.h"
#include "stepscope/event/oom_message.h"
#include "stepscope/read/memory/memory_summary.h"
#include "stepscope/read/memory/printed_memory.h"
#include "stepscope/say/message.h"

namespace stepscope {

struct MemoryRequest {
  // Pickles of torch.cuda.memory._dump_snapshot, the same as JSON, or pages of
  // torch.cuda._memory_viz, or logs with out-of-memory messages or tables of the allocator's totals
  // (printed_memory.h, memory_summary.h), compressed or not. A directory stands for the files in
  // it.
  std::vector<std::string> snapshots{};
};

struct AccountedSnapshot {
  MemorySnapshot snapshot{};
  MemoryAccount account{};
  std::optional<int> rank{};  // by the files' names; absent where there is one snapshot
};

// The totals that one file prints.
struct PrintedMemory {
  std::string path{};
  std::vector<MemoryCheckpoint> checkpoints{};
  std::vector<MemorySummary> summaries{};  // one of either at least
};

struct MemoryResult {
  std::vector<AccountedSnapshot> snapshots{};  // one, or one message or table, at least
  std::vector<OomMessage> ooms{};              // in the order of files; `input` is in `logs`
  std::vector<std::string> logs{};             // paths of the files with messages
  std::vector<PrintedMemory> printed{};        // in the order of files
  std::map<std::string, std::string, std::less<>> settings{};  // of the job, that logs print
  std::optional<int> world{};                                  // ranks of the job, that logs print
  Messages warnings{};            // what they cannot show or is not understood in them
  std::vector<Error> failures{};  // one an input that gave nothing
};

// Errors: no input gave a snapshot, a message or a table (the first of the failures, which are
// reported); interrupted.
[[nodiscard]] Result<MemoryResult> memory(const MemoryRequest& request,
                                          const Progress& progress = {});

}  // namespace stepscope
