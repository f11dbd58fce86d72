// SPDX-License-Identifier: Apache-2.0
// How well the replay predicts steps that it has not seen. A step of the graph, with its delays,
// gets the durations of the step after it or before it, and its hosts begin as far ahead of the end
// of the step before as they did in that other step. If the graph knows what waits for what, its
// replayed length is then the measured length of that other step. The delays are not taken over:
// the graph does not explain them. Nor is the time of a call that is not joined with its peers,
// because it contains waiting.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "stepscope/analysis/replay/peer_median.h"
#include "stepscope/base/crew.h"

namespace stepscope {

struct HeldOut {
  std::size_t steps = 0;  // predicted, from one neighbour or from both
  // Medians over the predictions. `error` is |predicted / measured − 1|. `variation` is the same
  // for the recorded length of the neighbour: the error of a replay that changes nothing.
  double error = 0;
  double variation = 0;
  // The share of the predicted changes of length between neighbours that came: the slope of the
  // recorded changes over the predicted ones, by least absolute deviations through zero. Noise
  // between steps that the graph does not explain leaves it near 1. A graph that lacks what the
  // step waits for has it near 0: what it shortens is waited for elsewhere. Absent if the predicted
  // changes are less than half as large as the errors, which then hide it.
  std::optional<double> fulfilled{};
};

// Predicts the steps that all ranks have, except the first, from neighbours with the same work:
// pieces of at most a fortieth of the time lack a partner. Pieces of two steps are partners if
// their kind, name, part of the row, message size, stream or thread (but not of a pool of threads),
// and occurrence in the step are equal. Absent below two predictions (three steps in sequence). At
// most 16 replays.
[[nodiscard]] std::optional<HeldOut> predict_held_out(const Replay& replay,
                                                      std::span<const RankView> views,
                                                      const CollectiveMatches& matches,
                                                      const StepPieces& pieces,
                                                      const Workers& workers);

}  // namespace stepscope
