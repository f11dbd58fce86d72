// SPDX-License-Identifier: Apache-2.0
// The kinds of nodes of a step graph (step_graph.h).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace stepscope {

enum class NodeKind : std::uint8_t {
  host,
  launch,
  sync,
  compute,
  copy,
  comm,  // not joined with its peers: wait and transfer together
  arrival,
  join,  // start condition of a transfer; its delay may be removed to replay without waiting
  transfer,
  wait,  // end condition of a synchronising call, likewise
  held,
  end  // of a rank's last step
};
inline constexpr std::size_t node_kind_count = 12;
inline constexpr std::array<std::string_view, node_kind_count> node_kind_names = {
    "host",    "launch", "sync",     "compute", "copy", "comm",
    "arrival", "join",   "transfer", "wait",    "held", "end"};
static_assert(node_kind_names[static_cast<std::size_t>(NodeKind::end)] == "end");

}  // namespace stepscope
