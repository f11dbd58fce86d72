// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/sentences/sweep_sentence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stepscope/say/format.h"

namespace stepscope {

std::vector<std::string> ties_of(const Sweep& sweep) {
  std::vector<std::string> ties;
  for (const SweptValue& v : sweep.values)
    if (v.tie) ties.push_back(v.value);
  return ties;
}

std::string sweep_sentence(const SweepResult& r) {
  const SweptValue& best = r.sweep.values[r.sweep.best];
  std::string out = fmt::format("{} = {} is fastest: a step takes {}", r.name, best.value,
                                format_time(best.arm.median_ns));
  if (r.sweep.values.size() == 1) return out + "; there is nothing beside it.";
  const std::vector<std::string> ties = ties_of(r.sweep);
  if (!r.sweep.enough_data)
    out +=
        fmt::format("; not enough data to tell some values apart: fewer than {:g} effective steps",
                    r.options.ratio.least_effective);
  if (ties.empty()) return out + "; every other value is slower.";
  return out +
         fmt::format("; {} {} with it.", fmt::join(ties, ", "), ties.size() == 1 ? "ties" : "tie");
}

}  // namespace stepscope
