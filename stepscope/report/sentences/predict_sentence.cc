// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/sentences/predict_sentence.h"

#include <fmt/format.h>

#include <algorithm>

#include "stepscope/report/sentences/plan_words.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"

namespace stepscope {

std::vector<std::string> predict_warnings(const PredictResult& r) {
  std::vector<std::string> warnings = r.warnings;
  if (!r.fitting) return warnings;
  const FittingPlan& f = *r.fitting;
  const std::string devices = counted(static_cast<std::uint64_t>(r.plan.devices), "device");
  if (f.why_not) warnings.push_back(f.why_not->message());
  if (f.plan)
    warnings.push_back(fmt::format("another plan fits {}: {}", devices, plan_in_words(*f.plan)));
  if (f.smallest_devices)
    warnings.push_back(
        fmt::format("no plan fits {}; {} would be enough", devices, *f.smallest_devices));
  return warnings;
}

std::string predict_sentence(const PredictResult& r) {
  const double step = r.cost.step().count();
  const auto most = std::ranges::max_element(r.cost.seconds) - r.cost.seconds.begin();
  std::string text =
      fmt::format("A step takes {}: {} MFU ({}), most of it {} ({}).", format_time(step * ns_per_s),
                  format_percent(r.cost.mfu[0]), flops_convention_names[0],
                  words_of(static_cast<StepTerm>(most), r.model),
                  format_percent(r.cost.seconds[static_cast<std::size_t>(most)] / step));
  const std::string lacks = words_of(shortage(r.cost.memory, r.machine));
  if (!lacks.empty()) text += fmt::format(" It does not fit: {}.", lacks);
  return text;
}

}  // namespace stepscope
