// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/memory/memory.h"

#include <utility>

#include "stepscope/diagnose/memory_findings.h"
#include "stepscope/read/memory/read_memory_snapshot.h"
#include "stepscope/read/rows/rank_names.h"
#include "stepscope/verbs/inputs/other_verbs.h"

namespace stepscope {

Result<MemoryResult> memory(const MemoryRequest& request, const Progress& progress) {
  SnapshotFiles files = read_memory_snapshots(request.snapshots, progress.stop);
  if (progress.stopped()) return interrupted();
  for (Error& error : files.errors) error = with_analyze(std::move(error));
  MemoryResult result{.failures = std::move(files.errors)};
  progress.report(result.failures);
  if (files.snapshots.empty())
    return result.failures.empty()
               ? Error{.what = "no memory snapshot is named", .hint = "name one"}
               : result.failures.front();
  std::vector<std::string> paths;
  for (const MemorySnapshot& s : files.snapshots) paths.push_back(s.path);
  const auto ranks = ranks_from_names(paths, std::nullopt);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    MemoryAccount account = memory_account(files.snapshots[i]);
    if (progress.stopped()) return interrupted();
    append(result.warnings, memory_warnings(files.snapshots[i], account));
    result.snapshots.push_back({.snapshot = std::move(files.snapshots[i]),
                                .account = std::move(account),
                                .rank = paths.size() > 1 ? ranks[i] : std::nullopt});
  }
  return result;
}

}  // namespace stepscope
