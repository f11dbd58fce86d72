// SPDX-License-Identifier: Apache-2.0
// Runs comm_rank as a separate process and captures the output of its ranks.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace stepscope::comm_test {

class Launch {
 public:
  // Starts RANKS copies in MODE, with this bucket size in bytes.
  Launch(int ranks, const std::string& mode, long bucket = 1 << 20, int grace_ms = 3000);
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;
  Launch(Launch&&) = delete;
  Launch& operator=(Launch&&) = delete;
  ~Launch();

  [[nodiscard]] pid_t pid() const { return pid_; }
  // Reads until `lines` lines contain `word`.
  void read_until(const std::string& word, int lines);
  // Reads to the end. Returns the exit status, or 128 + the signal that ended it.
  int finish();
  [[nodiscard]] const std::string& printed() const { return printed_; }
  // The rest of the first line with this beginning; empty without one.
  [[nodiscard]] std::string line(const std::string& beginning) const;
  // Process ids of the ranks, as they printed them.
  [[nodiscard]] std::vector<pid_t> rank_pids() const;

 private:
  bool read_more();

  pid_t pid_ = 0;
  int output_ = -1;
  std::string printed_;
};

// Waits until none of these processes runs.
[[nodiscard]] bool gone_within(const std::vector<pid_t>& pids, double seconds);

}  // namespace stepscope::comm_test
