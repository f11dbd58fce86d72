// SPDX-License-Identifier: Apache-2.0
// What a node of a step graph stands for (step_graph.h).
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
  comm,  // not joined with its peers: wait and transfer in one
  arrival,
  join,  // what a transfer waits for; its delay may be taken away to replay without waiting
  transfer,
  wait,  // what a synchronising call waits for, likewise
  held,
  end  // of the last step of a rank
};
inline constexpr std::size_t node_kind_count = 12;
inline constexpr std::array<std::string_view, node_kind_count> node_kind_names = {
    "host",    "launch", "sync",     "compute", "copy", "comm",
    "arrival", "join",   "transfer", "wait",    "held", "end"};
static_assert(node_kind_names[static_cast<std::size_t>(NodeKind::end)] == "end");

}  // namespace stepscope
