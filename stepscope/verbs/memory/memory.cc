// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/memory/memory.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "stepscope/base/files/open_source.h"
#include "stepscope/base/line_blocks.h"
#include "stepscope/diagnose/memory_findings.h"
#include "stepscope/read/bytes/file_head.h"
#include "stepscope/read/bytes/whole_file.h"
#include "stepscope/read/incident/incident_log.h"
#include "stepscope/read/memory/read_memory_snapshot.h"
#include "stepscope/read/rows/rank_names.h"
#include "stepscope/verbs/inputs/other_verbs.h"

namespace stepscope {

namespace {

// What a log says: of the memory of a device, or only how processes ended.
enum class LogSays : std::uint8_t { nothing, ends, memory };

// Adds the messages of a log and the tables of totals that it prints.
LogSays add_log(const std::string& path, const StopFlag* stop, MemoryResult& result) {
  Incident found;
  IncidentLog log(found);
  log.begin(static_cast<std::uint32_t>(result.logs.size()), path);
  PrintedMemoryLines printed;
  if (const auto head = head_of_file(path); head && begins_json_checkpoints(head->text)) {
    const auto text = read_text_file(path, stop);
    if (!text) return LogSays::nothing;
    result.printed.push_back({.path = path, .checkpoints = printed_checkpoints(*text)});
    return LogSays::memory;
  }
  MemorySummaryLines summaries;
  const auto source = open_source(path);
  if (!source) return LogSays::nothing;
  const auto read = for_line_blocks(
      **source, "\n",
      [&](std::string_view block) -> Result<Done> {
        log.take(block);
        printed.take(block);
        summaries.take(block);
        return Done{};
      },
      stop);
  if (!read) return LogSays::nothing;
  const bool tables = !printed.checkpoints.empty() || !summaries.summaries.empty();
  if (found.ooms.empty() && !tables) return found.events.empty() ? LogSays::nothing : LogSays::ends;
  if (tables)
    result.printed.push_back({.path = path,
                              .checkpoints = std::move(printed.checkpoints),
                              .summaries = std::move(summaries.summaries)});
  if (found.ooms.empty()) return LogSays::memory;
  result.logs.push_back(path);
  for (OomMessage& message : found.ooms) result.ooms.push_back(std::move(message));
  result.settings.merge(found.settings);
  if (found.world_sizes.size() == 1) result.world = found.world_sizes.begin()->first;
  return LogSays::memory;
}

// What is no snapshot may be a log: its error goes if it is.
void add_logs(const MemoryRequest& request, const StopFlag* stop, MemoryResult& result) {
  std::vector<Error> ignored;
  each_file(request.snapshots, {}, ignored, [&](const std::string& path, bool inside) {
    const auto same = std::ranges::find(result.failures, path, &Error::file);
    const bool refused = same != result.failures.end();
    if ((!refused && !inside) || (stop != nullptr && stop->requested())) return;
    const LogSays says = add_log(path, stop, result);
    if (refused && says == LogSays::memory) result.failures.erase(same);
    if (refused && says == LogSays::ends)
      *same = {.what = "is no memory snapshot, and has no out-of-memory message of a device",
               .file = path,
               .hint = "stepscope hang " + path + " reads how its processes ended"};
  });
  if (result.ooms.empty() && result.printed.empty()) return;
  // A directory without snapshots is no failure if its logs have messages or tables.
  std::erase_if(result.failures, [](const Error& e) { return e.what == no_snapshot_here; });
}

}  // namespace

Result<MemoryResult> memory(const MemoryRequest& request, const Progress& progress) {
  SnapshotFiles files = read_memory_snapshots(request.snapshots, progress.stop);
  if (progress.stopped()) return interrupted();
  MemoryResult result{.failures = std::move(files.errors)};
  add_logs(request, progress.stop, result);
  if (progress.stopped()) return interrupted();
  for (Error& error : result.failures) error = with_analyze(std::move(error), "memory");
  progress.report(result.failures);
  if (files.snapshots.empty() && result.ooms.empty() && result.printed.empty())
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
