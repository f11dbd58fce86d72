// SPDX-License-Identifier: Apache-2.0
// Writes a rank's part of a checkpoint while training goes on: the state is copied, and a thread of
// its own writes the copy.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"
#include "stepscope/zero/checkpoint/checkpoint.h"

namespace stepscope::zero {

class CheckpointWriter {
 public:
  CheckpointWriter(std::string dir, int rank);
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;
  ~CheckpointWriter();  // when what was begun is written

  // Copies the state and returns; the caller may change it at once. The copy's memory (12 bytes an
  // element) is taken at the first call and kept. Never while busy().
  void begin(const CheckpointInfo& info, std::span<const StateExtent> extents);
  // From begin() until its result was given out.
  [[nodiscard]] bool busy() const;
  // What became of the last begin(), given out once: nothing while it is being written, or when
  // there is none. Never blocks on the disk.
  [[nodiscard]] std::optional<Result<Done>> finished();
  // The same, when it is written.
  [[nodiscard]] std::optional<Result<Done>> wait();
  [[nodiscard]] Bytes snapshot_bytes() const;

 private:
  enum class State : std::uint8_t { idle, writing, written };
  void run(const std::stop_token& stop);
  [[nodiscard]] std::optional<Result<Done>> take();

  std::string dir_;
  int rank_;
  CheckpointInfo info_;
  std::vector<float> copy_;
  std::vector<StateExtent> extents_;  // of the copy
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  State state_ = State::idle;
  std::optional<Result<Done>> result_;
  std::jthread thread_;  // last: it uses the rest
};

}  // namespace stepscope::zero
