// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/measured/counting_communicator.h"

#include "engine/comm/measured/forwarding.h"

namespace stepscope {
namespace {

class Counting final : public comm::Forwarding {
 public:
  Counting(std::unique_ptr<Communicator> inner, CommCounters& counters)
      : Forwarding(std::move(inner)), counters_(&counters) {}

  [[nodiscard]] Result<Ticket> submit(const CollectiveRequest& request) override {
    auto ticket = inner().submit(request);
    if (ticket) {
      CommCounters::Kind& kind = (*counters_)[request.kind];
      ++kind.calls;
      kind.payload += collective_payload(request, size());
      kind.sent += collective_sent(request, size());
    }
    return ticket;
  }

 private:
  [[nodiscard]] std::unique_ptr<Communicator> decorate(
      std::unique_ptr<Communicator> subgroup) const override {
    return counting(std::move(subgroup), *counters_);
  }

  CommCounters* counters_;
};

}  // namespace

Bytes collective_sent(const CollectiveRequest& request, int ranks) {
  const std::int64_t payload = collective_payload(request, ranks).value;
  const std::int64_t n = ranks;
  if (n <= 1) return {};
  switch (request.kind) {
    case CollectiveKind::all_reduce:
      return {(2 * (n - 1) * payload + n / 2) / n};
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_to_all:
      return {(n - 1) * payload};
    case CollectiveKind::broadcast:
    case CollectiveKind::send:
      return {payload};
    default:
      return {};
  }
}

std::unique_ptr<Communicator> counting(std::unique_ptr<Communicator> inner,
                                       CommCounters& counters) {
  return std::make_unique<Counting>(std::move(inner), counters);
}

}  // namespace stepscope
