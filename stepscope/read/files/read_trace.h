// SPDX-License-Identifier: Apache-2.0
// The entry point of reading: the files of one run → one sealed trace for each rank, in rank order.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/base/crew.h"
#include "stepscope/base/result.h"
#include "stepscope/base/stop.h"
#include "stepscope/event/trace.h"
#include "stepscope/read/bytes/time_window.h"
#include "stepscope/read/files/one_job.h"

namespace stepscope {

enum class RankSource : std::uint8_t { metadata, file_name, only_file, order };

struct ReadOptions {
  Workers threads{};  // a crew shares the files of read_run()
  const StopFlag* stop = nullptr;
  // Reads only this part of Nsight Systems exports, in memory for this part: work and calls that
  // overlap it, work that these calls launched, and ranges inside it. Partial steps are dropped.
  // Other formats give an error.
  std::optional<TimeWindow> window{};
  const NameRules* rules = nullptr;  // that classify names; null: the program's own
  // Called now and then from one thread, with the compressed bytes done and the total. May be
  // empty.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress{};
};

// The result of reading one file.
struct InputReport {
  std::string path;
  std::string format{};       // empty if it could not be read
  std::optional<int> rank{};  // its first rank
  std::optional<Clock> clock{};
  std::uint64_t file_bytes = 0;
  std::uint64_t text_bytes = 0;
  ImportNotes notes{};
  std::string damage{};          // damage of a compressed file: what and where
  std::optional<Error> error{};  // why it gave no trace
  bool of_other_job = false;     // a trace, left out for that reason
};

struct RankTrace {
  int rank = 0;
  RankSource source = RankSource::metadata;
  Trace trace;  // sealed
};

struct Run {
  std::vector<RankTrace> ranks;     // in rank order, each rank once
  std::vector<InputReport> inputs;  // in the order of the files
  std::vector<Error> errors;        // inputs without files, and ranks that two files claim
  std::optional<int> world_size;
  std::vector<RecordedJob> jobs;  // of the inputs; several: the first one's ranks are here
};

// Reads every file. A file that fails, or is not of one job with the others (one_job.h), is
// reported and the others are still read. The rank of a file is the first that applies: the file's
// metadata; a number in the file name, else in the directory name, if it is below the world size or
// the names form 0…n−1; 0 for the only file; the order. Files of one rank with disjoint time spans
// are windows of it; otherwise an error names both and the first is kept. After a stop there are no
// ranks.
[[nodiscard]] Run read_run(std::span<const std::string> files, const ReadOptions& options = {});

// The traces of one file, sealed, with the rank that the file's metadata names, if it names one.
// Errors: the file cannot be read; interrupted.
[[nodiscard]] Result<std::vector<Trace>> read_file_sealed(const std::string& path,
                                                          const ReadOptions& options = {});

}  // namespace stepscope
