// SPDX-License-Identifier: Apache-2.0
// What `stepscope train --isolate` has measured: one step's computation alone, its communication
// alone, and both together.
//
//   exposed     the main thread of `both` stood still for collectives, waiting for late ranks
//               included
//   hidden      communication - exposed: what overlap hides; negative where they stand still
//               for longer, as when a rank is late or nothing moves between the waits
//   contention  both - exposed - compute: what the computation takes longer for the communication
//               beside it, which on a CPU moves bytes on the same cores
// So both = compute + communication - hidden + contention, to the nanosecond.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "stepscope/base/quantity.h"
#include "stepscope/report/json/json_values.h"

namespace stepscope {

struct TrainIsolation {
  // Means over the measured steps.
  struct Rank {
    Ns both{};
    Ns exposed{};
    Ns compute{};
    Ns communication{};
    [[nodiscard]] Ns hidden() const { return communication - exposed; }
    [[nodiscard]] Ns contention() const { return both - exposed - compute; }
  };
  // Of the means over ranks, the shortest and the longest step.
  struct Range {
    Ns least{};
    Ns most{};
  };
  int steps = 0;  // measured each way
  std::vector<Rank> ranks{};
  Range both{};
  Range exposed{};
  Range compute{};
  Range communication{};

  // Means over ranks, whole nanoseconds; the derived ones are of these.
  [[nodiscard]] Rank mean() const;
};

[[nodiscard]] std::string isolation_text(const TrainIsolation& isolation, std::size_t width);
// docs/reference/json.md: `isolation`.
[[nodiscard]] Json isolation_tree(const TrainIsolation& isolation);

}  // namespace stepscope
