// SPDX-License-Identifier: Apache-2.0
// One rank's record of the last collectives that it submitted and finished.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/comm/collectives/collective_steps.h"
#include "engine/comm/window/window.h"

namespace stepscope::comm {

enum class OperationState : std::uint8_t { submitted, arrived, done };

struct Operation {
  BucketHeader header;
  CollectiveRequest request;
  const CollectiveSteps* steps = nullptr;
  std::uint64_t first_chunk = 0;
  std::uint64_t chunks = 0;
  CollectiveInstants times;
  OperationState state = OperationState::submitted;
  std::optional<Ns> polled_since{};  // test() has seen no progress since
};

// The last `capacity` operations of a queue that is processed in order.
class OperationQueue {
 public:
  explicit OperationQueue(std::size_t capacity) : ring_(capacity) {}

  [[nodiscard]] std::uint64_t submitted() const { return submitted_; }
  [[nodiscard]] bool full(std::uint64_t finished) const {
    return submitted_ - finished >= ring_.size();
  }
  [[nodiscard]] Operation& push() { return ring_[submitted_++ % ring_.size()]; }
  [[nodiscard]] Operation& operator[](std::uint64_t sequence) {
    return ring_[sequence % ring_.size()];
  }
  [[nodiscard]] const Operation& operator[](std::uint64_t sequence) const {
    return ring_[sequence % ring_.size()];
  }
  // The oldest operation still held.
  [[nodiscard]] std::uint64_t oldest() const {
    return submitted_ > ring_.size() ? submitted_ - ring_.size() : 0;
  }

 private:
  std::vector<Operation> ring_;
  std::uint64_t submitted_ = 0;
};

[[nodiscard]] std::string json_text(std::string_view text);         // quoted and escaped
[[nodiscard]] std::string json_header(const BucketHeader& header);  // members, without braces
[[nodiscard]] std::string json_operation(const Operation& operation);
[[nodiscard]] std::string json_operations(const OperationQueue& queue);  // an array

}  // namespace stepscope::comm
