// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/predict/peak_budget.h"

#include <array>
#include <cstddef>

#include "stepscope/diagnose/labels.h"
#include "stepscope/say/format.h"
#include "stepscope/verbs/sections/plan_words.h"

namespace stepscope {
namespace {

// Attention's part of the model's FLOPs, by the operations of the layers.
double attention_share(const PredictResult& r) {
  double all = 0;
  double attention = 0;
  for (const OperationRow& o : r.operations) {
    const double flops = (o.operation.forward.matrix + o.operation.backward.matrix).value *
                         static_cast<double>(o.count);
    all += flops;
    if (o.operation.kind == OperationClass::attention || o.operation.kind == OperationClass::scan)
      attention += flops;
  }
  return share_or_zero(attention, all);
}

}  // namespace

std::vector<PeakRow> peak_budget(const PredictResult& r) {
  const double step = r.cost.step().count();
  const double model = r.cost.mfu[0] * step;
  const double repeated = (r.hfu - r.cost.mfu[0]) * step;
  const double attention = model * attention_share(r);
  std::array<double, step_term_count> at_peak{};
  at_peak[static_cast<std::size_t>(StepTerm::matmul)] = model - attention;
  at_peak[static_cast<std::size_t>(StepTerm::attention)] = attention;
  at_peak[static_cast<std::size_t>(StepTerm::recompute)] = repeated;
  std::vector<PeakRow> rows = {
      {"mfu", std::string(words_of(MfuTerm::mfu, false)), model},
      {"recompute", std::string(words_of(MfuTerm::recompute, false)), repeated}};
  for (std::size_t t = 0; t < step_term_count; ++t) {
    const auto term = static_cast<StepTerm>(t);
    const bool below =
        term == StepTerm::matmul || term == StepTerm::attention || term == StepTerm::recompute;
    rows.push_back({std::string(step_term_names[t]) + (below ? "_below_peak" : ""),
                    std::string(words_of(term, r.model)) + (below ? " below the peak" : ""),
                    r.cost.seconds[t] - at_peak[t]});
  }
  return rows;
}

}  // namespace stepscope
