// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/step_pieces.h"

#include <functional>
#include <numeric>
#include <string_view>

#include "stepscope/analysis/steps/step_at.h"
#include "stepscope/base/key_index.h"
#include "stepscope/base/parallel_for.h"
#include "stepscope/base/string_pool.h"

namespace stepscope {
namespace {

bool has_step_piece(NodeKind kind) {
  return kind == NodeKind::host || kind == NodeKind::launch || kind == NodeKind::compute ||
         kind == NodeKind::copy || is_message(kind);
}

// A node's row and kind, in the place of its step and key. Stretches of the nodes of many ranks
// follow each other: they are read once, in their order.
StepPiece raw_piece(const StepGraph& graph, std::uint32_t node) {
  return {static_cast<std::uint64_t>(graph.kind[node]), node,
          static_cast<std::int32_t>(index(graph.slice[node]))};
}

// Gives raw pieces their steps and keys.
void describe(const RankView& view, std::span<StepPiece> pieces) {
  const std::vector<std::uint64_t> names = name_hashes(view.trace->strings);
  KeyIndex<std::uint64_t, std::identity> numbers;  // of kind, name and step
  std::vector<std::uint64_t> seen;                 // by number
  for (StepPiece& p : pieces) {
    const SliceId row{static_cast<std::uint32_t>(p.step)};
    p.step = launch_step(view, row);
    const std::uint64_t same = hash_pair(names[index(view.trace->slices.name[index(row)])], p.key);
    const auto step = static_cast<std::uint64_t>(std::int64_t{p.step} + 1);
    const auto [number, fresh] = numbers.insert(hash_pair(same, step));
    if (fresh) seen.push_back(0);
    p.key = hash_pair(same, seen[number]++);
  }
}

}  // namespace

StepPieces step_pieces(const Replay& replay, std::span<const RankView> views, unsigned threads) {
  const StepGraph& graph = *replay.graph;
  const auto counts = [&](std::uint32_t n) {
    return replay.movable[n] && has_step_piece(graph.kind[n]) && graph.slice[n] != no_slice;
  };
  StepPieces pieces;
  pieces.first.assign(views.size() + 1, 0);
  for (std::uint32_t n = 0; n < graph.size(); ++n)
    if (counts(n)) ++pieces.first[graph.view[n] + std::size_t{1}];
  std::partial_sum(pieces.first.begin(), pieces.first.end(), pieces.first.begin());
  pieces.all.resize(pieces.first.back());
  std::vector<std::size_t> next(pieces.first.begin(), pieces.first.end() - 1);
  for (std::uint32_t n = 0; n < graph.size(); ++n)
    if (counts(n)) pieces.all[next[graph.view[n]]++] = raw_piece(graph, n);
  parallel_for(views.size(), threads, [&](std::size_t v) {
    describe(views[v],
             std::span(pieces.all).subspan(pieces.first[v], pieces.first[v + 1] - pieces.first[v]));
  });
  return pieces;
}

Ns time_of(const Replay& replay, const StepPiece& piece) {
  return is_message(replay.graph->kind[piece.node]) ? replay.measured.duration[piece.node]
                                                    : replay.measured.work[piece.node];
}

std::int32_t launch_step(const RankView& view, SliceId row) {
  const SliceId call = view.index->launch(row);
  const Ns at = view.trace->slices.start[index(call == no_slice ? row : call)];
  const bool host = call != no_slice || view.index->cpu_only() ||
                    is_host(view.trace->slices.category[index(row)]);
  return host ? last_step_of_host(view.steps, at) : last_step(view.steps, at);
}

std::uint64_t hash_pair(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a ^ (b + 0x9e3779b97f4a7c15ULL + (a << 6U) + (a >> 2U));
  x ^= x >> 33U;
  x *= 0xff51afd7ed558ccdULL;
  return x ^ (x >> 33U);
}

std::vector<std::uint64_t> name_hashes(const StringPool& strings) {
  std::vector<std::uint64_t> hashes;
  hashes.reserve(strings.size());
  for (std::uint32_t i = 0; i < strings.size(); ++i)
    hashes.push_back(text_hash(strings[StringId{i}]));
  return hashes;
}

}  // namespace stepscope
