// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/graph/replay_program.h"

#include <algorithm>

#include "stepscope/base/isa.h"
#include "stepscope/base/result.h"

namespace stepscope {
namespace {

// The ends of one node in all replays.
using Ends [[gnu::vector_size(most_replays * sizeof(std::int64_t))]] = std::int64_t;
// Allocators do not see the alignment of a vector type.
struct alignas(sizeof(Ends)) Slot {
  Ends ends;
};

// A graph while it is replayed.
struct State {
  const std::uint32_t* first_pred = nullptr;
  const std::uint32_t* step = nullptr;
  const Ns* work = nullptr;
  Slot* slots = nullptr;
  Ends* at = nullptr;    // of the node replayed last
  std::size_t node = 0;  // the next one
};

// Replays all nodes before `last`.
[[gnu::always_inline]] inline void go_to(State& state, std::size_t last) {
  const std::uint32_t* step = state.step;
  for (; state.node < last; ++state.node) {
    Ends* const own = &state.slots[*step++].ends;
    state.at = own;
    const std::uint32_t preds = state.first_pred[state.node + 1] - state.first_pred[state.node];
    Ends ready{};
    if (preds > 0) ready = state.slots[*step++].ends;
    for (std::uint32_t p = 1; p < preds; ++p) {
      const Ends other = state.slots[*step++].ends;
      ready = other > ready ? other : ready;
    }
    *own = ready + std::int64_t{state.work[state.node].count()};
  }
  state.step = step;
}

void go_to_baseline(State& state, std::size_t last) { go_to(state, last); }
STEPSCOPE_TARGET("avx2") void go_to_avx2(State& state, std::size_t last) { go_to(state, last); }
STEPSCOPE_TARGET("avx512f") void go_to_avx512(State& state, std::size_t last) {
  go_to(state, last);
}

auto go_to_of_cpu() {
  switch (isa()) {
    case Isa::avx512:
      return go_to_avx512;
    case Isa::avx2:
      return go_to_avx2;
    case Isa::baseline:
      break;
  }
  return go_to_baseline;
}

}  // namespace

ReplayProgram make_program(const ReplayGraph& graph) {
  // By node: the last one that waits for it.
  std::vector<std::uint32_t> last(graph.size(), no_node);
  for (std::uint32_t n = 0; n < graph.size(); ++n)
    for (const std::uint32_t p : graph.preds_of(n)) last[p] = n;
  ReplayProgram program;
  program.steps.reserve(graph.size() + graph.preds.size());
  std::vector<std::uint32_t> slot(graph.size());
  std::vector<std::uint32_t> free;
  for (std::uint32_t n = 0; n < graph.size(); ++n) {
    const auto preds = graph.preds_of(n);
    for (const std::uint32_t p : preds)
      if (last[p] == n) free.push_back(slot[p]);
    if (free.empty()) free.push_back(program.slots++);
    slot[n] = free.back();
    free.pop_back();
    if (last[n] == no_node) free.push_back(slot[n]);
    program.steps.push_back(slot[n]);
    for (const std::uint32_t p : preds) program.steps.push_back(slot[p]);
  }
  return program;
}

void replay_changes(const ReplayGraph& graph, const ReplayProgram& program,
                    std::span<const Ns> work, std::span<const WorkChange> changes,
                    std::span<const KeptEnd> kept, std::span<Ns> end) {
  const std::size_t lanes = changes.size();
  check(lanes <= most_replays, "a program replays a few changes at once");
  std::ranges::fill(end, Ns::min());
  std::vector<ChangeWalk> walks(changes.begin(), changes.end());
  std::uint32_t next = no_node;  // that a change stops at
  for (const ChangeWalk& w : walks) next = std::min(next, w.node());
  std::vector<Slot> slots(program.slots);
  State state{.first_pred = graph.first_pred.data(),
              .step = program.steps.data(),
              .work = work.data(),
              .slots = slots.data()};
  const auto replay_until = go_to_of_cpu();
  for (auto k = kept.begin(); k != kept.end();) {
    const std::uint32_t node = std::min(next, k->node);
    replay_until(state, node + std::size_t{1});
    Ends& at = *state.at;
    if (node == next) {
      next = no_node;
      for (std::size_t l = 0; l < lanes; ++l) {
        for (; walks[l].node() == node; walks[l].next()) at[l] += walks[l].work().count();
        next = std::min(next, walks[l].node());
      }
    }
    for (; k != kept.end() && k->node == node; ++k)
      for (std::size_t l = 0; l < lanes; ++l) {
        Ns& own = end[k->place * lanes + l];
        own = std::max(own, Ns{at[l]});
      }
  }
}

}  // namespace stepscope
