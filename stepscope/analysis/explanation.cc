// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/explanation.h"

#include <algorithm>
#include <cmath>

namespace stepscope {

std::optional<Explanation> explain(const ExplanationInputs& inputs) {
  const auto stopped = [&] { return inputs.stop != nullptr && inputs.stop->requested(); };
  const StepGraph graph = build_step_graph(inputs.views, inputs.collectives, inputs.threads);
  if (std::ranges::all_of(graph.begin, [](std::uint32_t n) { return n == no_node; }) || stopped())
    return std::nullopt;
  const Replay replay = make_replay(graph, inputs.views);
  Explanation e;
  e.step = replay.step;
  e.replay_error = replay.error;
  e.residual_share = replay.residual_share;
  e.refused = std::abs(replay.error) > replay_error_refused;
  e.nodes = graph.size();
  e.edges = graph.graph.preds.size();
  e.joined = graph.joined;
  e.unjoined = graph.unjoined;
  e.removed_edges = graph.removed_edges;
  e.negative_delays = graph.negative_delays;
  e.path = find_critical_path(replay, inputs.views, inputs.collectives.matches, inputs.phases);
  if (stopped()) return std::nullopt;
  const PeerMedians medians = peer_medians(replay, inputs.views, inputs.roles);
  e.blame = find_blame(replay, inputs.views, inputs.collectives, medians);
  if (e.refused || stopped()) return e;
  const WhatIfInputs what{replay, inputs.views, inputs.collectives, inputs.roles, medians};
  if (inputs.standing) e.what_ifs = standing_what_ifs(what, inputs.threads, inputs.stop);
  e.asked = what_if(what, inputs.scenarios, inputs.threads, inputs.stop);
  return e;
}

}  // namespace stepscope
