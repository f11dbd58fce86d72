// SPDX-License-Identifier: Apache-2.0
// Faults that a run is asked to show, where a rank computes: whatever watches the rank
// sees a slow rank and no injector.
#pragma once

#include <span>
#include <vector>

#include "engine/train/train_progress.h"
#include "engine/train/train_request.h"
#include "engine/zero/engine/engine.h"

namespace stepscope {

class FaultObserver final : public zero::EngineObserver {
 public:
  // `progress` outlives it.
  FaultObserver(std::span<const TrainFault> faults, int rank, const TrainProgress& progress);
  // Hears of all that this one does; may be null.
  void forward_to(zero::EngineObserver* next) { next_ = next; }

  // Before a step: sets what is slow, and sleeps where that is asked for.
  void before_step(std::int64_t step);
  void before_data(std::int64_t step);
  // Whether messages of this step may overlap with computing.
  [[nodiscard]] bool overlaps() const { return overlaps_; }

  void begin(const nn::OpCall& call) noexcept override;
  void end() noexcept override;
  void collective(const CollectiveRecord& record, std::string_view what, std::int64_t in_elements,
                  std::int64_t out_elements, ElementType type) noexcept override;
  void moved(const zero::ShardMove& move) noexcept override;
  void step_begin(std::int64_t step) noexcept override;
  void step_end() noexcept override;
  void range_begin(std::string_view name, Activity activity) noexcept override;
  void range_end() noexcept override;

  // Kills or stops this rank where that was asked for here; at most once.
  void reach(FaultPhase phase);

 private:
  std::vector<TrainFault> faults_;  // of this rank or all
  const TrainProgress& progress_;
  std::int64_t step_ = -1;
  zero::EngineObserver* next_ = nullptr;
  bool overlaps_ = true;
  double slower_ = 0;  // share of an operation's time that is added to it
  Ns begun_{};
};

}  // namespace stepscope
