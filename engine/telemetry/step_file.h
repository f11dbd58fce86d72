// SPDX-License-Identifier: Apache-2.0
// The file of one rank's steps that `stepscope live` follows (docs/reference/live.md): a line of
// JSON per step, appended when the step has ended. Each line says who wrote it, so that a reader
// may begin anywhere. Cost: one write() of about 250 bytes a step.
//
// Disk: when the file has `most_bytes`, it becomes NAME.1 in place of an older one, and a new one
// begins. So a rank takes at most twice `most_bytes`.
#pragma once

#include <cstdint>
#include <string>

#include "engine/telemetry/rank_window.h"
#include "stepscope/base/result.h"

namespace stepscope {

struct StepWriter {
  int rank = 0;
  int world = 1;
  std::string host{};
  std::int64_t pid = 0;
};

class StepFile {
 public:
  static constexpr std::uint64_t usual_most_bytes = std::uint64_t{64} << 20;

  // steps-rankN.jsonl in `folder`, which is made. What is there is kept. Errors: the file cannot be
  // written.
  [[nodiscard]] static Result<StepFile> open(const std::string& folder, StepWriter writer,
                                             std::uint64_t most_bytes = usual_most_bytes);
  StepFile(StepFile&& other) noexcept;
  StepFile& operator=(StepFile&& other) noexcept;
  StepFile(const StepFile&) = delete;
  StepFile& operator=(const StepFile&) = delete;
  ~StepFile();

  // Errors: the line was not written, or not whole (a full disk). The next line that is written
  // begins on a line of its own and says how many were lost.
  [[nodiscard]] Result<Done> write(const StepRecord& step);

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  StepFile(std::string path, int fd, std::uint64_t bytes, StepWriter writer,
           std::uint64_t most_bytes);
  [[nodiscard]] Result<Done> begin_next();

  std::string path_;
  int fd_ = -1;
  std::uint64_t bytes_ = 0;
  std::uint64_t most_bytes_ = 0;
  std::string head_;  // of each line
  std::string line_;
  std::uint64_t lost_ = 0;
  bool torn_ = false;  // the file ends within a line
};

}  // namespace stepscope
