// SPDX-License-Identifier: Apache-2.0
// What happens between two operations of the network: messages and files move on, and an observer
// hears of the operation. And what becomes of a finished transfer from or to a file.
#pragma once

#include "stepscope/zero/engine/engine.h"

namespace stepscope::zero {

struct Engine::Progress final : nn::OpObserver, ShardObserver {
  Progress(Exchange& exchange, RankRecorder& recorder, Offload* offload)
      : exchange_(exchange), recorder_(recorder), offload_(offload) {
    if (offload_ != nullptr) offload_->files.observe(this);
  }

  void begin(const nn::OpCall& call) noexcept override {
    if (next_ != nullptr) next_->begin(call);
  }
  void end() noexcept override {
    if (next_ != nullptr) next_->end();
    exchange_.poll();
    if (offload_ != nullptr) offload_->files.poll();
  }
  void moved(const ShardMove& move) noexcept override {
    recorder_.transfer(
        move.write ? TransferDirection::host_to_nvme : TransferDirection::nvme_to_host, move.bytes,
        move.begin, move.end, move.column == ShardColumn::parameters);
    if (next_ != nullptr) next_->moved(move);
  }
  void forward_to(EngineObserver* next) { next_ = next; }

 private:
  Exchange& exchange_;
  RankRecorder& recorder_;
  Offload* offload_;  // null: none
  EngineObserver* next_ = nullptr;
};

}  // namespace stepscope::zero
