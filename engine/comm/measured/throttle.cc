// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/measured/throttle.h"

#include <algorithm>
#include <cmath>
#include <thread>
#include <vector>

#include "engine/comm/measured/counting_communicator.h"
#include "engine/comm/measured/forwarding.h"

namespace stepscope {
namespace {

constexpr std::size_t kept = 1024;
// Other tickets must still make progress while one waits for the link.
constexpr Ns longest_sleep = std::chrono::microseconds(200);

struct Link {
  Ns alpha{};
  ByteRate beta;
  Ns free_at{};
};

class Throttle final : public comm::Forwarding {
 public:
  Throttle(std::unique_ptr<Communicator> inner, std::shared_ptr<Link> link)
      : Forwarding(std::move(inner)),
        link_(std::move(link)),
        lanes_(1 + 2 * static_cast<std::size_t>(size())) {}

  [[nodiscard]] Result<Ticket> submit(const CollectiveRequest& request) override {
    auto ticket = inner().submit(request);
    if (!ticket) return ticket;
    Lane& lane = lane_of(*ticket);
    if (lane.entries.empty()) {
      lane.entries.resize(kept);
      lane.next = ticket->sequence;
    }
    if (ticket->sequence - lane.next >= kept) {
      return Error{.what = "more than " + std::to_string(kept) + " unfinished tickets on a link",
                   .hint = "wait for earlier tickets first"};
    }
    const Bytes bytes = request.kind == CollectiveKind::recv ? collective_payload(request, size())
                                                             : collective_sent(request, size());
    const auto on_link = std::ceil(static_cast<double>(bytes.value) / link_->beta.value * 1e9);
    lane.entries[ticket->sequence % kept].cost =
        link_->alpha + Ns{static_cast<std::int64_t>(on_link)};
    lane.submitted = ticket->sequence + 1;
    return ticket;
  }

  [[nodiscard]] Result<bool> test(Ticket ticket) override {
    if (!known(ticket)) return inner().test(ticket);
    Lane& lane = lane_of(ticket);
    while (lane.next <= ticket.sequence) {
      const Ticket next{lane.next, ticket.channel};
      auto done = inner().test(next);
      if (!done || !*done) return done;
      if (const auto times = pass(next); !times) return times.error();
    }
    return monotonic_now() >= lane.entries[ticket.sequence % kept].times.finished;
  }

  [[nodiscard]] Result<CollectiveInstants> wait(Ticket ticket) override {
    if (!known(ticket)) return inner().wait(ticket);
    Lane& lane = lane_of(ticket);
    while (lane.next <= ticket.sequence) {
      if (const auto times = pass({lane.next, ticket.channel}); !times) return times.error();
    }
    const CollectiveInstants times = lane.entries[ticket.sequence % kept].times;
    for (Ns now = monotonic_now(); now < times.finished; now = monotonic_now()) {
      std::this_thread::sleep_for(std::min(longest_sleep, times.finished - now));
      const auto moved = inner().test({lane.submitted - 1, ticket.channel});
      if (!moved) return moved.error();
    }
    return times;
  }

 private:
  struct Entry {
    Ns cost{};
    CollectiveInstants times;
  };
  struct Lane {  // tickets of one channel
    std::vector<Entry> entries;
    std::uint64_t next = 0;  // first ticket without a time on the link
    std::uint64_t submitted = 0;
  };

  [[nodiscard]] Lane& lane_of(Ticket ticket) {
    return lanes_[static_cast<std::size_t>(ticket.channel) + 1];
  }
  [[nodiscard]] bool known(Ticket ticket) const {
    const std::size_t channel = static_cast<std::size_t>(ticket.channel) + 1;
    if (channel >= lanes_.size()) return false;
    const Lane& lane = lanes_[channel];
    return ticket.sequence < lane.submitted && ticket.sequence + kept >= lane.submitted;
  }

  // Waits for `inner`, then gives the ticket its time on the link.
  Result<CollectiveInstants> pass(Ticket ticket) {
    auto times = inner().wait(ticket);
    if (!times) return times;
    Lane& lane = lane_of(ticket);
    Entry& entry = lane.entries[ticket.sequence % kept];
    const Ns begin = std::max(times->last_arrival.value_or(times->submitted), link_->free_at);
    link_->free_at = begin + entry.cost;
    times->finished = std::max(times->finished, link_->free_at);
    entry.times = *times;
    ++lane.next;
    return times;
  }

  [[nodiscard]] std::unique_ptr<Communicator> decorate(
      std::unique_ptr<Communicator> subgroup) const override {
    return std::make_unique<Throttle>(std::move(subgroup), link_);
  }

  std::shared_ptr<Link> link_;
  std::vector<Lane> lanes_;
};

}  // namespace

std::unique_ptr<Communicator> throttle(std::unique_ptr<Communicator> inner, Ns alpha,
                                       ByteRate beta) {
  check(beta.value > 0, "a link with a rate");
  auto link = std::make_shared<Link>(Link{alpha, beta, Ns{0}});
  return std::make_unique<Throttle>(std::move(inner), std::move(link));
}

}  // namespace stepscope
