// SPDX-License-Identifier: Apache-2.0
// Past runs of a job in one SQLite file: their step times, what each step's parts took, what
// `analyze` found, and digests of their traces. The tables are described in
// docs/how-to/keep-a-history.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/runs/compare_runs.h"
#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"

struct sqlite3;

namespace stepscope {

struct PastFinding {
  std::string key;           // "exposed_communication:all_reduce"
  std::string what;          // one sentence
  std::optional<Ns> gain{};  // a step
};

struct PastRun {
  std::string name;                   // unique in the file
  std::string fingerprint;            // of the files that it was read from: names, sizes and times
  std::int64_t recorded_unix_ns = 0;  // when the run began; where its files do not say, their time
  std::string commit{};
  std::string tag{};
  std::string version{};        // of stepscope
  std::string device{};         // "cuda", "cpu"; empty where only step times are known
  std::size_t ranks = 0;        // 0: only step times are known
  std::optional<double> mfu{};  // share of one
  std::string cause{};          // culprit_kind_names; empty: none
  std::string sentence{};       // the answer of `analyze`; empty: only step times are known
  std::vector<PastFinding> findings{};
  std::size_t digests = 0;         // that the history keeps
  std::uint64_t digest_bytes = 0;  // of all of them
  LaunchSteps steps{};             // with at least one step; named as the run
};

// A digest of one of a run's traces.
struct DigestFile {
  std::string name;  // below the run's folder: "node1/rank0.json.gz.digest"
  std::string path;
};

class HistoryFile {
 public:
  // Makes the file if it does not exist. Errors: the folder cannot be written to, the file is not a
  // history or is of a later version, it is locked by another process for 10 seconds, damaged.
  [[nodiscard]] static Result<HistoryFile> open(const std::string& path);
  // In the order in which they were recorded; without the parts of their steps.
  [[nodiscard]] Result<std::vector<PastRun>> runs() const;
  // The parts of the steps of the run that `steps` is named as.
  [[nodiscard]] Result<Done> read_parts(LaunchSteps& steps) const;
  // In one transaction, with the digests of the run's traces. A run of this name is replaced.
  // Errors also: a digest cannot be read, or is larger than SQLite's limit of a billion bytes.
  [[nodiscard]] Result<Done> put(const PastRun& run, std::span<const DigestFile> digests = {});
  // Writes the digests of the run `name` below `folder`, which is made. Gives their number. Errors
  // also: a file of another content is there, or a file cannot be written.
  [[nodiscard]] Result<std::size_t> write_digests(const std::string& name,
                                                  const std::string& folder) const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  HistoryFile(std::string path, sqlite3* database) : path_(std::move(path)), database_(database) {}

  std::string path_;
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace stepscope
