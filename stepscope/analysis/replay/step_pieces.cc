// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/step_pieces.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <string_view>
#include <tuple>

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

// Of raw pieces of a view with so many rows: the part of its row that each is, the longest first.
void number_parts(const Replay& replay, std::span<const StepPiece> pieces, std::size_t rows,
                  std::span<std::uint8_t> parts) {
  static_assert(node_kind_count <= std::numeric_limits<std::uint16_t>::digits);
  constexpr std::size_t last_part = std::numeric_limits<std::uint8_t>::max();
  const auto row_of = [&](std::uint32_t i) { return static_cast<std::uint32_t>(pieces[i].step); };
  const auto bit_of = [&](std::uint32_t i) { return 1U << pieces[i].key; };
  std::vector<std::uint16_t> once(rows);   // by row: kinds of its pieces
  std::vector<std::uint16_t> again(rows);  // kinds that it has several pieces of
  for (std::uint32_t i = 0; i < pieces.size(); ++i) {
    again[row_of(i)] = static_cast<std::uint16_t>(again[row_of(i)] | (once[row_of(i)] & bit_of(i)));
    once[row_of(i)] = static_cast<std::uint16_t>(once[row_of(i)] | bit_of(i));
  }
  std::vector<std::uint32_t> divided;  // pieces of rows with several parts
  for (std::uint32_t i = 0; i < pieces.size(); ++i)
    if ((again[row_of(i)] & bit_of(i)) != 0) divided.push_back(i);
  std::ranges::sort(divided, {}, [&](std::uint32_t i) {
    return std::tuple(row_of(i), pieces[i].key, -time_of(replay, pieces[i]), i);
  });
  for (std::size_t i = 1, part = 0; i < divided.size(); ++i) {
    const bool same = row_of(divided[i]) == row_of(divided[i - 1]) &&
                      pieces[divided[i]].key == pieces[divided[i - 1]].key;
    part = same ? std::min(part + 1, last_part) : 0;
    parts[divided[i]] = static_cast<std::uint8_t>(part);
  }
}

// Gives raw pieces their steps and keys.
void describe(const RankView& view, std::span<StepPiece> pieces,
              std::span<const std::uint8_t> parts) {
  const std::vector<std::uint64_t> names = name_hashes(view.trace->strings);
  KeyIndex<std::uint64_t, std::identity> numbers;  // of kind, name, part and step
  std::vector<std::uint64_t> seen;                 // by number
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    StepPiece& p = pieces[i];
    const SliceId row{static_cast<std::uint32_t>(p.step)};
    p.step = launch_step(view, row);
    const std::uint64_t same = hash_pair(names[index(view.trace->slices.name[index(row)])],
                                         std::uint64_t{parts[i]} << 8U | p.key);
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
  pieces.part.resize(pieces.first.back());
  std::vector<std::size_t> next(pieces.first.begin(), pieces.first.end() - 1);
  for (std::uint32_t n = 0; n < graph.size(); ++n)
    if (counts(n)) pieces.all[next[graph.view[n]]++] = raw_piece(graph, n);
  parallel_for(views.size(), threads, [&](std::size_t v) {
    const std::size_t count = pieces.first[v + 1] - pieces.first[v];
    const auto of_view = std::span(pieces.all).subspan(pieces.first[v], count);
    const auto parts = std::span(pieces.part).subspan(pieces.first[v], count);
    number_parts(replay, of_view, views[v].trace->slices.size(), parts);
    describe(views[v], of_view, parts);
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
