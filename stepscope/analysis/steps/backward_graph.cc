// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/steps/backward_graph.h"

#include <string_view>

namespace stepscope {
namespace {

bool names_node(std::string_view name) {
  return name.starts_with("autograd::engine::evaluate_function") ||
         name.find("Backward") != std::string_view::npos;
}

bool names_dispatched(std::string_view name) { return name.find("::") != std::string_view::npos; }

// "c10d::allreduce_", "_c10d_functional::wait_tensor". The operators of
// _c10d_functional_autograd have a backward.
bool names_collective(std::string_view name) {
  return name.starts_with("c10d::") || name.starts_with("_c10d_functional::") ||
         name.starts_with("c10d_functional::");
}

}  // namespace

BackwardGraph::BackwardGraph(const Trace& trace, const RankIndex& rank)
    : trace_(trace),
      names_node_(by_name(trace.strings, names_node)),
      dispatched_(by_name(trace.strings, names_dispatched)),
      collective_(by_name(trace.strings, names_collective)),
      recomputes_(trace.slices.size()) {
  const Slices& s = trace.slices;
  std::vector<std::uint32_t> open;  // nodes
  for (const TrackId id : rank.host_tracks) {
    open.clear();
    const Track& track = trace.track(id);
    for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
      if (s.category[i] != Category::cpu_op) continue;
      while (!open.empty() && s.end(SliceId{open.back()}) <= s.start[i]) open.pop_back();
      if (is_node(i))
        open.push_back(i);
      else if (!open.empty() && dispatched_[index(s.name[i])] && is_differentiated(i))
        for (const std::uint32_t node : open) recomputes_[node] = true;
    }
  }
}

bool BackwardGraph::is_node(std::uint32_t row) const {
  if (trace_.slices.category[row] != Category::cpu_op) return false;
  const std::uint32_t detail = trace_.slices.detail[row];
  return names_node_[index(trace_.slices.name[row])] ||
         (detail < trace_.ops.size() && trace_.ops.forward_thread[detail] > 0);
}

bool BackwardGraph::is_differentiated(std::uint32_t row) const {
  const std::uint32_t detail = trace_.slices.detail[row];
  return trace_.slices.category[row] == Category::cpu_op && detail < trace_.ops.size() &&
         trace_.ops.sequence[detail] >= 0 && !collective_[index(trace_.slices.name[row])] &&
         !is_node(row);
}

}  // namespace stepscope
