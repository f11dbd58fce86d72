// SPDX-License-Identifier: Apache-2.0
// The front door of reading: files of one run → one sealed trace for each rank, in rank order.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/base/stop.h"
#include "stepscope/event/trace.h"
#include "stepscope/read/bytes/time_window.h"

namespace stepscope {

enum class RankSource : std::uint8_t { metadata, file_name, only_file, order };

struct ReadOptions {
  unsigned threads = 1;
  const StopFlag* stop = nullptr;
  // Of exports of Nsight Systems, memory for what lies in it alone: work and calls that overlap it,
  // work that these calls launched, ranges that lie within (a step that is cut is none). Other
  // formats are refused.
  std::optional<TimeWindow> window{};
  // Called now and then from one thread, with compressed bytes done and in all. May be empty.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
};

// What became of one file.
struct InputReport {
  std::string path;
  std::string format{};       // empty when it could not be read
  std::optional<int> rank{};  // of its first rank
  std::optional<Clock> clock{};
  std::uint64_t file_bytes = 0;
  std::uint64_t text_bytes = 0;
  ImportNotes notes{};
  std::string damage{};          // of a compressed file: what and where
  std::optional<Error> error{};  // why it gave nothing
};

struct RankTrace {
  int rank = 0;
  RankSource source = RankSource::metadata;
  Trace trace;  // sealed
};

struct Run {
  std::vector<RankTrace> ranks;     // by rank, each once
  std::vector<InputReport> inputs;  // in the order of the files
  std::vector<Error> errors;        // inputs that gave no file, and ranks that are claimed twice
  std::optional<int> world_size;
};

// Reads every file; one that fails is reported and the others go on. Ranks by DESIGN: from the
// file's metadata; else a number in the file name, or else in the directory's, if it is below the
// world size or the names form 0…n−1; else the only file is rank 0; else by order. Files of one
// rank with disjoint time spans are windows of it; otherwise both are named in an error and the
// first is kept. After a stop there are no ranks.
[[nodiscard]] Run read_run(std::span<const std::string> files, const ReadOptions& options = {});

}  // namespace stepscope
