// SPDX-License-Identifier: Apache-2.0
#include <functional>

#include "engine/comm/window/window_group.h"

namespace stepscope::comm {
namespace {

bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
  const std::less<> before;
  return !a.empty() && !b.empty() && before(a.data(), b.data() + b.size()) &&
         before(b.data(), a.data() + a.size());
}

// The memory that in and out may share; null if they may not share any.
const std::byte* shared_begin(const CollectiveRequest& request, int rank, std::size_t payload) {
  const std::size_t own_block = static_cast<std::size_t>(rank) * payload;
  switch (request.kind) {
    case CollectiveKind::all_reduce:
    case CollectiveKind::broadcast:
      return request.out.data();
    case CollectiveKind::all_gather:
      return request.out.data() + own_block;
    case CollectiveKind::reduce_scatter:
      return request.out.data() - own_block;  // where in begins then
    default:
      return nullptr;
  }
}

bool sizes_fit(const CollectiveRequest& request, int rank, std::size_t n, std::size_t payload) {
  const std::size_t in = request.in.size();
  const std::size_t out = request.out.size();
  switch (request.kind) {
    case CollectiveKind::all_reduce:
      return in == out;
    case CollectiveKind::all_gather:
      return out == n * payload;
    case CollectiveKind::reduce_scatter:
      return in == n * payload;
    case CollectiveKind::all_to_all:
      return in == out && in == n * payload;
    case CollectiveKind::broadcast:
      return rank != request.peer || in == payload;
    case CollectiveKind::send:
      return out == 0;
    case CollectiveKind::recv:
      return in == 0;
    default:
      return in == 0 && out == 0;
  }
}

}  // namespace

std::optional<Error> request_fault(const CollectiveRequest& request, int rank, int ranks) {
  const auto payload = static_cast<std::size_t>(collective_payload(request, ranks).value);
  const auto n = static_cast<std::size_t>(ranks);
  const bool pair = request.kind == CollectiveKind::send || request.kind == CollectiveKind::recv;
  const bool named = pair || request.kind == CollectiveKind::broadcast;
  std::string fault;
  if (!pair && collective_steps(request.kind) == nullptr) {
    fault = "no communicator does this";
  } else if (named && (request.peer < 0 || request.peer >= ranks)) {
    fault =
        "rank " + std::to_string(request.peer) + " is not in a group of " + std::to_string(ranks);
  } else if (!sizes_fit(request, rank, n, payload)) {
    fault = "sizes do not fit: " + std::to_string(request.in.size()) + " bytes in, " +
            std::to_string(request.out.size()) + " out, " + std::to_string(ranks) + " ranks";
  } else if (payload % element_bytes(request.type) != 0) {
    fault = std::to_string(payload) + " bytes are no whole number of " +
            std::string(element_name(request.type)) + " elements";
  } else if (overlap(request.in, request.out) &&
             request.in.data() != shared_begin(request, rank, payload)) {
    const bool ignored = request.kind == CollectiveKind::broadcast && rank != request.peer;
    if (!ignored) fault = "in and out overlap where they may not";
  }
  if (fault.empty()) return std::nullopt;
  std::string text = "rank " + std::to_string(rank) + ": ";
  text += collective_kind_names[static_cast<std::size_t>(request.kind)];
  if (!request.what.empty()) text += " \"" + std::string(request.what) + "\"";
  return Error{.what = text + " (" + place_text(call_site(request.where)) + "): " + fault,
               .hint = "see the table of sizes in comm/communicator/communicator.h"};
}

}  // namespace stepscope::comm
