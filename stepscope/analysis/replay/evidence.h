// SPDX-License-Identifier: Apache-2.0
// The evidence of a rank: the time of its own work in each step, and the time of its peers for the
// same work. stats/lateness/excess.h decides whether the difference is more than the spread of the
// steps.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "stepscope/analysis/replay/what_if_inputs.h"

namespace stepscope {

// What a rank's work of one part takes in each step, and the lower median of its peers for the same
// step, in ns. Other programs on the cores lengthen some pieces of work in some steps and shorten
// none: in `usual` each piece counts with at most its median over the steps.
struct PartTimes {
  std::vector<double> own;
  std::vector<double> usual;
  std::vector<double> peers;
  std::vector<double> usual_peers;

  // The excess of the steps from an ordinal on.
  [[nodiscard]] std::vector<double> excess(std::size_t from) const;
  [[nodiscard]] std::vector<double> usual_excess(std::size_t from) const;
};

// By WorkPart. Loading data is host time: here the part `host` is without it.
using RankParts = std::array<PartTimes, work_part_names.size()>;

// By view. A rank that is alone in its role is compared with other stages, where they run the same.
// `data_free`: the changes of Change::data_free.
[[nodiscard]] std::vector<RankParts> rank_parts(const WhatIfInputs& inputs,
                                                std::span<const NodeChange> data_free);

// By view: what its calls wait for others in the mean step.
[[nodiscard]] std::vector<Ns> waits_of_steps(const WhatIfInputs& inputs);

// What hosts keep their devices waiting in the mean step, over all views; in calls of the
// allocator, too, if `allocating`. Ns::max() without a device.
[[nodiscard]] Ns kept_waiting(const WhatIfInputs& inputs, bool allocating);

// Number and length in ns of each step that all views have, from the end of the one before; without
// a device (`cpu`) by the rows of the steps. Empty if the clocks of the ranks differ.
[[nodiscard]] std::vector<std::pair<std::int64_t, double>> step_lengths(const WhatIfInputs& inputs,
                                                                        bool cpu);

// A step compared with the others that count (counted_steps.h).
struct LongStep {
  double length = 0;      // ns
  double usual = 0;       // the median of the others
  std::size_t steps = 0;  // that count

  // The gain of a mean step at most: a step with the work of the others is no shorter than they
  // are.
  [[nodiscard]] Ns most_saved() const;
  // What the step takes more, and its length over its length without that, where a mean step gains
  // `gain`.
  [[nodiscard]] Ns excess(Ns gain) const;
  [[nodiscard]] double ratio(Ns gain) const;
};
// The longest of the counted steps next to and at this number (Step::index): what holds a step may
// be work of its neighbour. Absent if none of them counts, or no other step does.
[[nodiscard]] std::optional<LongStep> compared_step(const WhatIfInputs& inputs,
                                                    std::int64_t number);

// Number of the step in whose annotation the middle of a host node lies.
[[nodiscard]] std::optional<std::int64_t> step_of_work(const WhatIfInputs& inputs,
                                                       std::uint32_t node);

// Worker processes load while the rank waits for its peers, so what the peers' take is not seen.
[[nodiscard]] bool loads_in_workers(const RankView& view);

}  // namespace stepscope
