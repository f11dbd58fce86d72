// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/communicator/communicator.h"

#include <ctime>

namespace stepscope {

Bytes collective_payload(const CollectiveRequest& request, int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  std::size_t bytes = 0;
  switch (request.kind) {
    case CollectiveKind::all_reduce:
    case CollectiveKind::all_gather:
    case CollectiveKind::send:
      bytes = request.in.size();
      break;
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::broadcast:
    case CollectiveKind::recv:
      bytes = request.out.size();
      break;
    case CollectiveKind::all_to_all:
      bytes = request.in.size() / n;
      break;
    default:
      break;
  }
  return {static_cast<std::int64_t>(bytes)};
}

Result<Ticket> barrier(Communicator& comm, std::string_view what, std::source_location where) {
  CollectiveRequest request;
  request.kind = CollectiveKind::barrier;
  request.what = what;
  request.where = where;
  return comm.submit(request);
}

Result<CollectiveInstants> wait_for(Communicator& comm, const Result<Ticket>& ticket) {
  if (!ticket) return ticket.error();
  return comm.wait(*ticket);
}

Ns monotonic_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::chrono::seconds(now.tv_sec) + Ns(now.tv_nsec);
}

}  // namespace stepscope
