// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/collectives/kernel_algorithm.h"

#include <map>
#include <tuple>

#include "stepscope/base/ascii.h"

namespace stepscope {

NamedAlgorithm named_algorithm(std::string_view kernel, CollectiveKind kind) {
  kernel = kernel.substr(0, kernel.find('('));
  if (!kernel.starts_with("nccl")) return NamedAlgorithm::unknown;
  const bool reduces_all = kind == CollectiveKind::all_reduce;
  if (kernel.starts_with("ncclDevKernel_")) {
    if (!reduces_all) return NamedAlgorithm::unknown;
    if (contains(kernel, "_TREE_")) return NamedAlgorithm::tree;
    return contains(kernel, "_RING_") ? NamedAlgorithm::not_tree : NamedAlgorithm::unknown;
  }
  // A generic kernel runs any algorithm.
  if (contains(kernel, "SendRecv")) return NamedAlgorithm::unknown;
  if (contains(kernel, "_NVLS") || contains(kernel, "_COLLNET") || contains(kernel, "CollNet"))
    return NamedAlgorithm::in_switch;
  if (contains(kernel, "_TREE_") || contains(kernel, "Tree")) return NamedAlgorithm::tree;
  if (contains(kernel, "_RING_") || contains(kernel, "Ring")) return NamedAlgorithm::ring;
  return NamedAlgorithm::unknown;
}

std::vector<NamedCalls> named_calls(std::span<const RankView> views,
                                    const CollectiveMatches& matches) {
  std::map<std::tuple<CollectiveKind, std::uint32_t, std::int64_t, NamedAlgorithm>, std::uint64_t>
      counts;
  for (std::size_t v = 0; v < views.size(); ++v) {
    if (views[v].index->cpu_only()) continue;
    for (const CollectiveCall& call : matches.ranks[v].calls) {
      if (!call.bytes || call.group == no_row) continue;
      const auto algorithm = named_algorithm(views[v].trace->name(call.slice), call.kind);
      if (algorithm != NamedAlgorithm::unknown)
        ++counts[{call.kind, call.group, call.bytes->value, algorithm}];
    }
  }
  std::vector<NamedCalls> calls;
  calls.reserve(counts.size());
  for (const auto& [key, count] : counts) {
    const auto& [kind, group, bytes, algorithm] = key;
    calls.push_back({kind, group, Bytes{bytes}, algorithm, count});
  }
  return calls;
}

}  // namespace stepscope
