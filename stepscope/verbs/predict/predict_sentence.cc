// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/predict/predict_sentence.h"

#include <algorithm>

#include "stepscope/cost/model/model_flops.h"
#include "stepscope/say/format.h"
#include "stepscope/verbs/sections/plan_words.h"

namespace stepscope {

Messages predict_warnings(const PredictResult& r) {
  Messages warnings = r.warnings;
  if (!r.fitting) return warnings;
  const FittingPlan& f = *r.fitting;
  if (f.why_not) warnings.push_back(msg::plain(f.why_not->message()));
  if (f.plan) warnings.push_back(msg::another_plan_fits(r.plan.devices, plan_in_words(*f.plan)));
  if (f.smallest_devices)
    warnings.push_back(msg::no_plan_fits_devices(r.plan.devices, *f.smallest_devices));
  return warnings;
}

Message predict_sentence(const PredictResult& r) {
  const StepCost& cost = r.cost;
  const auto most =
      static_cast<std::size_t>(std::ranges::max_element(cost.seconds) - cost.seconds.begin());
  const Message lacks = words_of(shortage(cost.memory, r.machine));
  return joined(msg::sentences,
                {msg::predicted_step(cost.step(), Percent{cost.mfu[0]},
                                     convention_name(r.model, FlopsConvention::causal_halved),
                                     words_of(static_cast<StepTerm>(most), r.model),
                                     Percent{cost.seconds[most] / cost.step().count()}),
                 lacks.empty() ? Message() : msg::does_not_fit(lacks)});
}

}  // namespace stepscope
