// SPDX-License-Identifier: Apache-2.0
// Random delays in calls. Tests use them to show that no result depends on the ranks' timing.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <utility>

#include "engine/comm/communicator/communicator.h"
#include "engine/comm/measured/forwarding.h"
#include "stepscope/base/quantity.h"

namespace stepscope {

[[nodiscard]] std::unique_ptr<Communicator> jitter(std::unique_ptr<Communicator> inner,
                                                   std::uint64_t seed, Ns most);

class Jitter final : public comm::Forwarding {
 public:
  Jitter(std::unique_ptr<Communicator> inner, std::uint64_t seed, Ns most)
      : Forwarding(std::move(inner)),
        seed_(seed),
        most_(most),
        random_(seed * 1024 + static_cast<std::uint64_t>(rank())) {}

  [[nodiscard]] Result<Ticket> submit(const CollectiveRequest& request) override {
    delay();
    return inner().submit(request);
  }
  [[nodiscard]] Result<bool> test(Ticket ticket) override {
    delay();
    return inner().test(ticket);
  }
  [[nodiscard]] Result<CollectiveInstants> wait(Ticket ticket) override {
    delay();
    return inner().wait(ticket);
  }

 private:
  [[nodiscard]] std::unique_ptr<Communicator> decorate(
      std::unique_ptr<Communicator> subgroup) const override {
    return jitter(std::move(subgroup), seed_ + 1, most_);
  }

  void delay() {
    const std::uint64_t draw = random_();
    if (draw % 2 == 0 || most_.count() <= 0) return;
    const auto most = static_cast<std::uint64_t>(most_.count());
    std::this_thread::sleep_for(Ns{static_cast<std::int64_t>((draw >> 1U) % (most + 1))});
  }

  std::uint64_t seed_;
  Ns most_;
  std::mt19937_64 random_;
};

// About half of all calls first sleep for up to `most`. The delays depend on the seed, the rank and
// the number of the call.
inline std::unique_ptr<Communicator> jitter(std::unique_ptr<Communicator> inner, std::uint64_t seed,
                                            Ns most) {
  return std::make_unique<Jitter>(std::move(inner), seed, most);
}

}  // namespace stepscope
