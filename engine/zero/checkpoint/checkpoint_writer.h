// SPDX-License-Identifier: Apache-2.0
// Writes a rank's part of a checkpoint while training continues. The state is copied, and a
// separate thread writes the copy.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "engine/zero/checkpoint/checkpoint.h"
#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"

namespace stepscope::zero {

class CheckpointWriter {
 public:
  CheckpointWriter(std::string dir, int rank);
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;
  ~CheckpointWriter();  // waits for a write that has begun

  // Copies the state and returns; the caller may then change it. The copy's memory (12 bytes per
  // element) is allocated at the first call and kept. Must not be called while busy().
  void begin(const CheckpointInfo& info, std::span<const StateExtent> extents);
  // True from begin() until its result has been returned.
  [[nodiscard]] bool busy() const;
  // The result of the last begin(), returned once. Empty while the write is running, or without a
  // write. Never blocks on the disk.
  [[nodiscard]] std::optional<Result<Done>> finished();
  // The same, but waits for the write.
  [[nodiscard]] std::optional<Result<Done>> wait();

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
  std::jthread thread_;  // last: it uses the other members
};

}  // namespace stepscope::zero
