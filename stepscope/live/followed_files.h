// SPDX-License-Identifier: Apache-2.0
// The files of a running job: named ones, and those that appear in named directories (and their
// subdirectories, to a depth of 3). Files that grow are followed line by line (file_tail.h); files
// that are replaced as a whole (names that end in ".prom" or ".ras.json") are read again when they
// change. Other files are recognised by their first lines. A path HOST:PORT that does not exist is
// the RAS service of an NCCL job. Compressed files are left out: nobody appends to them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/base/stop.h"
#include "stepscope/live/engine_metrics.h"
#include "stepscope/live/file_tail.h"
#include "stepscope/live/line_source.h"
#include "stepscope/live/ras_client.h"
#include "stepscope/read/log/line_pattern.h"

namespace stepscope {

struct FollowLimits {
  std::uint64_t most_old = std::uint64_t{8} << 20;  // bytes of each file that existed before
  std::size_t most_files = 65'536;
  std::optional<LinePattern> pattern{};  // of the lines of a log that report on a step
};

struct FollowTotals {
  std::size_t files = 0;
  std::size_t missing = 0;
  std::size_t left_out = 0;  // beyond most_files
  std::uint64_t bytes = 0;
  std::uint64_t skipped_bytes = 0;
  std::uint64_t lines = 0;
  std::uint64_t not_understood = 0;
  std::uint64_t orphans = 0;
  std::uint64_t lost_lines = 0;
  std::uint64_t long_lines = 0;
  std::uint64_t rotations = 0;
  std::uint64_t truncations = 0;
  std::map<std::string, std::size_t> kinds{};  // files by what writes them
};

class FollowedFiles {
 public:
  FollowedFiles(std::vector<std::string> paths, const FollowLimits& limits);

  // Looks for new files in the directories. Errors: a named path does not exist (at the first
  // call; later it may come back).
  [[nodiscard]] Result<Done> look();
  // Reads what was appended since the last poll. True if a file has more. Errors of single files
  // are given once for each file and kind of error, and the others go on.
  [[nodiscard]] bool poll(JobState& state, double now, std::vector<Error>& errors,
                          const StopFlag* stop = nullptr);
  // Nothing more will be read: metrics that were read once show the mean step since the job's
  // start.
  void conclude(JobState& state, double now);
  // Whether a service that was asked has not answered yet.
  [[nodiscard]] bool waiting() const;
  [[nodiscard]] FollowTotals totals() const;

 private:
  struct Followed {
    Followed(const std::string& path, const FollowLimits& limits)
        : tail(path, limits.most_old), lines(path, limits.pattern) {}

    FileTail tail;
    LineSource lines;
    double age = -1;  // seconds since the file was written, when it was first read; -1: now
    std::pair<dev_t, ino_t> id{};
    std::string told{};  // the last error
    bool missing = false;
  };
  struct Replaced {
    std::string path;
    std::int64_t changed_ns = -1;
    std::optional<EngineMetrics> before{};
    double age = 0;         // seconds since the file was written, when it was read last
    bool compared = false;  // two readings have shown steps
    std::string told{};
    bool other = false;  // text that is not used
    bool understood = false;
  };

  void add(const std::string& path);
  [[nodiscard]] bool renamed(const std::string& path) const;
  bool poll_file(Followed& file, JobState& state, double now, std::vector<Error>& errors);
  void poll_ras(JobState& state, double now, std::vector<Error>& errors);
  void tell_steps(Replaced& file, const EngineMetrics& before, const EngineMetrics& after,
                  JobState& state, double when);
  void take_metrics(Replaced& file, std::string_view text, JobState& state, double age, double now,
                    std::vector<Error>& errors);
  void poll_replaced(Replaced& file, JobState& state, double now, std::vector<Error>& errors);

  std::vector<std::string> paths_;
  FollowLimits limits_;
  std::set<std::string> known_;
  std::set<std::pair<dev_t, ino_t>> read_;  // files that were read under any name
  std::deque<Followed> files_;
  std::vector<Replaced> replaced_;
  struct Asked {
    std::unique_ptr<RasClient> client;
    std::string told{};  // the last error
    bool answers = false;
    bool asked_once = false;  // it has answered or failed
  };
  std::map<std::string, Asked> asked_;  // by HOST:PORT
  std::size_t left_out_ = 0;
  bool looked_ = false;
  bool told_inspector_ = false;  // that its Prometheus text is not read
};

// Raises the number of files that this process may open as far as it may, for many followed files.
void raise_open_files();

}  // namespace stepscope
