// SPDX-License-Identifier: Apache-2.0
// What happens between two operations of the network: messages move on, and an observer hears of
// the operation.
#pragma once

#include "stepscope/zero/engine.h"

namespace stepscope::zero {

struct Engine::Progress final : nn::OpObserver {
  explicit Progress(Exchange& exchange) : exchange_(exchange) {}

  void begin(const nn::OpCall& call) noexcept override {
    if (next_ != nullptr) next_->begin(call);
  }
  void end() noexcept override {
    if (next_ != nullptr) next_->end();
    exchange_.poll();
  }
  void forward_to(nn::OpObserver* next) { next_ = next; }

 private:
  Exchange& exchange_;
  nn::OpObserver* next_ = nullptr;
};

}  // namespace stepscope::zero
