// SPDX-License-Identifier: Apache-2.0
// Delays every kernel and every collective of a rank by a random time. Tests use it to show that no
// result depends on timing. comm/measured/jitter_test_communicator.h delays calls of the
// communicator.
#pragma once

#include <cstdint>
#include <random>
#include <string_view>
#include <thread>

#include "engine/zero/engine/engine.h"
#include "stepscope/base/quantity.h"

namespace stepscope::zero {

// The delays depend on the seed, the rank and the number of the call. Half of them are zero.
class RandomDelays final : public EngineObserver {
 public:
  RandomDelays(std::uint64_t seed, int rank, Ns most)
      : most_(most), random_(seed * 4096 + static_cast<std::uint64_t>(rank)) {}

  void begin(const nn::OpCall& /*call*/) noexcept override { delay(); }
  void end() noexcept override { delay(); }
  void step_begin(std::int64_t /*step*/) noexcept override { delay(); }
  void step_end() noexcept override { delay(); }
  void range_begin(std::string_view /*name*/, Activity /*activity*/) noexcept override { delay(); }
  void range_end() noexcept override { delay(); }
  void collective(const CollectiveRecord& /*record*/, std::string_view /*what*/,
                  std::int64_t /*in_elements*/, std::int64_t /*out_elements*/,
                  ElementType /*type*/) noexcept override {
    delay();
  }
  [[nodiscard]] std::int64_t calls() const { return calls_; }

 private:
  void delay() noexcept {
    ++calls_;
    const std::uint64_t draw = random_();
    if (draw % 2 == 0) return;
    const auto most = static_cast<std::uint64_t>(most_.count());
    std::this_thread::sleep_for(Ns{static_cast<std::int64_t>((draw >> 1U) % (most + 1))});
  }

  Ns most_;
  std::mt19937_64 random_;
  std::int64_t calls_ = 0;
};

}  // namespace stepscope::zero
