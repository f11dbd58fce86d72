// SPDX-License-Identifier: Apache-2.0
// Which files are ranks of one job? Traces of other programs, other captures of one process and
// captures at another time have nothing in common that an analysis over ranks could use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepscope/event/trace.h"

namespace stepscope {

// The unsealed traces of one file; empty: the file could not be read.
using FileTraces = std::vector<Trace>;

// What the files of one job hold.
struct RecordedJob {
  std::vector<std::size_t> files;  // places among the given ones
  std::optional<int> world{};      // ranks of the job, by the metadata
  std::uint64_t steps = 0;         // that most of a file's rows mark (ProfilerStep); 0: none
  std::optional<Ns> begin{};       // of the first row, on the epoch's clock
};

struct JobsOfFiles {
  // Per file, why it is left out; absent: it belongs to the job, or it could not be read.
  std::vector<std::optional<std::string>> left_out;
  std::vector<RecordedJob> jobs;  // the one that is kept first, the others by their first file
};

// The job is the largest group of files in which no two files are apart and each is tied to another
// one; the first of equal groups.
//
// Two files are apart if their world sizes differ, if their names or metadata claim one rank and
// they are not windows of one process, if their clocks count from the epoch and the captures lie
// apart (by 10 s; by 10 minutes if both communicate and may be of two hosts, whose clocks differ),
// or if their devices differ and no metadata says that they are ranks of one world. Two files are
// tied if the metadata of both name ranks, if the names of both do, or if both communicate and
// their clocks count from the epoch.
[[nodiscard]] JobsOfFiles jobs_of(const std::vector<FileTraces>& files,
                                  const std::vector<std::string>& paths);

}  // namespace stepscope
